"""`remit web`: the page, on loopback."""

import os
import select
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_memory, open_registry
from remit.cli import Here, is_agents, note, out, with_here

if TYPE_CHECKING:
    from remit.web.listing import Source

_WAIT_SECONDS = 1.0
_SHOWS_ONLY = "not started by a person at a terminal, so the page shows commands in place of forms"


@click.command()
@with_here
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="NUMBER", help="The port; default: the first free one."
)
@click.option("--no-open", is_flag=True, help="Print the link, but do not open a browser.")
def web(*, here: Here, port: int | None, no_open: bool) -> None:
    """Look at tools, cost, approvals and calls in the browser.

    Prints a link that works once, and opens it; Enter makes another one. The page can be reached from this
    machine only. Ctrl-C ends it.
    """
    from remit.web.server import PageServer, listen  # the server takes time to load

    with open_registry() as registry:  # so a mistake shows before anything listens
        context = here.context(registry)
        has_memory = registry.config.current(context.workspace).memory
    here = here._replace(directory=context.workspace.dir, client=context.client or "all")
    may_decide = sys.stdin.isatty() and sys.stderr.isatty() and not is_agents()
    with listen(port) as listener:
        server = PageServer(here, listener, _open_source, may_decide=may_decide, has_memory=has_memory)

        def show_link() -> None:
            url = server.new_link()
            out(url)
            sys.stdout.flush()
            if not no_open and not webbrowser.open(url):
                note("no browser could be opened: open the link yourself")

        if not may_decide:
            note(_SHOWS_ONLY)
        elif sys.platform != "win32":
            note("press Enter for another link, Ctrl-C to stop")
            threading.Thread(target=_offer_links, args=(show_link,), daemon=True).start()
        show_link()  # the socket listens already
        with suppress(KeyboardInterrupt):
            server.run()


def _open_source() -> "Source":
    from remit.web.listing import Source

    return Source(open_registry(), open_memory)


def _offer_links(show_link: Callable[[], None]) -> None:
    """Show a new link whenever the person presses Enter: the browser may be closed."""
    while True:
        readable, _, _ = select.select([sys.stdin], [], [], _WAIT_SECONDS)
        if readable and _is_in_background():  # where reading would stop the process
            time.sleep(_WAIT_SECONDS)
        elif readable:
            typed = os.read(sys.stdin.fileno(), 4096)
            if not typed:  # closed
                return
            if b"\n" in typed:
                show_link()


def _is_in_background() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp()
    except OSError:  # the terminal does not control this process
        return False
