"""The registry: everything an application may ask of Remit."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from remit.catalog.contexts import DEFAULT_CLIENT, Contexts, for_agent
from remit.catalog.explanation import Explanation, explain_name, obstacle_of
from remit.catalog.listing import Listings
from remit.decision.client_reports import CallOutcome, ClientCall
from remit.decision.defaults import DEADLINE, DEFAULT_LIMIT
from remit.decision.direct_calls import agent_context
from remit.decision.direct_calls import decide_call as judge_call
from remit.decision.snapshot import Snapshot
from remit.parts import Parts
from remit.scanning.progress import Progress
from remit.scanning.scanner import Presence, Scan, Scanner
from remit.states.context_states import States
from remit.states.state_service import Location, Situation, StateReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from remit.configuration.configuration_service import ConfigurationFinding
    from remit.configuration.merged_configuration import TrustRequest
    from remit.configuration.session_settings import SessionSettings
    from remit.decision.context import Context
    from remit.decision.decide import Decision, ToolDecision
    from remit.decision.declarations import Key
    from remit.decision.problems import Problem
    from remit.decision.projects import Project
    from remit.decision.scopes import Scope
    from remit.decision.tools import Definition, Tool
    from remit.doctor.findings import ClientSetup
    from remit.policy.approval_service import Approvals
    from remit.policy.callbacks import Filter
    from remit.scanning.catalog_source import Supplying
    from remit.scanning.live_listing import Connected
    from remit.scanning.ports import Notifier, Sources, Upstreams
    from remit.scanning.watch import Follower
    from remit.search.ports import Engine
    from remit.search.ranking import SearchResults
    from remit.search.search_service import Searcher
    from remit.sessions.session_service import SessionStart, Suggestions
    from remit.states.state_watch import Watch
    from remit.store.ports import Clock, Store
    from remit.trust.trust_rule import Trustable
    from remit.upstream.upstream_model import Upstream
    from remit.usage.reports import ProjectUse, Proposal, Usage


class Registry:
    """Scans, lists, explains and records, for any workspace on this machine."""

    def __init__(
        self,
        store: Store,
        sources: Sources,
        clock: Clock,
        engine: Engine,
        situation: Situation | None = None,  # None: no configuration of Remit's own counts, and no state
    ) -> None:
        self._store = store
        self._contexts = Contexts(sources)
        self._scanner = Scanner(store, sources, clock)
        self._states = States(situation)
        self._listings = Listings(store, self._states, clock)
        self._parts = Parts(store, sources, clock, engine, self._scanner, self._states, self._listings)

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
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
        """Make the context of a client that works in a directory, and perhaps is started in a special way.

        For an agent below others, `parents` names those, the nearest first. Without a `mode`, the one of the
        machine's configuration counts. Filters get `run_context` as it is.

        Raises:
            AgentError: there is no such agent, or it cannot be put to work as it is defined.
            NoSuchDirectoryError: there is no such directory.
            NoSuchFileError: there is no such file of servers.
            UnknownClientError: no client of this name is supported.
            ValueError: there is no such mode.
        """
        context = self._contexts.make(
            directory,
            client,
            is_headless=is_headless,
            mcp_configs=mcp_configs,
            mode=mode,
            run_context=run_context,
        )
        return context if agent is None else for_agent(context, agent, parents, self.tools(context))

    def now(self, context: Context) -> Context:
        """Give a context one snapshot of the states, which counts for all that is asked with it."""
        return self._states.now(context)

    def add_filter(self, filter: Filter, *, server: str | None = None) -> None:
        """Have a function say which tools may be used, or which of the servers that a pattern names.

        It may be plain or async, and gets a `FilterContext` and the tool. One that raises, takes too long or
        answers with anything but true hides the tool.
        """
        self._listings.add_filter(filter, server)

    @property
    def supply(self) -> Supplying:
        """What those ask who keep a catalog in memory."""
        return self._parts.supply

    @property
    def approvals(self) -> Approvals:
        """What persons are asked about calls, and their answers."""
        return self._parts.approvals

    def snapshot(self, context: Context) -> Snapshot:
        """Take one reading of all states; that of the context, where it has one."""
        return self.now(context).snapshot or Snapshot()

    def states(self, context: Context) -> list[StateReport]:
        """List every state with its value, and where both come from."""
        return self._states.reports(context)

    def ways(self, context: Context) -> Mapping[str, str]:
        """Say for each state what would make it true, where that is known."""
        return self._states.ways(context)

    def set_state(self, name: str, context: Context) -> None:
        """Set a workflow state of the project, until it is cleared.

        Raises:
            StateError: it is no workflow state.
            UnknownStateError: there is no such state.
        """
        self._states.situation.set_state(name, context.workspace)

    def clear_state(self, name: str, context: Context) -> list[str]:
        """Clear a workflow state of the project, with those that imply it, and name them.

        Raises:
            StateError: it is no workflow state.
            UnknownStateError: there is no such state.
        """
        return self._states.situation.clear_state(name, context.workspace)

    def advance(self, tool: str, context: Context) -> None:
        """Set and clear the workflow states that a tool's success does, without counting it as used."""
        self._states.situation.advance(tool, context.workspace)

    def push_states(self, pushed: Mapping[str, object], context: Context) -> None:
        """Keep what a host application says of its states, and of `location`, until it expires.

        Raises:
            StateError: a state is not pushed, or a value is none that it could have.
            UnknownStateError: there is no such state.
        """
        self._states.situation.push(pushed, context.workspace)

    @property
    def location(self) -> Location:
        """Where in an application its user is."""
        return Location(self._states.situation)

    def scan(self, context: Context) -> Scan:
        """Read everything again."""
        is_first = self._scanner.is_first(context)
        changes = self._scanner.scan(context)
        problems, tools = self.problems(context), self._listings.list(context)[1]
        return Scan(changes=changes, problems=problems, tools=tools, is_first=is_first)

    def refresh(self, context: Context) -> None:
        """Read what changed since the last scan of this workspace, if anything did."""
        self._scanner.refresh(context)

    def follow(self, context: Context, notifier: Notifier) -> Follower:
        """Follow a context: with each turn of a `for`, or of an `async for`, its tools may be others."""
        return self._parts.follower(context, notifier)

    def tools(self, context: Context) -> list[ToolDecision]:
        """List every tool known here with the decision about it, hidden ones too."""
        return self._listed(context)[1]

    def problems(self, context: Context) -> list[Problem]:
        """List what is wrong in the files that count here."""
        return [*self.own_problems(context), *self._scanner.problems(context)]

    def own_problems(self, context: Context) -> list[Problem]:
        """List what is wrong in Remit's own configuration."""
        return self._states.problems(context)

    def check_policy(self, context: Context) -> list[ConfigurationFinding]:
        """List all that is wrong, contradictory or meaningless in Remit's own configuration."""
        from remit.memory.scope_gate import TOOLS

        return self._states.check([item.tool for item in self.tools(context)], TOOLS, context)

    def clients(self, context: Context) -> list[Presence]:
        """Look which clients have files here, and what these declare; nothing is stored."""
        return self._scanner.presences(context)

    def examine(self, context: Context) -> list[ClientSetup]:
        """Read everything again, for a diagnosis: a setup for each client, with what the machine says."""
        return self._parts.setup_reader.read(context)

    def explain(self, name: str, context: Context) -> Explanation:
        """Explain why a tool is available here, or is not.

        A name that exists only in another project gets the very answer of one that exists nowhere.
        """
        context, listed = self._listed(context)
        explained = explain_name(name, listed, context)
        if explained.tool is None or explained.tool.server is None or not explained.decision.is_available:
            return explained
        obstacle = obstacle_of(explained.tool, listed, self._scanner.obstacles(context))
        return explained._replace(obstacle=obstacle)

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
        """Find the tools here that answer a query; for many queries, see `searcher`.

        Raises:
            ValueError: the limit is not between 1 and 50.
        """
        with closing(self.searcher(context)) as searcher:
            return searcher.search(
                query, scope=scope, limit=limit, include_hidden=include_hidden, min_score=min_score
            )

    def searcher(self, context: Context, *, in_memory: bool = False, is_hurried: bool = False) -> Searcher:
        """Make ready to search the tools of a context many times, as they are now.

        In memory a search is many times faster, and getting ready takes a moment for each thousand tools.
        In a hurry nothing new is given a vector, which may take long: it is found by its words.
        """
        self.refresh(context)
        note = self._parts.search.read(context.workspace, is_hurried=is_hurried)
        return self._parts.search.searcher(
            self._listings.list(context)[1], context.workspace, note, in_memory=in_memory
        )

    def definitions(self, tools: Iterable[Tool], context: Context) -> Mapping[Key, Definition]:
        """List what servers and files say of tools, by the tools' keys."""
        return self._store.definitions(tools, context.workspace)

    def index(self, context: Context, on_progress: Callable[[Progress], None] = lambda _: None) -> int:
        """Make ready for search what is new here, and say how much of it that was.

        Raises:
            EmbeddingError: texts cannot be turned into vectors now; they are still found by their words.
        """
        self.refresh(context)
        return self._parts.search.index(
            context.workspace, lambda done, total: on_progress(Progress(done, total))
        )

    def connect(
        self,
        context: Context,
        upstreams: Upstreams,
        *,
        names: Sequence[str] = (),
        deadline: float = DEADLINE,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> list[Connected]:
        """Start or reach the servers in force here, or those that are named, and keep the tools they list.

        Raises:
            UnknownServerError: no server of a given name is known here.
            ValueError: the deadline is no time.
        """
        return self._parts.connecting.connect(
            context, upstreams, names=names, deadline=deadline, on_progress=on_progress
        )

    def server(self, name: str, context: Context) -> Upstream:
        """Find the server of a name that may be started or reached here.

        Raises:
            UnknownServerError: no server of this name is known here.
            UpstreamError: it may not be started, or its entry cannot be read now.
        """
        return self._parts.connecting.find(name, context)

    def trustable(self, context: Context, names: Sequence[str] = ()) -> list[Trustable]:
        """List the servers of this project, or those that are named, that are only started when trusted.

        Raises:
            UnknownServerError: no such server has a given name.
        """
        return self._parts.trusting.trustable(context, names)

    def trust(self, servers: Iterable[Trustable], context: Context) -> None:
        """Let servers be started, as they were declared when they were listed."""
        self._parts.trusting.trust(servers, context)

    def revoke(self, servers: Iterable[Trustable], context: Context) -> None:
        """Let servers be started no more."""
        self._parts.trusting.revoke(servers, context)

    def trust_requests(self, context: Context, names: Sequence[str] = ()) -> list[TrustRequest]:
        """List the states and the rules, or those that are named, that only count with the user's trust."""
        return [item for item in self._states.trust_requests(context) if not names or item.name in names]

    def trust_states(self, trust_requests: Iterable[TrustRequest], context: Context) -> None:
        """Let states count, as they were declared when they were listed."""
        self._states.situation.configurations.trust(trust_requests, context.workspace)

    def revoke_states(self, trust_requests: Iterable[TrustRequest], context: Context) -> None:
        """Let states count no more."""
        self._states.situation.configurations.revoke(trust_requests, context.workspace)

    def judge(self, call: ClientCall, context: Context) -> tuple[Decision, Watch | None]:
        """Decide about a call that a client makes by itself, and tell what of the states that goes by; None
        where no look could tell that.
        """
        self.refresh(context)
        context = self._states.ruled(context)
        watch = self._states.watch(call.names, context)
        context = self._states.now(context) if any(map(context.requirements.of, call.names)) else context
        return judge_call(call, self._store.catalog(context.workspace, context.flags), context), watch

    def sends_a_part(self, listed: Sequence[ToolDecision], context: Context) -> bool:
        """Tell whether the gateway sends a model only some of the tools that were listed."""
        return context.starts_servers and self._parts.sessions.sends_a_part(listed, context)

    def as_agent(self, name: str | None, context: Context) -> Context:
        """Have a context be an agent's, as a client names it: of one that is not known, the name counts."""
        return agent_context(name, [item.tool for item in self.tools(context)] if name else [], context)

    def told(self, context: Context) -> SessionSettings:
        """Tell how much an agent is told at session start, and whether tools are suggested to it."""
        return self._states.told(context)

    def session_context(self, context: Context, *, budget: int | None = None) -> str:
        """Write what an agent is told at session start, in at most `budget` characters."""
        return self.opening(context, budget=budget).text

    def opening(self, context: Context, *, budget: int | None = None) -> SessionStart:
        """Write what an agent is told at session start, and name the states that hold then."""
        context, listed = self._listed(context)
        return self._parts.sessions.open(listed, context, self._scanner.obstacles(context), budget=budget)

    def suggestions(self, context: Context, *, session_id: str, prompt: str | None = None) -> Suggestions:
        """Work out which tools would be suggested now, and why others would not."""
        context, listed = self._listed(context)
        return self._parts.sessions.suggestions(
            listed, context, self._hurried, session_id=session_id, prompt=prompt
        )

    def suggest(self, context: Context, *, session_id: str, prompt: str | None = None) -> str:
        """Say which tools may help now, and remember that it was said; empty where nothing is likely to."""
        found = self.suggestions(context, session_id=session_id, prompt=prompt)
        self._parts.sessions.keep(found, session_id, context)
        return found.text

    def usage(self, context: Context) -> Usage:
        """Report what was used here, and what of the visible tools never was."""
        context, listed = self._listed(context)
        return self._parts.sessions.usage(listed, context)

    def usage_by_project(self) -> Sequence[ProjectUse]:
        """Report how much each of this user's projects used; no tool is named."""
        return self._parts.sessions.projects()

    def proposals(self, context: Context) -> list[Proposal]:
        """Propose what to switch off here: what was never used in a long time, and what only fails."""
        return self._parts.sessions.proposals(self.usage(context))

    def record(
        self,
        name: str,
        context: Context,
        *,
        server: str | None = None,
        session_id: str | None = None,
        call_id: str | None = None,
        succeeded: bool | None = None,
        duration_ms: int | None = None,
    ) -> bool:
        """Count one use of a tool; False when the same call was reported before."""
        use = CallOutcome(
            session_id=session_id, call_id=call_id, succeeded=succeeded, duration_ms=duration_ms
        )
        return self._parts.recording.record(name, use, context, server=server)

    def record_all(self, used: Iterable[tuple[str, str | None, CallOutcome]], context: Context) -> None:
        """Count many uses at once, of tools by name and server."""
        self._parts.recording.record_all(used, context)

    def report(
        self,
        name: str,
        context: Context,
        *,
        description: str | None = None,
        input_schema: Mapping[str, object] | None = None,
        server: str | None = None,
        scope: Scope | None = None,
    ) -> None:
        """Keep what an agent says of one of its tools, for this project.

        Raises:
            ValueError: the scope is `managed`, which only an administrator's files give.
        """
        self._parts.recording.report(
            name, context, description=description, input_schema=input_schema, server=server, scope=scope
        )

    def find_project(self, name: str) -> Project:
        """Find a project that something is stored about, by its hash or a directory in it.

        Raises:
            UnknownProjectError: nothing is stored about it.
        """
        return self._parts.recording.find_project(name)

    def projects(self) -> Sequence[Project]:
        """List the projects that something is stored about."""
        return self._store.projects()

    def forget(self, project: Project) -> None:
        """Erase all that is stored about a project."""
        self._store.forget(project)

    def prune_events(self, *, before: int) -> None:
        """Drop single usage events older than a time in Unix milliseconds; totals stay."""
        self._store.prune_events(before)

    def _listed(self, context: Context) -> tuple[Context, list[ToolDecision]]:
        """List what is known as the files are now, with the context in which it was decided."""
        self.refresh(context)
        return self._listings.list(context)

    def _hurried(self, context: Context) -> Searcher:
        return self.searcher(context, is_hurried=True)
