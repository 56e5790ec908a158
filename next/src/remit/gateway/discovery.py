"""`discover_tools`: searches everything that the model behind an endpoint can use, served or not."""

import json
from collections.abc import Mapping
from typing import Any

from remit.catalog import Registry
from remit.decision import Key, Scope, Tool
from remit.gateway.own_tools import BadArgumentsError, Findable, answer, findable, text_of
from remit.gateway.view import Published
from remit.protocol import Answer
from remit.search import DEFAULT_LIMIT, MAX_LIMIT, TOKEN_BUDGET, Searcher, SearchResults, present

_LONGEST_QUERY = 20_000  # characters


class Discovery:
    """Searches the tools of one endpoint, on the worker; the index lasts as long as the catalog."""

    def __init__(self) -> None:
        self._found: Findable | None = None
        self._searcher: Searcher | None = None

    def find(self, published: Published, arguments: Mapping[str, Any], registry: Registry) -> Answer:
        """Find tools for a query.

        Raises:
            BadArgumentsError: an argument is invalid.
        """
        limit, scope = arguments.get("limit", DEFAULT_LIMIT), arguments.get("scope")
        if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
            raise BadArgumentsError(f"`limit` must be a number from 1 to {MAX_LIMIT}")
        if scope is not None and scope not in [*Scope]:
            raise BadArgumentsError(f"`scope` must be one of {', '.join(Scope)}")
        query = text_of(arguments, "query", longest=_LONGEST_QUERY)
        found, searcher = self._prepared(published, registry)
        results = searcher.search(
            query,
            scope=None if scope is None else Scope(scope),
            limit=limit,
            include_hidden=arguments.get("include_hidden") is True,
        )
        is_full = arguments.get("detail") == "full"
        budget = max(TOKEN_BUDGET, published.served.plan.token_budget) if is_full else TOKEN_BUDGET
        text = present(
            _served(results, published),
            _schemas(results, published) if is_full else None,
            _invocations(results, found),
            budget,
        )
        return answer(text.text, text.content)

    def _prepared(self, published: Published, registry: Registry) -> tuple[Findable, Searcher]:
        if self._found is None or self._searcher is None or self._found.published is not published:
            self._found = findable(published)
            self._searcher = registry.searcher(published.served.catalog, self._found.listed)
        return self._found, self._searcher


def _served(results: SearchResults, published: Published) -> SearchResults:
    """Rename tools to the names that models can call."""
    renamed = [item._replace(tool=_renamed(item.tool, published)) for item in results.results]
    names = {item.tool.name: published.served.name_of(item.tool) for item in published.listed}
    return results._replace(results=renamed, nearest=[names.get(name, name) for name in results.nearest])


def _invocations(results: SearchResults, found: Findable) -> Mapping[Key, str]:
    return {
        _renamed(item.tool, found.published).key: found.invocation(item.tool)
        for item in results.results
        if item.decision.is_available
    }


def _schemas(results: SearchResults, published: Published) -> Mapping[Key, object]:
    definitions = published.served.catalog.definitions
    return {
        _renamed(item.tool, published).key: _schema(item.tool, published)
        for item in results.results
        if item.tool.definition in definitions
    }


def _schema(tool: Tool, published: Published) -> object:
    item = published.served.items.get(tool.key)
    if item is not None:
        return item.get("inputSchema")
    definition = published.served.catalog.definitions.get(tool.definition or "")
    return None if definition is None else json.loads(definition.raw).get("inputSchema")


def _renamed(tool: Tool, published: Published) -> Tool:
    return tool._replace(name=published.served.name_of(tool))
