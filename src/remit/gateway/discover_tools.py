"""Answers `discover_tools` with an in-memory search."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from remit.decision.context import Context
from remit.decision.scopes import Scope
from remit.decision.state_snapshot import Snapshot
from remit.decision.tools import Tool
from remit.errors import StoreUnavailableError
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.remit_tool_calls import BadArgumentsError, answer, text_of
from remit.gateway.search_preparation import SearcherBuilder, VectorBackfill
from remit.presentation.discovery_text import TOKEN_BUDGET, present
from remit.presentation.invocations import Invocations
from remit.protocol.json_rpc import Answer
from remit.registry import Registry
from remit.search.ranking import SearchResults
from remit.search.search_service import BY_WORDS_ALONE, Searcher
from remit.search.unindexed_search import unindexed_searcher
from remit.settings import DEFAULT_LIMIT, MAX_LIMIT

AT_ONCE = 2_000  # names; a search waits for the index of as many, which takes less than a second
_LONGEST_QUERY = 20_000  # characters
PATIENCE = 1.0  # seconds that the first search of more tools waits for their index


class _Asked(NamedTuple):
    """What a search is limited to."""

    scope: Scope | None
    include_hidden: bool


class _Base(NamedTuple):
    """A searcher of everything in a catalog."""

    catalog: EndpointCatalog
    context: Context
    searcher: Searcher


class _Awaited(NamedTuple):
    """A catalog that is being indexed in the background."""

    catalog: EndpointCatalog
    context: Context
    until: float  # searches wait for it so long


class _View(NamedTuple):
    """A searcher of what can be found at one moment."""

    lists: PublishedLists
    searcher: Searcher
    invocations: Invocations


class ToolDiscovery:
    """Searches everything that the model behind an endpoint can use, served or not.

    Building an index may take long. It uses a registry of its own, so the endpoint's registry is never
    blocked. The index of many tools, and vectors, are made in the background; until they are there, tools are
    found by words, or by the index of the catalog before.
    """

    def __init__(
        self, open: Callable[[], Registry], *, at_once: int = AT_ONCE, patience: float = PATIENCE
    ) -> None:
        self._open = open
        self._at_once, self._patience = at_once, patience
        self._builder = SearcherBuilder(open)
        self._awaited: _Awaited | None = None
        self._backfill = VectorBackfill(open)
        self._base: _Base | None = None
        self._view: _View | None = None
        self._reported: set[str] = set()  # failures
        self._worker = RegistryWorker(self)

    async def close(self) -> None:
        """Stop making vectors."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._stop)

    def _stop(self) -> None:
        self._builder.stop()
        self._backfill.stop()
        if self._base is not None and self._base.searcher.embedder is not None:
            self._base.searcher.embedder.close()

    async def find(self, lists: PublishedLists, arguments: Mapping[str, Any]) -> Answer:
        """Find tools for a query.

        Raises:
            BadArgumentsError: an argument is invalid.
        """
        return await self._worker.run(ToolDiscovery._find, lists, arguments)

    def _find(self, lists: PublishedLists, arguments: Mapping[str, Any]) -> Answer:
        limit, scope = arguments.get("limit", DEFAULT_LIMIT), arguments.get("scope")
        if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
            raise BadArgumentsError(f"`limit` must be a number from 1 to {MAX_LIMIT}")
        if scope is not None and scope not in list(Scope):
            raise BadArgumentsError(f"`scope` must be one of {', '.join(Scope)}")
        query = text_of(arguments, "query", longest=_LONGEST_QUERY)
        asked = _Asked(None if scope is None else Scope(scope), arguments.get("include_hidden") is True)
        view = self._view_of(lists) or _unindexed(lists, query, asked)
        found = view.searcher.search(
            query, scope=asked.scope, limit=limit, include_hidden=asked.include_hidden
        )
        found = self._with_cause_once(found)
        catalog, definitions, budget = lists.catalog, None, TOKEN_BUDGET
        invoked = {
            _renamed(tool, catalog).key: view.invocations.of(tool)
            for tool, decision, _ in found.results
            if decision.is_available
        }
        if arguments.get("detail") == "full":
            tools = [item.tool for item in found.results]
            definitions = {
                _renamed(tool, catalog).key: catalog.definitions[tool.key]
                for tool in tools
                if tool.key in catalog.definitions
            }
            budget = max(budget, catalog.plan.token_budget)
        told = present(_served(found, catalog), definitions, invoked, budget=budget)
        return answer(told.text, told.content)

    def _with_cause_once(self, found: SearchResults) -> SearchResults:
        """Report why embedding failed once; after that, only that words were used."""
        note, failed = found.note, self._backfill.failure
        if note is None or (failed is None and not found.is_failure):
            return found
        short = BY_WORDS_ALONE if note.startswith(BY_WORDS_ALONE) else note
        cause = note if found.is_failure else str(failed)
        if cause in self._reported:
            return replace(found, note=short)
        self._reported.add(cause)
        return found if found.is_failure else replace(found, note=f"{short}: {failed}")

    def _view_of(self, lists: PublishedLists) -> _View | None:
        """Return the index of a catalog, narrowed to the current decisions; None if there is none yet."""
        base = self._searcher_of(lists.catalog)
        if base is None:
            return None
        if self._view is None or self._view.lists is not lists:
            if self._view is not None:
                self._view.searcher.close()
            listed = lists.findable(item.tool for item in base.listed)
            narrowed = Searcher(listed, base.index, base.embedder, base.note, base.missing, base.fusion)
            self._view = _View(lists, narrowed, lists.invocations(listed))
        return self._view

    def _searcher_of(self, catalog: EndpointCatalog) -> Searcher | None:
        """Return the index of a catalog, with the vectors made so far; None if there is none yet."""
        base = self._base
        if base is None or base.catalog is not catalog:
            base = self._indexed(catalog)
        elif (newer := self._backfill.take(base.context)) is not None:
            base = self._adopt(base._replace(searcher=newer))
        if base is None:
            return None
        if base.searcher.missing:
            self._backfill.start(base.context)
        return base.searcher

    def _indexed(self, catalog: EndpointCatalog) -> _Base | None:
        """Index a new catalog, a large one in the background; until that is done, return the one before."""
        if len(catalog.rows) > self._at_once:
            return self._indexed_behind(catalog)
        try:
            return self._adopt(self._base_of(catalog))
        except StoreUnavailableError:
            if self._base is None:
                raise
            return self._base

    def _indexed_behind(self, catalog: EndpointCatalog) -> _Base | None:
        awaited = self._awaited
        if awaited is None or awaited.catalog is not catalog:
            context = replace(catalog.context, snapshot=Snapshot())
            awaited = self._awaited = _Awaited(catalog, context, time.monotonic() + self._patience)
        self._builder.start(awaited.context)
        searcher = self._builder.take(awaited.context, max(0.0, awaited.until - time.monotonic()))
        if searcher is None:
            return self._base
        self._awaited = None
        return self._adopt(_Base(catalog, awaited.context, searcher))

    def _base_of(self, catalog: EndpointCatalog) -> _Base:
        context = replace(catalog.context, snapshot=Snapshot())
        with self._open() as registry:
            return _Base(catalog, context, registry.searcher(context, in_memory=True))

    def _adopt(self, base: _Base) -> _Base:
        if self._base is not None and self._base.searcher.embedder is not None:
            base.searcher.embedder = self._base.searcher.embedder  # it keeps the vectors of queries
        self._base, self._view = base, None
        return base


def _unindexed(lists: PublishedLists, query: str, asked: _Asked) -> _View:
    """Search a catalog without its index."""
    catalog = lists.catalog
    listed = [
        item
        for item in lists.findable(tool for tools in catalog.rows.values() for tool in tools)
        if (asked.include_hidden or item.decision.is_available) and asked.scope in (None, item.tool.scope)
    ]
    searcher = unindexed_searcher(query, listed, lambda tool: catalog.definitions.get(tool.key))
    return _View(lists, searcher, lists.invocations(searcher.listed))


def _served(found: SearchResults, catalog: EndpointCatalog) -> SearchResults:
    """Rename tools to the names that models can call."""
    results = [item._replace(tool=_renamed(item.tool, catalog)) for item in found.results]
    return replace(found, results=results, nearest=[_served_name(name, catalog) for name in found.nearest])


def _served_name(name: str, catalog: EndpointCatalog) -> str:
    rows = catalog.rows.get(name)
    return catalog.served_name(rows[-1]) if rows else name  # the index may be of the catalog before


def _renamed(tool: Tool, catalog: EndpointCatalog) -> Tool:
    return tool._replace(name=catalog.served_name(tool))
