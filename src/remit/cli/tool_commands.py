"""`remit tools`, `remit why` and `remit context`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.bootstrap_install import open_installer
from remit.catalog.costs import SentDefinitions
from remit.catalog.listed_groups import SortKey, is_unlisted
from remit.catalog.summary import summarize
from remit.cli import json_output, render
from remit.cli.options import (
    NOTHING_DONE,
    WorkspaceOptions,
    explained_name,
    for_a_workspace,
    for_an_agent,
    known_names,
)
from remit.cli.output.explanation_output import show_explanation
from remit.cli.output.inspection_notes import inspection_notes, show_notes
from remit.cli.output.selection import Selection

if TYPE_CHECKING:
    from remit.catalog.explanation import Explanation
    from remit.cli.output.inspection_notes import ToolNote
    from remit.decision.context import Context
    from remit.registry import Registry
    from remit.sessions.install_notices import InstallNotice


@click.command()
@for_a_workspace
@for_an_agent
@click.option("--server", metavar="NAME", shell_complete=known_names, help="List the tools of one server.")
@click.option("--all", "everything", is_flag=True, help="List every tool; the hidden ones with the reason.")
@click.option(
    "--sort",
    type=click.Choice([key.value for key in SortKey]),
    help="What to sort by; default: tokens, the largest first.",
)
@click.option("--watch", "is_followed", is_flag=True, help="Follow changes live, until Ctrl-C.")
def tools(
    *,
    options: WorkspaceOptions,
    server: str | None,
    everything: bool,
    sort: str | None,
    is_followed: bool,
    as_json: bool,
) -> None:
    """List the available tools, by server.

    Each server has a line: how many tools it has, how many tokens they take in each request, and how often
    they were used. With --watch, the list is redrawn when files, states or rules change it; without a
    terminal, each change is a line of text, or of JSON with --json.
    """
    selection = Selection(server, everything, SortKey(sort) if sort else None)
    if is_followed:
        from remit.cli.output.watch_tools import watch  # rarely used

        watch(options, selection, as_json=as_json)
        return
    with open_registry() as registry:
        context = options.context(registry)
        context = registry.states.with_snapshot(context) if as_json else context
        known = registry.tools(context)
        problems = registry.problems(context)
        sent = SentDefinitions.ALL if as_json else registry.sent_definitions(known, context)
        if not as_json and any(map(is_unlisted, known)):
            known = registry.protection.with_obstacles(known, context)
    render.problems(problems, context)
    summary = summarize(known, context)
    if as_json:
        render.data(json_output.listing(selection.items(known), summary, context))
    else:
        render.page(selection.lines(known, summary, context, sent=sent))


@click.command()
@click.argument("name", shell_complete=known_names)
@for_a_workspace
@for_an_agent
def why(*, name: str, options: WorkspaceOptions, as_json: bool) -> None:
    """Explain why a tool is available or hidden.

    NAME is a tool's, with or without its server, or a server's; a tool that exists only in another project is
    unknown here.
    """
    with open_registry() as registry:
        context = options.context(registry)
        explained = explained_name(name, registry, context)
        problems = registry.problems(context)
        found = [] if explained.decision.is_available else registry.protection.weakened(context)
        lines = registry.declaration_lines(explained.declared, context)
        notes = [] if as_json else _notes(explained, registry, context)
    server = None if explained.tool is None else explained.tool.server
    weakened = [it for it in found if it.kind != "server" or it.place == server]
    if explained.tool is not None and explained.decision.gate is not None and not context.starts_servers:
        weakened += _missing_install(explained, explained.tool.client)
    render.problems(problems, context)
    render.notices(weakened)  # hidden does not mean blocked where nothing enforces it
    if as_json:
        render.data(json_output.explanation(explained, lines))
    else:
        show_explanation(explained, context, lines)
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


@click.command("context")
@for_a_workspace
@for_an_agent
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="CHARACTERS",
    help="The maximum length; default: as configured, or 6000.",
)
def session_context(*, options: WorkspaceOptions, budget: int | None, as_json: bool) -> None:
    """Print what an agent gets at session start."""
    with open_registry() as registry:
        context = options.context(registry)
        budget = registry.configuration.told(context.workspace).characters if budget is None else budget
        text = registry.session_context(context, budget=budget)
        problems, notices = registry.problems(context), registry.protection.notices(context)
    render.problems(problems, context)
    render.notices(notices)
    if as_json:
        render.data(json_output.session_context(text, budget))
    else:
        render.text(text)
