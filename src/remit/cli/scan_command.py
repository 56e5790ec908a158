"""`remit scan`: reads all configuration again."""

import sys

import click

from remit.bootstrap import open_registry, refresh_blocks
from remit.bootstrap_gateway import open_upstreams
from remit.catalog.summary import summarize
from remit.cli import render
from remit.cli.options import WorkspaceOptions, for_a_workspace, known_names
from remit.cli.output import first_screen, json_output, server_output
from remit.cli.output.unenforced import unenforced
from remit.decision.context import Context
from remit.errors import EmbeddingError, InstallError
from remit.registry import Registry
from remit.settings import DEADLINE


def refresh_client_rules() -> None:
    """Bring the client's own deny rules in step; the command succeeds even if that fails."""
    try:
        refresh_blocks(may_remove=True)
    except InstallError as error:
        render.error(error)


def _seconds(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if value != value:  # NaN passes range checks
        raise click.BadParameter("not a number of seconds")
    return value


@click.command()
@click.argument("servers", nargs=-1, metavar="[SERVER]...", shell_complete=known_names)
@for_a_workspace
@click.option("--connect", is_flag=True, help="Connect to the available servers and list their tools.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    default=DEADLINE,
    show_default=True,
    callback=_seconds,
    help="Time limit for each server.",
)
def scan(
    *, servers: tuple[str, ...], options: WorkspaceOptions, connect: bool, timeout: float, as_json: bool
) -> None:
    """Read all configuration again, and show what changed.

    With --connect, Remit starts or contacts servers to list their tools: all available servers that are yours
    or that you trust, or only each SERVER you name.
    """
    if servers and not connect:
        raise click.UsageError("server names need --connect")
    with open_registry() as registry:
        context = options.context(registry)
        found, connected = registry.scan(context), None
        if connect:
            with server_output.progress("asking servers", is_table_next=not as_json) as show:
                connected = registry.servers.connect(
                    context, open_upstreams(), names=servers, deadline=timeout, on_progress=show
                )
            found = found._replace(tools=registry.tools(context))
        sent = registry.sent_definitions(found.tools, context)
        offered = [*unenforced(found.tools, context, registry)]
        embed_new_tools(registry, context)
    refresh_client_rules()
    render.problems(found.problems, context)
    server_output.warnings(connected or ())
    summary = summarize(found.tools, context)
    if as_json:
        render.data(json_output.scan(found, summary, context, connected or ()))
        return
    first_screen.show(found, summary, context, sent=sent, offered=offered)
    if connected is not None and not (sys.stdout.isatty() and sys.stderr.isatty()):
        server_output.connected(connected)  # a terminal has shown the same lines already


def embed_new_tools(registry: Registry, context: Context) -> None:
    """Embed new tools; after a failure they are still found by words."""
    try:
        with server_output.progress("embedding tools") as show:
            registry.index(context, show)
    except EmbeddingError as failure:
        render.warning(failure)
