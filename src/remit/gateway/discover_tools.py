"""Answers `discover_tools` with an in-memory search."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from remit.decision.decide import ToolDecision
from remit.decision.scopes import Scope
from remit.decision.state_snapshot import Snapshot
from remit.decision.tools import Tool
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.remit_tool_calls import BadArgumentsError, answer, text_of
from remit.presentation.discovery_text import TOKEN_BUDGET, present
from remit.protocol.json_rpc import Answer
from remit.registry import Registry
from remit.search.ranking import SearchResults
from remit.search.search_service import Searcher
from remit.settings import DEFAULT_LIMIT, MAX_LIMIT


class ToolDiscovery:
    """Searches the tools that an endpoint serves.

    Building an index may take long. It uses a registry of its own, so the endpoint's registry is never
    blocked.
    """

    def __init__(self, open: Callable[[], Registry]) -> None:
        self._open = open
        self._catalog: tuple[EndpointCatalog, Searcher] | None = None
        self._lists: tuple[PublishedLists, Searcher] | None = None
        self._worker = RegistryWorker(self)

    async def find(self, lists: PublishedLists, arguments: Mapping[str, Any]) -> Answer:
        """Find tools for a query.

        Raises:
            BadArgumentsError: an argument is invalid.
        """
        return await self._worker.run(ToolDiscovery._find, lists, arguments)

    def _find(self, lists: PublishedLists, arguments: Mapping[str, Any]) -> Answer:
        limit, scope = arguments.get("limit", DEFAULT_LIMIT), arguments.get("scope")
        if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
            raise BadArgumentsError(f"`limit` is not a number from 1 to {MAX_LIMIT}")
        if scope is not None and scope not in list(Scope):
            raise BadArgumentsError(f"`scope` is none of {', '.join(Scope)}")
        found = self._searcher(lists).search(
            text_of(arguments, "query"),
            scope=None if scope is None else Scope(scope),
            limit=limit,
            include_hidden=arguments.get("include_hidden") is True,
        )
        catalog, definitions, budget = lists.catalog, None, TOKEN_BUDGET
        if arguments.get("detail") == "full":
            tools = [item.tool for item in found.results]
            definitions = {_renamed(tool, catalog).key: catalog.definitions[tool.key] for tool in tools}
            budget = max(budget, catalog.plan.token_budget)
        told = present(_served(found, catalog), definitions, budget=budget)
        return answer(told.text, told.content)

    def _searcher(self, lists: PublishedLists) -> Searcher:
        """Return the index of a catalog, narrowed to the current decisions."""
        catalog = lists.catalog
        if self._catalog is None or self._catalog[0] is not catalog:
            context = replace(catalog.context, snapshot=Snapshot())
            with self._open() as registry:
                self._catalog = catalog, registry.searcher(context, in_memory=True)
            self._lists = None
        base = self._catalog[1]
        if self._lists is None or self._lists[0].decisions is not lists.decisions:
            if self._lists is not None:
                self._lists[1].close()
            listed = [
                ToolDecision(tool, lists.decisions[tool.key])
                for tool, _ in base.listed
                if tool.key in lists.decisions and tool.key in catalog.items
            ]
            self._lists = lists, Searcher(listed, base.index, base.embedder, base.note, base.fusion)
        return self._lists[1]


def _served(found: SearchResults, catalog: EndpointCatalog) -> SearchResults:
    """Rename tools to the names that models can call."""
    named = {tool.name: catalog.served_name(tool) for tools in catalog.rows.values() for tool in tools}
    results = [item._replace(tool=_renamed(item.tool, catalog)) for item in found.results]
    return replace(found, results=results, nearest=[named.get(name, name) for name in found.nearest])


def _renamed(tool: Tool, catalog: EndpointCatalog) -> Tool:
    return tool._replace(name=catalog.served_name(tool))
