"""Search: try a query as an agent would, with the scores by words and by meaning."""

from __future__ import annotations

import math
from contextlib import closing

from remit.cli.output import json_output
from remit.presentation.discovery_text import present
from remit.search.ranking import SearchResults
from remit.settings import DEFAULT_LIMIT, MAX_LIMIT
from remit.web.page_model import PageAnswer, PageRequest, PageSources, Values

LIMITS = sorted({5, 10, DEFAULT_LIMIT, MAX_LIMIT})


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """Search the tools here, as `remit search` does."""
    registry = sources.registry
    context = asked.options.context(registry)
    query = asked.params.get("q", "")
    found, missing = SearchResults(query=query, results=()), 0
    if query.strip():
        with closing(registry.searcher(context)) as searcher:
            limit = min(asked.number("limit", DEFAULT_LIMIT), MAX_LIMIT)
            found = searcher.search(query, limit=limit, include_hidden=bool(asked.params.get("all")))
            missing = searcher.missing
    hits = [found.hit(item) for item in found.results]

    def values() -> Values:
        return {
            "query": query,
            "found": found,
            "missing": missing,
            "limits": LIMITS,
            "limit": asked.number("limit", DEFAULT_LIMIT),
            "rows": list(zip(found.results, hits, strict=True)),
            "most_words": max((hit.words for hit in hits if hit is not None), default=0.0),
        }

    def shape() -> json_output.Shape:
        return json_output.search(present(found, budget=math.inf), found, context)

    return PageAnswer("search.html", shape, values, fragment="search_answer.html")
