"""Tools to search for, as a catalog lists them."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from remit.decision import Decision, Definition, ToolDecision, Verdict, tool_name
from remit.search import Embedder, Searcher, SearchResults, ToolIndex, open_model, tool_documents
from support import builders

VISIBLE = Decision(Verdict.VISIBLE, None, "declared")
HIDDEN = Decision(Verdict.HIDDEN, None, "disabled")
MODEL = open_model()


class Listed(NamedTuple):
    """A row of a catalog, with its definition if its server offers it."""

    item: ToolDecision
    definition: Definition | None = None


def row(name: str, *, decision: Decision = VISIBLE, **fields: Any) -> Listed:
    """List a tool that has no definition."""
    return Listed(ToolDecision(builders.tool(name, **fields), decision))


def server(label: str, *, decision: Decision = VISIBLE, **fields: Any) -> Listed:
    """List the row of a server."""
    return Listed(ToolDecision(builders.server(label, **fields), decision))


def offered(
    server: str,
    name: str,
    description: str = "",
    params: Mapping[str, object] | None = None,
    *,
    decision: Decision = VISIBLE,
    **fields: Any,
) -> Listed:
    """List a tool that a server offers; a parameter is its description, or its schema."""
    properties = {
        param: {"description": about} if isinstance(about, str) else about
        for param, about in (params or {}).items()
    }
    raw = {"name": name, "inputSchema": {"type": "object", "properties": properties}}
    full = tool_name(server, name)
    definition = Definition(f"digest of {full}", full, server, name, description or None, json.dumps(raw))
    fields = {"server": server, "description": description or None, "definition": definition.digest} | fields
    return Listed(ToolDecision(builders.tool(full, **fields), decision), definition)


def index(*listed: Listed, model: Embedder | None = MODEL, **options: Any) -> ToolIndex:
    """Index tools."""
    definitions = {entry.definition.digest: entry.definition for entry in listed if entry.definition}
    return ToolIndex(tool_documents((entry.item.tool for entry in listed), definitions), model, **options)


def search(query: str, *listed: Listed, model: Embedder | None = MODEL, **options: Any) -> SearchResults:
    """Search among tools."""
    return Searcher(index(*listed, model=model), [entry.item for entry in listed]).search(query, **options)


def names(results: SearchResults) -> list[str]:
    """List the names of results, without the prefix of servers' tools."""
    return [item.tool.name.removeprefix("mcp__") for item in results.results]
