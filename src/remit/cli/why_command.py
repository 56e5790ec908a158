"""`remit why`: explains why a tool is available or hidden."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_installer, open_registry
from remit.catalog.costs import SentDefinitions
from remit.cli import render
from remit.cli.options import (
    NOTHING_DONE,
    WorkspaceOptions,
    explained_name,
    for_a_workspace,
    for_an_agent,
    known_names,
)
from remit.cli.output import json_output
from remit.cli.output.explanation_output import show_explanation
from remit.cli.output.inspection_notes import inspection_notes, show_notes

if TYPE_CHECKING:
    from remit.catalog.explanation import Explanation
    from remit.cli.output.inspection_notes import ToolNote
    from remit.decision.context import Context
    from remit.registry import Registry
    from remit.sessions.install_notices import InstallNotice


@click.command()
@click.argument("name", shell_complete=known_names)
@for_a_workspace
@for_an_agent
def why(*, name: str, options: WorkspaceOptions, as_json: bool) -> None:
    """Explain why a tool is available or hidden.

    NAME is a tool's, with or without its server, or a server's; a tool that exists only in another project is
    unknown here.
    """
    if not name.strip():
        raise click.UsageError("NAME is empty: name a tool or a server")
    with open_registry() as registry:
        context = options.context(registry)
        explained = explained_name(name, registry, context)
        problems = registry.problems(context)
        found = [] if explained.decision.is_available else registry.protection.weakened(context)
        lines = registry.declaration_lines(explained.declared, context)
        sandbox = registry.trust.sandbox(explained.tool, context)
        sent = SentDefinitions.ALL
        if explained.tools:
            sent = registry.sent_definitions(registry.tools(context), context)
        notes = [] if as_json else _notes(explained, registry, context)
    server = None if explained.tool is None else explained.tool.server
    weakened = [it for it in found if it.kind != "server" or it.place == server]
    is_clients = context.workspace.team is None and not context.starts_servers
    if explained.tool is not None and explained.decision.gate is not None and is_clients:
        weakened += _missing_install(explained, explained.tool.client)
    render.problems(problems, context)
    render.notices(weakened)  # hidden does not mean blocked where nothing enforces it
    if as_json:
        render.data(json_output.explanation(explained, lines, sandbox))
    else:
        show_explanation(explained, context, lines, sent=sent, sandbox=sandbox)
        show_notes(notes)
    if explained.tool is None:
        sys.exit(NOTHING_DONE)


def _notes(explained: Explanation, registry: Registry, context: Context) -> list[ToolNote]:
    tools = (explained.tool, *explained.tools)
    keys = {tool.key for tool in tools if tool is not None and tool.pin is not None}
    return inspection_notes(registry, context, lambda tool: tool.key in keys) if keys else []


def _missing_install(explained: Explanation, client: str) -> Iterator[InstallNotice]:
    installer = open_installer()
    if client in installer.clients and not installer.is_installed(client):
        from remit.sessions.install_notices import missing_install

        yield from missing_install(explained, installer.title(client))
