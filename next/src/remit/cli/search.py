"""`remit search`: finds tools by what they do."""

import math
import sys
from typing import TYPE_CHECKING

import click

from remit.bootstrap import open_registry
from remit.cli import answers, render
from remit.cli.options import JSON, NOTHING_DONE, Here, limit_option, with_agent, with_here
from remit.decision import Kind, Status, shorten
from remit.search import DEFAULT_LIMIT, MAX_LIMIT, present
from remit.text import as_object

if TYPE_CHECKING:
    from remit.catalog import Catalog
    from remit.decision import Key
    from remit.search import RankedTool, Searcher, SearchResults


@click.command()
@click.argument("query", nargs=-1, required=True)
@with_here
@with_agent
@limit_option(most=MAX_LIMIT, default=DEFAULT_LIMIT)
@click.option("--all", "shows_all", is_flag=True, help="Include hidden tools, with the reason.")
@click.option("--full", is_flag=True, help="Include each tool's input schema.")
@JSON
def search(
    *, query: tuple[str, ...], here: Here, limit: int, shows_all: bool, full: bool, as_json: bool
) -> None:
    """Find tools by what they do.

    QUERY describes a task in your own words, or names a tool. Exits with 1 if nothing is a good match.
    """
    asked = " ".join(query)
    if not asked.strip():
        raise click.UsageError("QUERY is empty: describe a task, or name a tool")
    with open_registry() as registry:
        context = here.context(registry)
        catalog = registry.catalog(context)
        listed = catalog.at(registry.snapshot(catalog))
        searcher = registry.searcher(catalog, listed)
        found = searcher.search(asked, limit=limit, include_hidden=shows_all)
        hidden = None if shows_all or as_json else _better_hidden(searcher, found)
        shown = present(found, _schemas(found, catalog) if full else None, budget=math.inf)
        problems = registry.problems(context)
    render.problems(problems, lambda path: shorten(path, context))
    if as_json:
        render.data(answers.search(shown, found, context))
    else:
        render.out(shown.text.splitlines())
    if hidden is not None:
        render.note(f"hint: a better match is hidden here; `remit why {hidden.tool.name}` says why")
    if not found.results:
        unasked = [
            item.tool.server
            for item in listed
            if item.tool.kind is Kind.MCP_SERVER
            and item.tool.listed_at is None
            and item.tool.status is Status.ENABLED
            and item.decision.is_available
        ]
        if unasked:
            render.note("hint: some servers were not asked for their tools yet: `remit tools --refresh`")
        sys.exit(NOTHING_DONE)


def _better_hidden(searcher: "Searcher", found: "SearchResults") -> "RankedTool | None":
    """Return the best match among all tools if it is hidden here."""
    best = searcher.search(found.query, limit=1, include_hidden=True).results
    return best[0] if best and not best[0].decision.is_available else None


def _schemas(found: "SearchResults", catalog: "Catalog") -> "dict[Key, object]":
    import json

    schemas: dict[Key, object] = {}
    for item in found.results:
        definition = catalog.definitions.get(item.tool.definition or "")
        if definition is not None:
            schemas[item.tool.key] = as_object(json.loads(definition.raw)).get("inputSchema")
    return schemas
