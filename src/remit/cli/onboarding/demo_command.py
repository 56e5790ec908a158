"""`remit demo`: shows Remit at work in a world of its own, and leaves nothing behind."""

import os
import shutil
import signal
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import click

from remit.bootstrap import open_installer, open_registry
from remit.cli import render
from remit.cli.onboarding.dashboard import print_dashboard
from remit.cli.onboarding.overview import read_overview
from remit.demo.demo_story import LineKind, StoryLine, tell
from remit.demo.demo_world import build_world
from remit.files.bounded_reader import this_machine
from remit.settings import data_directory

_INTRODUCTION = """\
One agent, two projects and four small MCP servers, in a temporary directory.
Your own files are not touched.
"""
_DATA = "REMIT_HOME"
_SIGNALED = 128  # added to the signal's number in an exit code


@click.command()
@click.option(
    "--unless-tools",
    "directory",
    metavar="DIR",
    help="Show the dashboard of DIR instead, if any client has tools there.",
)
def demo(*, directory: str | None) -> None:
    """Show Remit at work, in a temporary directory.

    Creates two projects, four small servers and a policy there, and runs real commands on them. It takes
    about ten seconds, reads and changes none of your own files, and removes everything at the end.
    """
    if directory is not None and _shows_tools(directory):
        return
    click.echo(_INTRODUCTION)
    with (
        _ended_by_signals(),
        TemporaryDirectory(prefix="remit-demo-") as made,
        closing(tell(build_world(Path(made)))) as story,
    ):
        for line in story:
            _show(line)
    _show_next()


def _shows_tools(directory: str) -> bool:
    """Print the dashboard of a directory that has tools; return False if it has none."""
    with _leaving_nothing(), open_registry() as registry:
        overview = read_overview(registry, open_installer(), directory)
    if not (overview.visible or overview.hidden):
        return False
    print_dashboard(overview)
    return True


@contextmanager
def _leaving_nothing() -> Generator[None]:
    """Read with a temporary store where Remit has none yet, so a first look leaves no file behind."""
    if os.path.exists(data_directory(this_machine())):
        yield
        return
    before = os.environ.get(_DATA)
    with TemporaryDirectory(prefix="remit-look-") as made:
        os.environ[_DATA] = made
        try:
            yield
        finally:
            os.environ.pop(_DATA)
            os.environ.update({} if before is None else {_DATA: before})


def _show(line: StoryLine) -> None:
    text = render.printable(line.text)
    if _is_colored():
        color = "cyan" if line.kind is LineKind.TYPED else None
        text = click.style(text, fg=color, bold=line.kind is LineKind.TOLD)
    click.echo(text)
    sys.stdout.flush()


def _is_colored() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _show_next() -> None:
    remit = own_name()
    click.echo(
        f"""\
That was the demo. Everything it created is gone again. Next:

  {remit}           what your own agents have, here
  {remit} init      set Remit up, step by step
  {remit} --help    all commands"""
    )


def own_name() -> str:
    """Return what a person types to run this Remit."""
    typed = sys.argv[0]
    if shutil.which("remit") or not os.path.basename(typed).startswith("remit"):
        return "remit"
    return os.path.relpath(typed)


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
