"""Discovering: answers `discover_tools` by the search that is used everywhere, in memory."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from remit.decision.decide import ToolDecision
from remit.decision.defaults import DEFAULT_LIMIT, MAX_LIMIT
from remit.decision.scopes import Scope
from remit.decision.snapshot import Snapshot
from remit.decision.tools import Tool
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.own_tool_calls import BadArgumentsError, answer, text_of
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.presentation.discovery_text import TOKEN_BUDGET, present
from remit.protocol.json_rpc import Answer
from remit.registry import Registry
from remit.search.ranking import SearchResults
from remit.search.search_service import Searcher


class ToolDiscovery:
    """Searches what an endpoint serves.

    It has a registry of its own, opened for the first search: making ready takes a while, and no call waits
    for that.
    """

    def __init__(self, open: Callable[[], Registry]) -> None:
        self._open = open
        self._registry: Registry | None = None
        self._catalog: tuple[EndpointCatalog, Searcher] | None = None
        self._board: tuple[PublishedLists, Searcher] | None = None
        self._clerk = RegistryWorker(self)

    async def find(self, board: PublishedLists, arguments: Mapping[str, Any]) -> Answer:
        """Find tools.

        Raises:
            BadArgumentsError: the arguments are none that it takes.
        """
        return await self._clerk.do(ToolDiscovery._find, board, arguments)

    async def close(self) -> None:
        """Let go of the registry."""
        await self._clerk.do(ToolDiscovery._close)

    def _find(self, board: PublishedLists, arguments: Mapping[str, Any]) -> Answer:
        limit, scope = arguments.get("limit", DEFAULT_LIMIT), arguments.get("scope")
        if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
            raise BadArgumentsError(f"`limit` is not a number from 1 to {MAX_LIMIT}")
        if scope is not None and scope not in list(Scope):
            raise BadArgumentsError(f"`scope` is none of {', '.join(Scope)}")
        found = self._searcher(board).search(
            text_of(arguments, "query"),
            scope=None if scope is None else Scope(scope),
            limit=limit,
            include_hidden=arguments.get("include_hidden") is True,
        )
        catalog, definitions, budget = board.catalog, None, TOKEN_BUDGET
        if arguments.get("detail") == "full":
            tools = [item.tool for item in found.results]
            definitions = {_renamed(tool, catalog).key: catalog.definitions[tool.key] for tool in tools}
            budget = max(budget, catalog.plan.token_budget)
        told = present(_served(found, catalog), definitions, budget=budget)
        return answer(told.text, told.content)

    def _searcher(self, board: PublishedLists) -> Searcher:
        """Make ready: the index for each catalog, and what of it is visible for each board."""
        catalog = board.catalog
        if self._catalog is None or self._catalog[0] is not catalog:
            self._registry = self._registry or self._open()
            context = replace(catalog.context, snapshot=Snapshot())
            self._catalog = catalog, self._registry.searcher(context, in_memory=True)
            self._board = None
        base = self._catalog[1]
        if self._board is None or self._board[0].decisions is not board.decisions:
            if self._board is not None:
                self._board[1].close()
            listed = [
                ToolDecision(tool, board.decisions[tool.key])
                for tool, _ in base.listed
                if tool.key in board.decisions and tool.key in catalog.items
            ]
            self._board = board, Searcher(listed, base.index, base.embedder, base.note, base.fusion)
        return self._board[1]

    def _close(self) -> None:
        if self._registry is not None:
            self._registry.close()


def _served(found: SearchResults, catalog: EndpointCatalog) -> SearchResults:
    """Tell of tools by the names that a model can call."""
    named = {tool.name: catalog.served_name(tool) for tools in catalog.rows.values() for tool in tools}
    results = [item._replace(tool=_renamed(item.tool, catalog)) for item in found.results]
    return replace(found, results=results, nearest=[named.get(name, name) for name in found.nearest])


def _renamed(tool: Tool, catalog: EndpointCatalog) -> Tool:
    return tool._replace(name=catalog.served_name(tool))
