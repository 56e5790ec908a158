"""Search: try a query as an agent would, with the scores by words and by meaning."""

import math

from remit.cli import answers
from remit.decision import Kind
from remit.search import DEFAULT_LIMIT, MAX_LIMIT, SearchResults, present
from remit.text import one_line
from remit.web.listing import Listing, Source
from remit.web.page import Answer, Request, Values

_LIMITS = sorted({5, 10, DEFAULT_LIMIT, MAX_LIMIT})
_EXAMPLES = 3
_LONGEST_EXAMPLE = 60  # characters


def read(source: Source, request: Request) -> Answer:
    """Search the tools here, as `remit search` does."""
    listing = source.listing(request.here)
    query = request.params.get("q", "")
    limit = min(request.number("limit") or DEFAULT_LIMIT, MAX_LIMIT)
    found = SearchResults(query=query, results=())
    if query.strip():
        searcher = source.registry.searcher(listing.catalog, listing.known)
        found = searcher.search(query, limit=limit, include_hidden=bool(request.params.get("all")))

    def values() -> Values:
        return {
            "query": query,
            "found": found,
            "limits": _LIMITS,
            "limit": limit,
            "most_words": max((item.hit.words for item in found.results if item.hit), default=0.0),
            "examples": [] if query else _examples(listing),
        }

    def shape() -> answers.Shape:
        return answers.search(present(found, budget=math.inf), found, listing.context)

    return Answer("search.html", shape, values, part="part")


def _examples(listing: Listing) -> list[str]:
    """Take queries from the descriptions of tools here, of different servers."""
    examples: dict[str, str] = {}
    for tool, decision in listing.known:
        if tool.kind is Kind.MCP_TOOL and decision.is_available and tool.description:
            sentence = tool.description.partition("\n")[0].partition(". ")[0].rstrip(".").lower()
            examples.setdefault(tool.server or "", one_line(sentence, _LONGEST_EXAMPLE))
    return list(examples.values())[:_EXAMPLES] or ["read a file", "create an issue", "search the web"]
