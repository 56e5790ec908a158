"""`remit demo`: shows Remit at work in a world of its own, and leaves nothing behind."""

import signal
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import click

from remit.cli import render
from remit.cli.demo.story import tell
from remit.cli.demo.world import build_world

_SIGNALED = 128  # added to the signal's number in an exit code


@click.command()
def demo() -> None:
    """Show Remit at work, in a temporary directory.

    Creates a project, two small servers and a policy there, and runs real commands on them. It takes a few
    seconds, reads and changes none of your own files, and removes everything at the end.
    """
    render.out("One agent, one project and two small MCP servers, in a temporary directory.")
    render.out("Your own files are not touched.")
    render.out()
    with (
        _ended_by_signals(),
        TemporaryDirectory(prefix="remit-demo-") as made,
        closing(tell(build_world(Path(made)))) as story,
    ):
        for line in story:
            render.out([line])
    render.out("That was the demo; everything it created is gone again. Next:")
    render.out("  remit         what your own agents have, here")
    render.out("  remit init    set Remit up, step by step")


@contextmanager
def _ended_by_signals() -> Generator[None]:
    """Leave the block, and so clean up, also when the process is told to end."""

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(_SIGNALED + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
