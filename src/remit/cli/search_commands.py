"""`remit search`: finds tools by what they do."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.cli import render
from remit.cli.options import (
    NOTHING_DONE,
    WorkspaceOptions,
    for_a_workspace,
    for_an_agent,
    limit_option,
)
from remit.cli.output import json_output, server_output
from remit.decision.scopes import Scope
from remit.presentation.discovery_text import present
from remit.settings import DEFAULT_LIMIT, MAX_LIMIT

if TYPE_CHECKING:
    from remit.search.ranking import RankedTool, SearchResults
    from remit.search.search_service import Searcher


@click.command()
@click.argument("query", nargs=-1, required=True)
@for_a_workspace
@for_an_agent
@click.option(
    "--scope", type=click.Choice([scope.value for scope in Scope]), help="Only tools of this scope."
)
@limit_option(most=MAX_LIMIT, default=DEFAULT_LIMIT)
@click.option("--all", "everything", is_flag=True, help="Include hidden tools, with gate and reason.")
@click.option("--full", is_flag=True, help="Include each tool's input schema.")
def search(
    *,
    query: tuple[str, ...],
    options: WorkspaceOptions,
    scope: str | None,
    limit: int,
    everything: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Find tools by what they do.

    QUERY describes a task in your own words, or names a tool. Exits with 1 if nothing is a good match.
    """
    asked, among = " ".join(query), None if scope is None else Scope(scope)
    if not asked.strip():
        raise click.UsageError("QUERY is empty: describe a task, or name a tool")
    with open_registry() as registry:
        context = options.context(registry)
        searcher = registry.searcher(context)
        found = searcher.search(asked, scope=among, limit=limit, include_hidden=everything)
        hidden = None if everything or as_json else _better_hidden(searcher, found, among)
        tools = [item.tool for item in found.results]
        shown = present(
            found, registry.catalog.definitions(tools, context) if full else None, budget=math.inf
        )
        problems = registry.configuration.problems(context.workspace)
    render.problems(problems, context)
    if as_json:
        render.data(json_output.search(shown, found, context))
    else:
        render.print_lines(shown.text.splitlines())
    if hidden is not None:
        render.note(f"hint: a better match is hidden here; `remit why {hidden.tool.name}` says why")
    if searcher.missing:
        server_output.not_embedded()
    if not found.results:
        server_output.unasked(searcher.listed)
        sys.exit(NOTHING_DONE)


def _better_hidden(searcher: Searcher, found: SearchResults, scope: Scope | None) -> RankedTool | None:
    """Return the best match among all tools if it is hidden here; None if embedding the query failed."""
    if found.is_failure:
        return None
    best = searcher.search(found.query, scope=scope, limit=1, include_hidden=True).results
    return best[0] if best and not best[0].decision.is_available else None
