"""The registry: everything an application may ask of Remit."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from remit.approvals import Approvals
from remit.configurations import Noticed
from remit.core.adoption import adopt
from remit.core.agents import check_servers, employ
from remit.core.audit import AUDIT_LIFETIME, MOST_AUDITED, AuditEntry
from remit.core.client_settings import ClientSettings
from remit.core.configuration.layers import Configuration, Demand, combine
from remit.core.costs import charge
from remit.core.decide import (
    UNKNOWN,
    Context,
    Decision,
    Explained,
    Gate,
    Listed,
    Ruling,
    decide,
    explain,
)
from remit.core.declarations import Changes, Declaration, Key, Problem, Resolved
from remit.core.filters import Filter, Filtering
from remit.core.findings import Patient
from remit.core.globs import glob
from remit.core.kinds import Authority, Kind, Status
from remit.core.lookup import closest_to_being_visible, find, suggest
from remit.core.names import canonical, classify, full_label, is_covered, storable
from remit.core.policy import Mode
from remit.core.projects import Project, Workspace
from remit.core.ranking import Found
from remit.core.reading import Reading, Remembered
from remit.core.resolve import resolve
from remit.core.scopes import Scope
from remit.core.session_context import MAX_CHARACTERS, Section, assemble, tools_section
from remit.core.sightings import Sighting, Use
from remit.core.states import Snapshot
from remit.core.tools import Definition, Tool
from remit.core.trust import Trustable, needs_trust
from remit.core.upstreams import DEADLINE, Offer, Upstream, Wares, upstream
from remit.core.views import USUAL, Flags, View
from remit.errors import (
    NoSuchDirectoryError,
    NoSuchFileError,
    PolicyError,
    StateError,
    UnknownClientError,
    UnknownProjectError,
    UnknownServerError,
)
from remit.ports import Clock, Engine, Judge, Sources, Store, Upstreams
from remit.search import DEFAULT_LIMIT, Search, Searcher
from remit.situation import Location, Situation, StateReport

DEFAULT_CLIENT = "claude-code"
ALL_CLIENTS = "all"

_NOT_CALLED = (Kind.MCP_SERVER, Kind.PLUGIN)
_NOBODY = Tool("", Kind.BUILTIN, "", Scope.GLOBAL, "", Authority.HOOK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a name is available here, or is not."""

    name: str
    tool: Tool | None  # None: no tool of this name is known here
    decision: Decision
    gates: Sequence[Explained] = ()
    shadowed: Sequence[Listed] = ()  # the other declarations of the same name
    tools: Sequence[Tool] = ()  # of a server: those that are known
    suggestions: Sequence[str] = ()  # where the name is not known: names that are, and nearly are it


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a scan found, and what is known now."""

    changes: Changes
    problems: Sequence[Problem]
    tools: Sequence[Listed]
    is_first: bool = False  # nothing was known of this workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What is on this machine of one client, as far as a workspace is concerned."""

    client: str
    files: Sequence[str]  # those that exist, of all that are looked for
    servers: int
    problems: int

    @property
    def is_found(self) -> bool:
        """Whether any of the client's files exists."""
        return bool(self.files)


class Progress(NamedTuple):
    """How far the asking of servers has come."""

    done: int
    total: int
    label: str = ""  # the server that answered last
    offer: Offer | None = None


class Connected(NamedTuple):
    """A server that was to be asked for its tools; without an offer, the decision says why it was not."""

    tool: Tool
    decision: Decision
    offer: Offer | None

    @property
    def why_not(self) -> str:
        """Why it was not asked, where it was not."""
        return "its file cannot be read now" if self.decision.visible else self.decision.reason


class Registry:
    """Scans, lists, explains and records, for any workspace on this machine."""

    def __init__(
        self,
        store: Store,
        sources: Sources,
        clock: Clock,
        engine: Engine,
        situation: Situation | None = None,  # None: no configuration of Remit's own counts, and no state
        judge: Judge | None = None,  # None: no filter can be added
    ) -> None:
        self._store = store
        self._situation = situation
        self._search = Search(store, engine)
        self._sources = sources
        self._clock = clock
        self._judge = judge
        self._filterings: list[Filtering] = []
        self._refusals: tuple[object, Mapping[Key, str]] | None = None  # with what they were worked out for

    def __enter__(self) -> "Registry":
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
        if client not in (*self._sources.clients, ALL_CLIENTS):
            known = ", ".join(f"`{name}`" for name in (*self._sources.clients, ALL_CLIENTS))
            raise UnknownClientError(f"no client is called `{client}`", hint=f"known are {known}")
        context = Context(
            workspace=self._sources.locate(directory),
            client=None if client == ALL_CLIENTS else client,
            flags=Flags(is_headless=is_headless, mcp_configs=tuple(map(self._existing, mcp_configs))),
            home=self._sources.home,
            mode=None if mode is None else Mode(mode),
            run_context=run_context,
        )
        return context if agent is None else self._for_agent(context, agent, parents)

    def now(self, context: Context) -> Context:
        """Give a context one snapshot of the states, which counts for all that is asked with it."""
        if self._situation is None or context.snapshot is not None:
            return context
        return replace(self._ruled(context), snapshot=self._snapshot(self._situation, context))

    def add_filter(self, filter: Filter, *, server: str | None = None) -> None:
        """Have a function say which tools may be used, or which of the servers that a pattern names.

        It may be plain or async, and gets a `FilterContext` and the tool. One that raises, takes too long or
        answers with anything but true hides the tool.

        Raises:
            PolicyError: this registry was opened without filters.
        """
        if self._judge is None:
            raise PolicyError("this registry was opened without filters")
        self._filterings.append(Filtering(filter, None if server is None else glob(server)))
        self._refusals = None

    @property
    def approvals(self) -> Approvals:
        """What persons are asked about calls, and their answers."""
        return Approvals(self._store.approvals, self._clock, self._callable, self._definition)

    def snapshot(self, context: Context) -> Snapshot:
        """Take one reading of all states; that of the context, where it has one."""
        return self.now(context).snapshot or Snapshot()

    def states(self, context: Context) -> list[StateReport]:
        """List every state with its value, and where both come from."""
        if self._situation is None:
            return []
        return self._situation.states(self.snapshot(context), context.workspace)

    def ways(self, context: Context) -> Mapping[str, str]:
        """Say for each state what would make it true, where that is known."""
        return {} if self._situation is None else self._situation.ways(context.workspace)

    def set_state(self, name: str, context: Context) -> None:
        """Set a workflow state of the project, until it is cleared.

        Raises:
            StateError: it is no workflow state.
            UnknownStateError: there is no such state.
        """
        self._states().set_state(name, context.workspace)

    def clear_state(self, name: str, context: Context) -> list[str]:
        """Clear a workflow state of the project, with those that imply it, and name them.

        Raises:
            StateError: it is no workflow state.
            UnknownStateError: there is no such state.
        """
        return self._states().clear_state(name, context.workspace)

    def advance(self, tool: str, context: Context) -> None:
        """Set and clear the workflow states that a tool's success does, without counting it as used."""
        self._states().advance(tool, context.workspace)

    def push_states(self, pushed: Mapping[str, object], context: Context) -> None:
        """Keep what a host application says of its states, and of `location`, until it expires.

        Raises:
            StateError: a state is not pushed, or a value is none that it could have.
            UnknownStateError: there is no such state.
        """
        self._states().push(pushed, context.workspace)

    @property
    def location(self) -> Location:
        """Where in an application its user is."""
        return Location(self._states())

    def scan(self, context: Context) -> Scan:
        """Read everything again."""
        is_first = not any(self._store.inputs(context.view(client)) for client in self._clients(context))
        changes = [self._scan(client, context)[0] for client in self._clients(context)]
        return Scan(
            changes=Changes(
                added=[item for each in changes for item in each.added],
                removed=[item for each in changes for item in each.removed],
                changed=[item for each in changes for item in each.changed],
            ),
            problems=self.problems(context),
            tools=self._list(context),
            is_first=is_first,
        )

    def refresh(self, context: Context) -> None:
        """Read what changed since the last scan of this workspace, if anything did."""
        for client in self._clients(context):
            if not self._sources.is_unchanged(self._store.inputs(context.view(client))):
                self._scan(client, context)

    def tools(self, context: Context) -> list[Listed]:
        """List every tool known here with the decision about it, hidden ones too."""
        self.refresh(context)
        return self._list(context)

    def problems(self, context: Context) -> list[Problem]:
        """List what is wrong in the files that count here."""
        found = [self._store.problems(context.view(client)) for client in self._clients(context)]
        return [*self.own_problems(context), *(problem for problems in found for problem in problems)]

    def own_problems(self, context: Context) -> list[Problem]:
        """List what is wrong in Remit's own configuration."""
        if self._situation is None:
            return []
        return self._situation.configurations.problems(context.workspace)

    def check_policy(self, context: Context) -> list[Noticed]:
        """List all that is wrong, contradictory or meaningless in Remit's own configuration."""
        if self._situation is None:
            return []
        tools = [item.tool for item in self.tools(context)]
        return self._situation.configurations.check(tools, context.workspace)

    def clients(self, context: Context) -> list[Presence]:
        """Look which clients have files here, and what these declare; nothing is stored."""
        return [_presence(self._sources.read(context.view(client))) for client in self._clients(context)]

    def examine(self, context: Context) -> list[Patient]:
        """Read everything again, for a diagnosis: a patient for each client, with what the machine says."""
        found = {client: self._read(context.view(client)) for client in self._clients(context)}
        for client, (reading, resolved) in found.items():
            self._store.save(reading, resolved, context.view(client), self._clock())
        tools = [item.tool for item in self._list(context)]
        return [
            Patient(
                context=context,
                resolved=resolved,
                problems=reading.problems,
                tools=[tool for tool in tools if tool.client == client],
                facts=self._sources.examine([item.declaration for item in resolved], context.workspace),
                at=self._clock(),
            )
            for client, (reading, resolved) in found.items()
        ]

    def explain(self, name: str, context: Context) -> Explanation:
        """Explain why a tool is available here, or is not.

        A name that exists only in another project gets the very answer of one that exists nowhere.
        """
        self.refresh(context)
        context, listed = self._listing(context)
        found = find(name, listed)
        if not found:
            gates = [Explained(Gate.SCOPE, Ruling(False, UNKNOWN.reason))]
            mine = [item for item in listed if context.client in (None, item.tool.client)]
            return Explanation(
                name=name, tool=None, decision=UNKNOWN, gates=gates, suggestions=suggest(name, mine)
            )
        (tool, decision), *others = sorted(found, key=closest_to_being_visible)
        return Explanation(
            name=tool.name,
            tool=tool,
            decision=decision,
            gates=explain(tool, context),
            shadowed=others,
            tools=[item.tool for item in listed if _is_tool_of(item.tool, tool)],
        )

    def search(
        self,
        query: str,
        context: Context,
        *,
        scope: Scope | None = None,
        limit: int = DEFAULT_LIMIT,
        include_hidden: bool = False,
        min_score: float | None = None,
    ) -> Found:
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
        note = self._search.read(context.workspace, is_hurried=is_hurried)
        return self._search.searcher(self._list(context), context.workspace, note, in_memory=in_memory)

    def definitions(self, tools: Iterable[Tool], context: Context) -> Mapping[Key, Definition]:
        """List what servers and files say of tools, by the tools' keys."""
        return self._store.definitions(tools, context.workspace)

    def index(self, context: Context, on_progress: Callable[[Progress], None] = lambda _: None) -> int:
        """Make ready for search what is new here, and say how much of it that was.

        Raises:
            EmbeddingError: texts cannot be turned into vectors now; they are still found by their words.
        """
        self.refresh(context)
        return self._search.index(context.workspace, lambda done, total: on_progress(Progress(done, total)))

    def inputs(self, context: Context) -> Mapping[str, str]:
        """List what the last scan looked at, with the fingerprints it found."""
        found = (self._store.inputs(context.view(client)) for client in self._clients(context))
        return {name: seen for inputs in found for name, seen in inputs.items()}

    def are_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether a scan that found these inputs would find them again."""
        return self._sources.is_unchanged(inputs)

    def revision(self) -> int:
        """Count the changes of what is stored of tools; uses and states do not count."""
        return self._store.revision()

    def configured(self, context: Context) -> tuple[Configuration, Context]:
        """Tell what the configuration says, and give it to a context."""
        if self._situation is None:
            return combine((), {}), context
        current = self._situation.configurations.current(context.workspace)
        ruled = replace(context, requirements=current.requirements, policy=current.ruled.policy)
        return current.configuration, ruled

    def resolved(self, context: Context) -> Sequence[Resolved]:
        """Read everything again, for what is in the entries themselves and never stored."""
        return self._resolved(context)

    def listing(self, context: Context) -> tuple[Context, list[Listed]]:
        """List every tool with the decision about it, and the context in which that was made.

        A context that has a snapshot is taken as it is.
        """
        return self._listing(context)

    @property
    def has_filters(self) -> bool:
        """Whether functions say which tools may be used."""
        return bool(self._filterings)

    def wares(self, context: Context) -> Mapping[Key, Wares]:
        """List what servers offer besides tools, by the servers' keys."""
        return self._store.wares(context.workspace)

    def keep(self, declaration: Declaration, offer: Offer, context: Context) -> None:
        """Keep what came of asking a server."""
        self._store.keep(declaration, offer, context.workspace, self._clock())

    def add_audit(self, entries: Sequence[AuditEntry], context: Context) -> None:
        """Keep what became of calls, and of older ones the newest."""
        self._store.add_audit(entries, context.workspace)
        self._store.prune_audit(self._clock() - AUDIT_LIFETIME, MOST_AUDITED)

    def audit(self, context: Context, *, limit: int = 100) -> Sequence[AuditEntry]:
        """List what became of the last calls in the project, the newest first."""
        return self._store.audit(context.workspace, limit)

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
        if not deadline > 0:  # nor is it when it is not a number
            raise ValueError("a deadline is a number of seconds above 0")
        declared = {item.declaration.key: item.declaration for item in self._resolved(context)}
        context, listed = self._listing(replace(context, starts_servers=True))
        chosen = _to_connect(listed, names, context)
        started = [
            upstream(declared[key], workspace=context.workspace.dir, home=context.home, deadline=deadline)
            for tool, decision in chosen
            if decision.visible and (key := tool.key) in declared and declared[key].digest == tool.digest
        ]
        asked = [item for item in started if item is not None]
        offers: dict[Key, Offer] = {}

        def keep(asked_one: Upstream, offer: Offer) -> None:
            offers[asked_one.key] = offer
            self._store.keep(declared[asked_one.key], offer, context.workspace, self._clock())
            on_progress(Progress(len(offers), len(asked), asked_one.label, offer))

        on_progress(Progress(0, len(asked)))
        if asked:
            upstreams.ask(asked, keep)
        return [Connected(tool, decision, offers.get(tool.key)) for tool, decision in chosen]

    def trustable(self, context: Context, names: Sequence[str] = ()) -> list[Trustable]:
        """List the servers of this project, or those that are named, that are only started when trusted.

        Raises:
            UnknownServerError: no such server has a given name.
        """
        trusts = self._store.trusts(context.workspace)
        found = [
            Trustable(
                declaration=item.declaration,
                config_status=item.config_status,
                trusted_digest=trusts.get(item.declaration.key),
            )
            for item in self._resolved(context)
            if item.declaration.agent is None and _needs_trust(item.declaration, context.workspace)
        ]
        for name in names:
            if not any(item.declaration.is_called(name) for item in found):
                raise UnknownServerError(
                    f"no server of this project is called `{name}`", hint="`remit trust` lists them"
                )
        return [item for item in found if not names or any(map(item.declaration.is_called, names))]

    def trust(self, servers: Iterable[Trustable], context: Context) -> None:
        """Let servers be started, as they were declared when they were listed."""
        for item in servers:
            if item.declaration.launch is not None:  # else nobody could see what it would run
                self._store.trust(item.declaration, context.workspace, self._clock())

    def revoke(self, servers: Iterable[Trustable], context: Context) -> None:
        """Let servers be started no more."""
        for item in servers:
            self._store.revoke(item.declaration, context.workspace)

    def demands(self, context: Context, names: Sequence[str] = ()) -> list[Demand]:
        """List the states and the rules, or those that are named, that only count with the user's trust."""
        if self._situation is None:
            return []
        found = self._situation.configurations.demands(context.workspace)
        return [item for item in found if not names or item.name in names]

    def trust_states(self, demands: Iterable[Demand], context: Context) -> None:
        """Let states count, as they were declared when they were listed."""
        self._states().configurations.trust(demands, context.workspace)

    def revoke_states(self, demands: Iterable[Demand], context: Context) -> None:
        """Let states count no more."""
        self._states().configurations.revoke(demands, context.workspace)

    def session_context(self, context: Context, *, budget: int = MAX_CHARACTERS) -> str:
        """Write what an agent is told at session start, in at most `budget` characters."""
        visible = [tool for tool, decision in self.tools(context) if decision.visible]
        return assemble([Section(text=tools_section(visible, budget=budget), keep=0)], budget=budget)

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
        return self._store.record(
            self._sighting(name, context, Authority.HOOK, server=server),
            Use(session_id=session_id, call_id=call_id, succeeded=succeeded, duration_ms=duration_ms),
        )

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
        if scope is Scope.MANAGED:
            raise ValueError("an agent cannot report a tool as managed")
        definition = Definition(
            name=canonical(name),
            server=server or classify(canonical(name)).server,
            description=None if description is None else storable(description),
            input_schema=None if input_schema is None else json.dumps(input_schema, sort_keys=True),
        )
        self._store.report(
            definition, self._sighting(name, context, Authority.REPORT, server=server, scope=scope)
        )

    def find_project(self, name: str) -> Project:
        """Find a project that something is stored about, by its hash or a directory in it.

        Raises:
            UnknownProjectError: nothing is stored about it.
        """
        clean = storable(name)
        found = None
        if clean.strip():  # nothing is no directory, and not this one
            found = self._store.find_project(clean) or self._store.find_project(self._project_path(clean))
        if found is None:
            raise UnknownProjectError(
                f"nothing is stored about `{clean}`", hint="name a project's directory, or its hash"
            )
        return found

    def forget(self, project: Project) -> None:
        """Erase all that is stored about a project."""
        self._store.forget(project)

    def prune_events(self, *, before: int) -> None:
        """Drop single usage events older than a time in Unix milliseconds; totals stay."""
        self._store.prune_events(before)

    def _for_agent(self, context: Context, agent: str, parents: Sequence[str]) -> Context:
        listed = self.tools(context)
        profiles = {
            tool.name: tool.profile
            for tool, decision in listed
            if tool.profile is not None and decision.visible
        }
        employed = employ(agent, parents, profiles)
        known = [tool for tool, _ in listed if context.client in (None, tool.client)]
        check_servers(employed, sorted(_labels_of_servers(known)))
        return replace(context, agent=employed)

    def _clients(self, context: Context) -> Sequence[str]:
        return self._sources.clients if context.client is None else (context.client,)

    def _ruled(self, context: Context) -> Context:
        """Give a context what the configuration says."""
        if self._situation is None:
            return context
        current = self._situation.configurations.current(context.workspace)
        return replace(context, requirements=current.requirements, policy=current.ruled.policy)

    def _judging(self, context: Context) -> Context:
        """Give a context all that decisions go by: a snapshot only where anything needs a state."""
        if context.snapshot is not None:
            return context
        context = self._ruled(context)
        is_needed = bool(self._filterings) or not context.requirements.is_empty
        return self.now(context) if is_needed else context

    def _filtered(self, tools: Sequence[Tool], context: Context) -> Context:
        """Ask the filters about tools, unless nothing changed since they were asked."""
        if self._judge is None or not self._filterings:
            return context
        asked = (tools, replace(context, refusals=None))
        if self._refusals is None or self._refusals[0] != asked:
            self._refusals = asked, self._judge(self._filterings, tools, context)
        return replace(context, refusals=self._refusals[1])

    def _callable(self, name: str, context: Context) -> Listed:
        """Find the one tool that a call would mean; what is no tool by itself cannot be called."""
        self.refresh(context)
        tools = [item for item in self._list(context) if item.tool.kind not in _NOT_CALLED]
        exact = [item for item in tools if item.tool.name == name]
        found = exact or find(name, tools)
        return min(found, key=closest_to_being_visible, default=Listed(_NOBODY, UNKNOWN))

    def _definition(self, item: Listed, context: Context) -> Definition | None:
        tool = item.tool
        found = self._store.definitions([tool], context.workspace)
        # A tool that was only seen goes by its server's label, and not by the one it is stored under.
        named = (said for key, said in found.items() if (key[0], key[-1]) == (tool.client, tool.name))
        return found.get(tool.key) or next(named, None)

    def _snapshot(self, situation: Situation, context: Context) -> Snapshot:
        agent = None if context.agent is None else context.agent.name
        return situation.snapshot(context.workspace, client=context.client, agent=agent)

    def _states(self) -> Situation:
        if self._situation is None:
            raise StateError("this registry was opened without states")
        return self._situation

    def _list(self, context: Context) -> list[Listed]:
        return self._listing(context)[1]

    def _listing(self, context: Context) -> tuple[Context, list[Listed]]:
        """List every tool with the decision about it, and the context in which that was made."""
        tools = charge(adopt(self._store.catalog(context.workspace, context.flags)))
        catalog = sorted(tools, key=_by_name)
        context = self._filtered(catalog, self._judging(context))
        return context, [Listed(tool, decide(tool, context)) for tool in catalog]

    def _resolved(self, context: Context) -> list[Resolved]:
        """Read everything again, for what is in the entries themselves and never stored."""
        return [item for client in self._clients(context) for item in self._scan(client, context)[1]]

    def _scan(self, client: str, context: Context) -> tuple[Changes, list[Resolved]]:
        view = context.view(client)
        reading, resolved = self._read(view)
        return self._store.save(reading, resolved, view, self._clock()), resolved

    def _read(self, view: View) -> tuple[Reading, list[Resolved]]:
        reading = self._sources.read(view)
        declarations, rules = reading.declarations, reading.rules
        if reading.unreadable:  # a file that is broken for the moment loses nothing that was known of it
            remembered = self._store.last_known(view, reading.unreadable, reading.lost)
            declarations, rules = _completed(reading, remembered), [*rules, *remembered.rules]
            known = {item.source for item in (*remembered.declarations, *remembered.rules)}
            problems = [
                _with_consequence(item) if item.source in known else item for item in reading.problems
            ]
            reading = replace(reading, problems=problems)
        settings = ClientSettings(rules, is_headless=view.flags.is_headless, habits=reading.habits)
        return reading, resolve(declarations, settings)

    def _sighting(
        self,
        name: str,
        context: Context,
        authority: Authority,
        *,
        server: str | None,
        scope: Scope | None = None,
    ) -> Sighting:
        self.refresh(replace(context, flags=USUAL))  # where a tool belongs is told by the usual view
        if self._situation is not None:
            self._situation.configurations.current(context.workspace)  # a success may change a state
        return Sighting(
            name=name,
            client=context.client or DEFAULT_CLIENT,
            workspace=context.workspace,
            authority=authority,
            at=self._clock(),
            is_scanned=True,
            server=None if server is None else storable(server),
            scope=scope,
        )

    def _existing(self, file: str) -> str:
        path = self._sources.canonical(file)
        if not self._sources.exists(path):
            raise NoSuchFileError(f"there is no file `{storable(file)}`", hint="name a file of servers")
        return path

    def _project_path(self, directory: str) -> str:
        try:
            return self._sources.locate(directory).project.path
        except NoSuchDirectoryError:  # a project may be forgotten after its directory is gone
            return self._sources.canonical(directory)


def _presence(reading: Reading) -> Presence:
    servers = {item.key for item in reading.declarations if item.kind is Kind.MCP_SERVER}
    return Presence(
        client=reading.client, files=reading.files, servers=len(servers), problems=len(reading.problems)
    )


def _completed(reading: Reading, remembered: Remembered) -> list[Declaration]:
    """Add what is remembered; where the way to a scope's files is lost, that alone is believed of it."""
    replaced = reading.lost & {item.scope for item in remembered.declarations}
    read = [item for item in reading.declarations if item.scope not in replaced]
    judged = [replace(item, was_denied=remembered.denied.get(item.key)) for item in read]
    return [*judged, *remembered.declarations]


def _with_consequence(problem: Problem) -> Problem:
    return replace(problem, reason=f"{problem.reason}; what it said when it was last read still holds")


def _needs_trust(declaration: Declaration, workspace: Workspace) -> bool:
    return needs_trust(
        declaration.kind, declaration.scope, declaration.project_hash, declaration.source, workspace
    )


def _is_tool_of(tool: Tool, server: Tool) -> bool:
    is_its = server.kind is Kind.MCP_SERVER and is_covered(tool.name, server.name)
    return (
        is_its
        and tool.kind is Kind.MCP_TOOL
        and tool.key[:-1] == (*server.key[:1], tool.kind, *server.key[2:-1])
    )


def _labels_of_servers(tools: Iterable[Tool]) -> Iterator[str]:
    for tool in tools:
        is_known = tool.kind is Kind.MCP_SERVER and tool.agent is None and tool.status is not Status.STALE
        if is_known and tool.server is not None:
            yield full_label(tool.server, tool.plugin)


def _by_name(tool: Tool) -> tuple[str, str, str, str]:
    return tool.name, tool.client, tool.scope, tool.dir or ""


def _to_connect(listed: Sequence[Listed], names: Sequence[str], context: Context) -> list[Listed]:
    """Choose the servers to ask: the named ones, else all in force and those that only wait for trust."""
    # What only one agent brings along is started by that agent's client.
    servers = [item for item in listed if item.tool.kind is Kind.MCP_SERVER and item.tool.agent is None]
    if names:
        return list(_chosen(servers, names))
    as_client = replace(context, starts_servers=False)
    return [item for item in servers if item.decision.visible or decide(item.tool, as_client).visible]


def _chosen(servers: Sequence[Listed], names: Sequence[str]) -> Iterator[Listed]:
    for name in dict.fromkeys(names):
        found = find(name, servers)
        if not found:
            raise UnknownServerError(
                f"no server is called `{name}` here", hint="`remit tools --all` lists the servers"
            )
        yield min(found, key=closest_to_being_visible)
