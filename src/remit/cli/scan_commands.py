"""`remit scan`, `remit clients` and `remit doctor`."""

import sys

import click

from remit.bootstrap import open_registry, read_store_facts
from remit.bootstrap_gateway import open_upstreams
from remit.bootstrap_install import refresh_blocks
from remit.catalog.contexts import ALL_CLIENTS
from remit.catalog.summary import summarize
from remit.cli import json_output, render, server_output
from remit.cli.options import ERRORS_FOUND, JSON, PROJECT, WorkspaceOptions, for_a_workspace, known_names
from remit.cli.output import first_screen
from remit.cli.output.inspection_notes import inspection_notes, show_notes
from remit.decision.context import Context
from remit.decision.problems import Severity
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
            with server_output.progress("asking servers") as show:
                connected = registry.servers.connect(
                    context, open_upstreams(), names=servers, deadline=timeout, on_progress=show
                )
            found = found._replace(tools=registry.tools(context))
        sent = registry.sent_definitions(found.tools, context)
        embed_new_tools(registry, context)
    refresh_client_rules()
    render.problems(found.problems, context)
    server_output.warnings(connected or ())
    summary = summarize(found.tools, context)
    if as_json:
        render.data(json_output.scan(found, summary, context, connected or ()))
        return
    first_screen.show(found, summary, context, sent=sent)
    if connected is not None and not (sys.stdout.isatty() and sys.stderr.isatty()):
        server_output.connected(connected)  # a terminal has shown the same lines already


def embed_new_tools(registry: Registry, context: Context) -> None:
    """Embed new tools; after a failure they are still found by words."""
    try:
        with server_output.progress("embedding tools") as show:
            registry.index(context, show)
    except EmbeddingError as failure:
        render.warning(failure)


@click.command()
@PROJECT
@click.option("--all", "everything", is_flag=True, help="Include supported clients that were not found.")
@JSON
def clients(*, project: str, everything: bool, as_json: bool) -> None:
    """List the clients on this machine, with their files.

    A client counts as found if its program or its own settings exist.
    """
    with open_registry() as registry:
        context = registry.at(project, ALL_CLIENTS)
        found = [item for item in registry.clients(context) if everything or item.is_found]
        problems = registry.configuration.problems(context.workspace)
    render.problems(problems, context)
    if as_json:
        render.data(json_output.clients(found, context))
    else:
        render.clients(found, context)


@click.command()
@for_a_workspace
def doctor(*, options: WorkspaceOptions, as_json: bool) -> None:
    """Find problems in the configuration, with fixes.

    Starts nothing and shows no secrets. Exits with 1 if there is an error.
    """
    store = read_store_facts()
    with open_registry() as registry:
        context = options.context(registry)
        findings = registry.diagnose(context)
        problems = registry.configuration.problems(context.workspace)
        notes = [] if as_json else inspection_notes(registry, context)
    render.problems(problems, context)
    if as_json:
        render.data({**json_output.diagnosis(findings, context), "store": json_output.store_shape(store)})
    else:
        render.diagnosis(findings, context)
        show_notes(notes)
        render.store(store)
    if any(finding.severity is Severity.ERROR for finding in findings):
        sys.exit(ERRORS_FOUND)
