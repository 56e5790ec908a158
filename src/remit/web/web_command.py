"""`remit web`: the page, on loopback."""

from __future__ import annotations

import os
import select
import sys
import time
import webbrowser
from typing import TYPE_CHECKING

import click

from remit.bootstrap import (
    open_configuration_file,
    open_journal,
    open_memory,
    open_notifier,
    open_registry,
    read_store_facts,
)
from remit.bootstrap_gateway import open_login, open_status_files
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import CLIENT, PROJECT, WorkspaceOptions
from remit.cli.scan_command import refresh_client_rules
from remit.errors import ApprovalError

if TYPE_CHECKING:
    from remit.web.page_model import WebOpeners

_WAIT_SECONDS = 1.0
_LOOK_ONLY = "no code, because this is not a terminal of a person: the page shows, but cannot decide"


@click.command()
@PROJECT
@CLIENT
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="NUMBER", help="The port; default: the first free one."
)
@click.option("--no-open", is_flag=True, help="Print the link, but do not open a browser.")
def web(*, project: str, client: str | None, port: int | None, no_open: bool) -> None:
    """Look at tools, approvals, calls and costs in the browser.

    Prints a link that works once, and opens it. The page can be reached from this machine only. Accepting
    anything there takes a code, which only the terminal that runs this command shows. Ctrl-C ends it.
    """
    # Imported late: the list of commands loads this module.
    from remit.web.browser_sessions import new_code
    from remit.web.web_server import WebTerminal, listen, serve

    with open_registry() as registry:
        options = WorkspaceOptions(project, client or registry.usual_client)
        found = options.context(registry)  # so a mistake shows before anything listens
    options = options._replace(project=found.workspace.dir)
    listener = listen(port)
    code = new_code() if _is_person_here() else None
    if code is None:
        render.program_note(_LOOK_ONLY)
    else:
        render.program_note(f"code for deciding in the browser: {code}")
        render.program_note("press Enter for another link, Ctrl-C to stop")

    def show_link(url: str) -> None:
        render.out(url)
        sys.stdout.flush()
        if not no_open and not webbrowser.open(url):
            render.program_note("no browser could be opened: open the link yourself")

    wants_link = _wants_link if code is not None and sys.platform != "win32" else None
    serve(options, listener, web_openers(), WebTerminal(code, show_link, render.program_note, wants_link))


def web_openers() -> WebOpeners:
    """Return the functions that open the resources of pages."""
    from remit.web.page_model import WebOpeners  # as above

    return WebOpeners(
        open_registry,
        open_notifier,
        open_status_files,
        open_login,
        open_memory,
        open_configuration_file,
        open_journal,
        refresh_client_rules,
        read_store_facts,
    )


def _is_person_here() -> bool:
    """Whether a person can read what is told here, and no agent can."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        require_person("decide in the browser")
    except ApprovalError:
        return False
    return True


def _wants_link() -> bool:
    """Wait a moment, and tell whether the person pressed Enter."""
    readable, _, _ = select.select([sys.stdin], [], [], _WAIT_SECONDS)
    if not readable:
        return False
    if _is_in_background():  # where reading would stop the process
        time.sleep(_WAIT_SECONDS)
        return False
    return b"\n" in os.read(sys.stdin.fileno(), 4096)


def _is_in_background() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp()
    except OSError:  # the terminal does not control this process
        return False
