"""The registry: the one object of the command line, the page, the gateway and applications."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from remit.catalog.catalog import Catalog, Sources, load
from remit.catalog.contexts import as_agent, for_agent, make_context
from remit.clients import Scanner
from remit.config import Configuration, Configurations
from remit.decision import (
    UNKNOWN,
    Authority,
    Context,
    Face,
    Key,
    Kind,
    Scope,
    Snapshot,
    Tool,
    ToolDecision,
    closest_to_being_visible,
    find,
    server_rows,
    spellings,
)
from remit.errors import StoreRefusedError, StoreUnavailableError
from remit.files import Fingerprints, Machine, take_fingerprints
from remit.states import States
from remit.store import Changes, ClientFacts, Problem, Store
from remit.text import Clock

if TYPE_CHECKING:
    from remit.catalog.changes import Watcher
    from remit.catalog.costs import GatewayView, RequestCost
    from remit.catalog.explain import Explanation
    from remit.catalog.filters import FilterFiles, Filters, ServerFilter, ToolFilterFunction
    from remit.search import Searcher, SearchResults, ToolIndex
    from remit.trust import Approvals


_Search = tuple[Catalog, "ToolIndex", Sequence[ToolDecision] | None, "Searcher | None"]
_NOT_CALLED = (Kind.MCP_SERVER, Kind.PLUGIN)
_NOBODY = Tool("", Kind.BUILTIN, Scope.GLOBAL, None, None, None, None, "", authority=Authority.HOOK)


def _client_alone(client: str) -> Face:
    del client
    return Face.CLIENT


class Registry:
    """Lists, explains and searches the tools of any workspace on this machine."""

    def __init__(
        self,
        store: Store,
        machine: Machine,
        clock: Clock,
        clients: Scanner,
        config: Configurations,
        *,
        face_of: Callable[[str], Face] = _client_alone,
    ) -> None:
        self.store = store
        self.clients = clients
        self.config = config
        self.states = States(store.states, config, machine, clock)
        self._machine = machine
        self._clock = clock
        self._face_of = face_of
        self._added: list[ServerFilter] = []
        self._last: Catalog | None = None
        self._searchers: _Search | None = None
        self._view: tuple[Catalog, Snapshot, GatewayView] | None = None

    def __enter__(self) -> "Registry":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def at(
        self,
        directory: str = ".",
        client: str | None = None,
        *,
        agent: str | None = None,
        parents: Sequence[str] = (),
        mode: str | None = None,
        face: Face | None = None,
        is_headless: bool = False,
        mcp_configs: Sequence[str] = (),
        run_context: object = None,
    ) -> Context:
        """Make the context of a client that works in a directory.

        For a subagent, `parents` names the agents above it, nearest first. Filters receive `run_context`.

        Raises:
            NotFoundError: the directory, the client, the agent or a file of servers does not exist.
            PolicyError: the agent cannot run as defined.
            ValueError: the mode does not exist.
        """
        context = make_context(
            directory,
            client,
            self._machine,
            self._face_of,
            is_headless=is_headless,
            mcp_configs=mcp_configs,
            mode=mode,
            run_context=run_context,
        )
        context = context if face is None else context._replace(face=face)
        return context if agent is None else for_agent(context, agent, parents, self.tools(context))

    def as_agent(self, name: str | None, context: Context, parents: Sequence[str] | None = None) -> Context:
        """Make the context of an agent that a client names; an unknown agent has only its name."""
        return context if name is None else as_agent(name, parents, self.catalog(context).tools, context)

    def catalog(self, context: Context, last: Catalog | None = None) -> Catalog:
        """Return the current catalog; if the store cannot be used, `last`."""
        if last is not None and last.asked != context:
            last = None
        known = last or self._last
        known = None if known is None or known.asked != context else known
        try:
            self._last = known if known is not None and known.is_current() else self._read(context, known)
        except (StoreUnavailableError, StoreRefusedError):
            if last is None:
                raise
            return last
        return self._last

    def snapshot(self, catalog: Catalog) -> Snapshot:
        """Take a snapshot of the states that the decisions of a catalog depend on."""
        if catalog.asked.snapshot is not None:
            return catalog.asked.snapshot
        return self.states.snapshot(catalog.asked, catalog.states) if catalog.needs_snapshot else Snapshot()

    def tools(self, context: Context) -> Sequence[ToolDecision]:
        """List every tool in scope with its decision, including hidden tools."""
        catalog = self._current(context)
        return catalog.at(self.snapshot(catalog))

    def add_filter(self, filter: "ToolFilterFunction", *, server: str | None = None) -> None:
        """Add a function that decides which tools may be used; `server` limits it to matching servers.

        The function may be async; it receives a `ToolFilterContext` and a `FilterTool`. The tool is hidden if
        the function raises, takes too long or returns anything except true.
        """
        from remit.catalog.filters import server_filter  # few have filters

        self._added.append(server_filter(filter, server))

    def scan(self, context: Context) -> Changes:
        """Read all files again, and return what changed."""
        return self.clients.scan(context)

    def problems(self, context: Context) -> list[Problem]:
        """List the problems in Remit's own files and in those of clients."""
        self.clients.refresh(context)
        last = [self.store.scans.last(context.view(client)) for client in self._facts(context)]
        return [
            *self.config.problems(context.workspace),
            *self._filter_problems(context),
            *(problem for reading in last if reading is not None for problem in reading.problems),
        ]

    def explain(self, name: str, context: Context, *, for_person: bool = False) -> "Explanation":
        """Explain why a tool is available here, or is not.

        A tool of another project gets the same answer as one that does not exist; only a person is told where
        else a name is declared.
        """
        from remit.catalog.explain import elsewhere, explain_name, for_model
        from remit.clients import SettingsFacts

        catalog = self._current(context)
        snapshot = self.snapshot(catalog)
        explanation = explain_name(name, catalog.at(snapshot), catalog.with_answers(snapshot))
        if not for_person:
            return for_model(explanation)
        forms = (explanation.name, *spellings(name))
        names = dict.fromkeys([*forms, *(row for form in forms for row in server_rows(form))])
        projects = [
            project for form in names for project in self.store.catalog.elsewhere(form, context.workspace)
        ]
        settings = [SettingsFacts.parse(item.facts) for item in self._facts(context).values()]
        problems = self.problems(context) if explanation.tool is None else ()
        known = elsewhere(name, list(dict.fromkeys(projects)), settings, problems, context)
        return explanation._replace(elsewhere=known)

    def search(
        self,
        query: str,
        context: Context,
        *,
        scope: Scope | None = None,
        limit: int = 20,
        include_hidden: bool = False,
        min_score: float | None = None,
    ) -> "SearchResults":
        """Find the tools here that match a query.

        Raises:
            ValueError: the limit is not between 1 and 50.
        """
        catalog = self._current(context)
        return self.searcher(catalog, catalog.at(self.snapshot(catalog))).search(
            query, scope=scope, limit=limit, include_hidden=include_hidden, min_score=min_score
        )

    def searcher(self, catalog: Catalog, listed: Sequence[ToolDecision]) -> "Searcher":
        """Return what searches the listed tools of a catalog; kept while both are the same."""
        kept = self._searchers
        if kept is None or kept[0] is not catalog:
            kept = self._searchers = (catalog, self._tool_index(catalog), None, None)
        _, index, before, searcher = kept
        if searcher is None or before is not listed:
            from remit.search import Searcher

            searcher = Searcher(index, listed)
            self._searchers = (catalog, index, listed, searcher)
        return searcher

    def view(self, context: Context) -> "GatewayView":
        """Return what the client gets from the gateway, or would get, and the names of its tools."""
        from remit.catalog.costs import gateway_view
        from remit.catalog.strategies import make_plan

        catalog = self._current(context)
        snapshot, kept = self.snapshot(catalog), self._view
        if kept is None or kept[0] is not catalog or kept[1] != snapshot or catalog.filters is not None:
            plan = make_plan(catalog.configuration)
            view = gateway_view(catalog, plan, catalog.at(snapshot), snapshot)
            kept = self._view = catalog, snapshot, view
        return kept[2]

    def request_cost(self, context: Context, texts: Iterable[str] = ()) -> "RequestCost":
        """Estimate what tools cost in a first request, without Remit and with it.

        `texts` are what Remit says besides its own instructions, such as the text at session start.
        """
        from remit.catalog.costs import request_cost

        view, listed = self.view(context), self.tools(context)
        facts = self._facts(context).get(context.client or "")
        searches = facts is not None and bool(facts.facts.get("searches"))
        return request_cost(listed, self._current(context).context, view, texts, searches=searches)

    def watch(self, context: Context) -> "Watcher":
        """Iterate with `for`: each iteration means that the decisions of a context changed."""
        from remit.catalog.changes import Watcher

        return Watcher(self, context)

    def paths(self, context: Context) -> list[str]:
        """List the files and directories that the decisions of a context depend on."""
        inputs = (name for name in self._current(context).inputs if os.path.isabs(name))
        return [*inputs, *self.states.paths(context)]

    @cached_property
    def approvals(self) -> "Approvals":
        """Calls that need approval, and the answers."""
        from remit.trust import Approvals

        return Approvals(self.store.approvals, self._clock, self._callable)

    def _callable(self, name: str, context: Context, row: Key | None) -> ToolDecision:
        """Find the tool that a call means, in one row if given; servers and plugins cannot be called."""
        tools = [item for item in self.tools(context) if item.tool.kind not in _NOT_CALLED]
        exact = [item for item in tools if item.tool.name == name and row in (None, item.tool.key)]
        matching = exact if exact or row is not None else find(name, tools)
        return min(matching, key=closest_to_being_visible, default=ToolDecision(_NOBODY, UNKNOWN))

    def _tool_index(self, catalog: Catalog) -> "ToolIndex":
        from remit.search import ToolIndex, document_key, open_model, tool_documents

        model = open_model(*catalog.configuration.embeddings)
        documents = tool_documents(catalog.tools, catalog.definitions)
        kept: Mapping[str, bytes] = {}
        if model is not None and model.is_slow:
            kept = self.store.documents.vectors(model.model, map(document_key, documents.values()))
        return ToolIndex(documents, model, kept)

    def _current(self, context: Context) -> Catalog:
        return self.catalog(context, self._last)

    def _read(self, context: Context, last: Catalog | None) -> Catalog:
        # Stamps are taken before any file is read, and the revision after all were.
        stamps = None if last is None else self._stamps(last.inputs)
        self.clients.refresh(context)
        configuration = self.config.current(context.workspace)
        filters = self._filters(configuration)
        revision = self.store.catalog.revision()
        if last is not None and stamps is not None and self._is_same(last, revision, filters, context):
            return last.checked(stamps)
        inputs = {**self.clients.inputs(context), **configuration.inputs}
        inputs |= self._stamps(configuration.filters).stored
        sources = Sources(
            self.store,
            configuration,
            filters,
            lambda: self.clients.last_resolved(context),
            self._is_on_machine,
            self._clock,
        )
        return load(context, revision, sources, Fingerprints(inputs, self._machine))

    def _is_same(self, last: Catalog, revision: int, filters: "Filters | None", context: Context) -> bool:
        """Return whether files were only touched: rules and declarations change the revision."""
        is_same = revision == last.revision and filters == last.filters
        return is_same and self.clients.last_resolved(context) == last.resolved

    def _stamps(self, names: Iterable[str]) -> Fingerprints:
        return take_fingerprints(names, self._machine, now_ns=self._clock() * 1_000_000)

    def _is_on_machine(self, client: str) -> bool:
        from remit.clients import is_on_machine  # only the rows of other clients ask

        return is_on_machine(client, self._machine)

    def _filters(self, configuration: Configuration) -> "Filters | None":
        if not self._added and not configuration.filters:
            return None
        from remit.catalog.filters import Filters

        files = self._filter_files.load(configuration.filters)
        functions = (*self._added, *(function for file in files for function in file.filters))
        return Filters(functions, next((file.problem for file in files if file.problem is not None), None))

    def _filter_problems(self, context: Context) -> list[Problem]:
        paths = self.config.current(context.workspace).filters
        files = self._filter_files.load(paths) if paths else ()
        return [file.problem for file in files if file.problem is not None]

    def _facts(self, context: Context) -> Mapping[str, ClientFacts]:
        """Return what the settings of clients say, by client."""
        if not context.workspace.has_files:
            return {}
        facts = self.store.scans.clients(context.view(context.client or ""))
        return {client: said for client, said in facts.items() if context.client in (None, client)}

    @cached_property
    def _filter_files(self) -> "FilterFiles":
        from remit.catalog.filters import FilterFiles

        return FilterFiles()
