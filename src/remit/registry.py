"""The registry: the main interface of Remit for applications.

The registry scans, lists, explains and searches. Its parts do the rest: `states`, `trust`, `usage` and so on.
Each part is imported on first use, because a command runs for a tenth of a second and needs few of them.
"""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING

from remit.catalog.contexts import DEFAULT_CLIENT, for_agent, main_context
from remit.catalog.costs import SentDefinitions
from remit.catalog.explanation import Explanation, explain_called, explain_name, explain_skipped, servers_of
from remit.catalog.listing import Listings
from remit.decision.client_calls.calling_agents import agent_context
from remit.decision.decide import told_to_models
from remit.decision.kinds import Kind
from remit.scanning.scanner import ClientPresence, Progress, Scanner, ScanResult
from remit.settings import DEFAULT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from remit.approvals.approval_service import ApprovalService
    from remit.audit.audit_log import AuditLog
    from remit.configuration.configuration_service import ConfigurationFinding, ConfigurationService
    from remit.decision.client_reports import ClientCall
    from remit.decision.context import Context
    from remit.decision.decide import Decision, ToolDecision
    from remit.decision.declarations import Key
    from remit.decision.problems import Problem
    from remit.decision.scopes import Scope
    from remit.decision.tools import Tool
    from remit.doctor.findings import ClientSetup, Finding
    from remit.filters.filter_functions import Filter
    from remit.scanning.catalog_source import CatalogSource
    from remit.scanning.change_watcher import ChangeWatcher
    from remit.scanning.ports import Notifier, Sources
    from remit.scanning.project_records import ProjectRecords
    from remit.scanning.server_lists import ServerLister
    from remit.search.cancellation import Cancellation
    from remit.search.engine import SearchEngine
    from remit.search.ranking import SearchResults
    from remit.search.search_service import Searcher, SearchService
    from remit.sessions.protection_check import ProtectionCheck
    from remit.sessions.session_service import SessionService
    from remit.simulation.simulator import Simulator
    from remit.states.location import Location
    from remit.states.state_service import StateService
    from remit.states.state_watch import StateWatch
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock
    from remit.trust.trust_service import TrustService
    from remit.usage.usage_service import UsageService


class Registry:
    """Scans, lists, explains and searches the tools of any workspace on this machine."""

    def __init__(
        self, store: SqlStore, sources: Sources, states: StateService, engine: SearchEngine, clock: Clock
    ) -> None:
        self._store = store
        self._sources = sources
        self._engine = engine
        self._clock = clock
        self._scanner = Scanner(store, sources, clock, states.configuration)
        self._listings = Listings(store, states, clock, sources.clients, sources.is_on_machine)
        self.states = states

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def at(
        self,
        directory: str = ".",
        client: str = DEFAULT_CLIENT,
        *,
        is_headless: bool = False,
        mcp_configs: Sequence[str] = (),
        agent: str | None = None,
        parents: Sequence[str] = (),
        mode: str | None = None,
        run_context: object = None,
    ) -> Context:
        """Make the context of a client that works in a directory.

        For a subagent, `parents` names the agents above it, nearest first. Without a `mode`, the machine's
        configuration determines it. Filters receive `run_context` unchanged.

        Raises:
            AgentError: the agent does not exist, or its definition is invalid.
            NoSuchDirectoryError: the directory does not exist.
            NoSuchFileError: a file of servers does not exist.
            UnknownClientError: the client is not supported.
            ValueError: the mode does not exist.
        """
        context = main_context(
            self._sources,
            directory,
            client,
            is_headless=is_headless,
            mcp_configs=mcp_configs,
            mode=mode,
            run_context=run_context,
        )
        return context if agent is None else for_agent(context, agent, parents, self.tools(context))

    def as_agent(self, name: str | None, context: Context) -> Context:
        """Make the context of an agent that a client names; an unknown agent has only its name."""
        return agent_context(name, [item.tool for item in self.tools(context)] if name else [], context)

    def add_filter(self, filter: Filter, *, server: str | None = None) -> None:
        """Add a function that decides which tools may be used; `server` limits it to matching servers.

        The function may be async; it receives a `ToolFilterContext` and a `FilterTool`. The tool is hidden if
        the function raises, takes too long or returns anything except true.
        """
        self._listings.add_filter(filter, server)

    def scan(self, context: Context) -> ScanResult:
        """Read all files again."""
        is_first = self._scanner.is_first(context)
        changes = self._scanner.scan(context).without_remit()
        problems, tools = self.problems(context), self._listings.list(context)[1]
        return ScanResult(changes, problems, tools, is_first, self.invalid_files(context))

    def refresh(self, context: Context) -> None:
        """Read the files that changed since the last scan of this workspace."""
        self._scanner.refresh(context)

    def follow(self, context: Context, notifier: Notifier) -> ChangeWatcher:
        """Iterate with `for` or `async for`: each iteration means that the tools may have changed."""
        from remit.scanning.change_watcher import ChangeWatcher

        return ChangeWatcher(context, self._scanner, self.states, self._store, notifier)

    def tools(self, context: Context) -> list[ToolDecision]:
        """List every tool known here with its decision, including hidden tools."""
        return self._listed(context)[1]

    def explain(self, name: str, context: Context) -> Explanation:
        """Explain why a tool is available or unavailable here.

        A tool of another project gets the same answer as a tool that does not exist.
        """
        context, listed = self._listed(context)
        explained = explain_name(name, listed, context)
        if explained.tool is None or context.client not in (None, explained.tool.client):
            from remit.doctor.checks.ignored_servers import explain_ignored

            readings = [reading for reading, _ in self._scanner.readings(context).values()]
            skipped = explain_skipped(name, self._scanner.problems(context), context)
            explained = explain_ignored(name, readings, context) or skipped or explained
        if explained.tool is None and not explained.decision.detail:
            explained = explain_called(explained, self.audit.application_tools(context))
        explained = self.protection.with_approval(explained, context)
        tool, is_available = explained.tool, explained.decision.is_available
        servers = servers_of(tool, listed) if tool is not None and tool.server and is_available else []
        examined = {*servers, *(each.key for each in explained.unasked if each.key is not None)}
        return explained.with_obstacles(servers, self.protection.obstacles(examined, listed, context))

    def declaration_lines(self, tools: Iterable[Tool], context: Context) -> dict[Key, int]:
        """Find the lines of the files that declare tools; a tool whose file is its declaration has none."""
        from remit.scanning.declaration_lines import declaration_line

        found = ((tool.key, declaration_line(tool, context, self._scanner.line_of)) for tool in tools)
        return {key: line for key, line in found if line is not None}

    def problems(self, context: Context) -> list[Problem]:
        """List the problems in Remit's configuration and in the clients' files."""
        misnamed = self.configuration.misnamed(lambda: self._listings.tools(context), context.workspace)
        changed = self._store.changed_entries(context.workspace, context.client)
        return [*self._own_problems(context), *misnamed, *changed, *self._scanner.problems(context)]

    def invalid_files(self, context: Context) -> list[str]:
        """List Remit's own files that have errors."""
        return list(dict.fromkeys(each.source for each in self._own_problems(context)))

    def _own_problems(self, context: Context) -> list[Problem]:
        return [*self.configuration.problems(context.workspace), *self._listings.filter_problems(context)]

    def check_policy(self, context: Context) -> list[ConfigurationFinding]:
        """List every mistake, contradiction and rule without effect in Remit's configuration."""
        from remit.catalog.explanation import application_tool
        from remit.memory.tool_permissions import TOOLS

        self.refresh(context)
        tools = self._listings.tools(context)
        called = (application_tool(*each) for each in self.audit.application_tools(context).items())
        found = self.configuration.check([*tools, *called], TOOLS, context.workspace)
        return [*found, *self._listings.filter_findings(context)]

    def clients(self, context: Context) -> list[ClientPresence]:
        """List the clients that have files here, with the number of servers they declare; store nothing."""
        return self._scanner.presences(context)

    def diagnose(self, context: Context) -> list[Finding]:
        """List the problems in the configuration of a workspace, with their fixes."""
        from remit.doctor.diagnosis import diagnose

        return diagnose(self.examine(context), self.check_policy(context))

    def examine(self, context: Context) -> list[ClientSetup]:
        """Read everything again for a diagnosis, with facts about this machine, by client."""
        from remit.doctor.findings import read_setups

        return read_setups(self._scanner, self._listings, context, self._clock(), self.catalog)

    def decide_call(self, call: ClientCall, context: Context) -> tuple[Decision, StateWatch | None]:
        """Decide about a call that a client makes itself, and return the states that the decision depends on.

        These are None if only a new snapshot can tell whether the decision still holds.
        """
        self.refresh(context)
        return self._listings.decide_call(call, context)

    def sent_definitions(self, listed: Sequence[ToolDecision], context: Context) -> SentDefinitions:
        """Tell which definitions of the listed tools a model gets: from the gateway, or from the client."""
        if context.starts_servers:
            is_partial = self.sessions.sends_a_part(listed, context)
            return SentDefinitions.SOME if is_partial else SentDefinitions.ALL
        has_definitions = any(tool.tokens and tool.kind is Kind.MCP_TOOL for tool, _ in listed)
        searches = has_definitions and self.states.searches_itself(context)  # reads the client's files
        return SentDefinitions.NAMES if searches else SentDefinitions.ALL

    def session_context(self, context: Context, *, budget: int | None = None) -> str:
        """Return the text that an agent gets at session start, in at most `budget` characters."""
        return self.sessions.start(context, budget=budget).text

    def search(
        self,
        query: str,
        context: Context,
        *,
        scope: Scope | None = None,
        limit: int = DEFAULT_LIMIT,
        include_hidden: bool = False,
        min_score: float | None = None,
    ) -> SearchResults:
        """Find the tools here that match a query; for many queries, see `searcher`.

        Raises:
            ValueError: the limit is not between 1 and 50.
        """
        with closing(self.searcher(context)) as searcher:
            return searcher.search(
                query, scope=scope, limit=limit, include_hidden=include_hidden, min_score=min_score
            )

    def searcher(self, context: Context, *, in_memory: bool = False, is_hurried: bool = False) -> Searcher:
        """Prepare many searches among the current tools of a context.

        With `in_memory`, preparing takes longer and searching less; with `is_hurried`, no tool is embedded.
        """
        self.refresh(context)
        note, missing = self._search.read(context.workspace, is_hurried=is_hurried)
        told = told_to_models(*self._listings.list(context))
        return self._search.searcher(told, context.workspace, note, in_memory=in_memory, missing=missing)

    def index(
        self,
        context: Context,
        on_progress: Callable[[Progress], None] = lambda _: None,
        *,
        cancellation: Cancellation | None = None,
    ) -> int:
        """Embed the new tools of a context, and return their number; may take long.

        Raises:
            EmbeddingError: the tools cannot be embedded now; search still finds them by words.
        """
        self.refresh(context)
        return self._search.index(
            context.workspace, lambda done, total: on_progress(Progress(done, total)), cancellation
        )

    @property
    def usual_client(self) -> str:
        """The client to answer for if none is named: Claude Code, or the one that is installed."""
        return next(filter(self._sources.is_on_machine, self._sources.clients), DEFAULT_CLIENT)

    @property
    def configuration(self) -> ConfigurationService:
        """Remit's own configuration."""
        return self.states.configuration

    @cached_property
    def location(self) -> Location:
        """The location of the user in a host application."""
        from remit.states.location import Location

        return Location(self.states)

    @cached_property
    def approvals(self) -> ApprovalService:
        """Calls that need approval, and the answers."""
        from remit.approvals.approval_service import ApprovalService

        return ApprovalService(self._store.approvals, self._clock, self._callable, self._listings.definition)

    @cached_property
    def audit(self) -> AuditLog:
        """The log of calls."""
        from remit.audit.audit_log import AuditLog

        return AuditLog(self._store.audit, self._clock)

    @cached_property
    def catalog(self) -> CatalogSource:
        """The parts of a catalog, for callers that keep one in memory."""
        from remit.scanning.catalog_source import CatalogSource

        return CatalogSource(
            self._store, self._sources, self._clock, self._scanner, self.states, self._listings
        )

    @cached_property
    def projects(self) -> ProjectRecords:
        """The projects in the store."""
        from remit.scanning.project_records import ProjectRecords

        return ProjectRecords(self._store, self._sources)

    @cached_property
    def protection(self) -> ProtectionCheck:
        """Whether an installed Remit still protects a workspace."""
        from remit.sessions.protection_check import ProtectionCheck

        return ProtectionCheck(self._scanner, self._listings)

    @cached_property
    def servers(self) -> ServerLister:
        """The active servers, to connect to them and list their tools."""
        from remit.scanning.server_lists import ServerLister

        return ServerLister(self._store, self._scanner, self._listings, self._clock)

    @cached_property
    def sessions(self) -> SessionService:
        """Context for agents at session start, and suggestions during a session."""
        from remit.sessions.session_service import SessionService

        return SessionService(
            self._store,
            self.states,
            self._clock,
            list_tools=self.protection.listed,
            find_obstacles=self._scanner.obstacles,
            find_notices=self.protection.notices,
            find_news=self.trust.pins.news,
            open_searcher=lambda context: self.searcher(context, is_hurried=True),
        )

    @cached_property
    def simulator(self) -> Simulator:
        """What a draft of the rules would change."""
        from remit.memory.tool_permissions import TOOLS
        from remit.simulation.simulator import Simulator

        return Simulator(self.states, self._listings, self.audit, self.refresh, TOOLS)

    @cached_property
    def trust(self) -> TrustService:
        """The servers of a project that start only with the user's trust."""
        from remit.trust.trust_service import TrustService

        return TrustService(self._store, self._scanner, self._clock)

    @cached_property
    def usage(self) -> UsageService:
        """Usage records and reports."""
        from remit.usage.usage_service import UsageService

        return UsageService(self._store, self._scanner, self.states, self._clock, self.tools)

    @cached_property
    def _search(self) -> SearchService:
        from remit.search.search_service import SearchService

        return SearchService(self._store.documents, self._engine)

    def _listed(self, context: Context) -> tuple[Context, list[ToolDecision]]:
        """Refresh and list every tool, with the context of the decisions."""
        self.refresh(context)
        return self._listings.list(context)

    def _callable(self, name: str, context: Context, row: Key | None) -> ToolDecision:
        self.refresh(context)
        return self._listings.callable(name, context, row)
