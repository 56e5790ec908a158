"""The registry: everything an application may ask of Remit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from remit.core import decide as deciding
from remit.core.decide import Context, Decision, Explained, decide
from remit.core.declarations import ClientSettings, Problem
from remit.core.kinds import Authority, Kind, Status
from remit.core.names import classify, is_covered, spellings
from remit.core.projects import Project
from remit.core.resolve import resolve
from remit.core.scopes import Scope
from remit.core.session_context import MAX_CHARACTERS, Section, assemble, tools_section
from remit.core.sightings import Sighting
from remit.core.tools import Definition, Tool
from remit.errors import NoSuchDirectoryError, UnknownClientError, UnknownProjectError
from remit.ports import Changes, Clock, Sources, Store

DEFAULT_CLIENT = "claude-code"
ALL_CLIENTS = "all"


class Listed(NamedTuple):
    """A tool with the decision about it."""

    tool: Tool
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a name is available here, or is not."""

    name: str
    tool: Tool | None  # None: no tool of this name is known here
    decision: Decision
    gates: Sequence[Explained] = ()
    shadowed: Sequence[Listed] = ()  # the other declarations of the same name


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a scan found."""

    changes: Changes
    problems: Sequence[Problem]


class Registry:
    """Scans, lists, explains and records, for any workspace on this machine."""

    def __init__(self, store: Store, sources: Sources, clock: Clock) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock

    def __enter__(self) -> "Registry":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def at(self, directory: str = ".", client: str = DEFAULT_CLIENT) -> Context:
        """Make the context of a client that works in a directory.

        Raises:
            NoSuchDirectoryError: there is no such directory.
            UnknownClientError: no client of this name is supported.
        """
        if client not in (*self._sources.clients, ALL_CLIENTS):
            known = ", ".join(f"`{name}`" for name in (*self._sources.clients, ALL_CLIENTS))
            raise UnknownClientError(f"no client is called `{client}`", hint=f"known are {known}")
        workspace = self._sources.locate(directory)
        return Context(
            workspace=workspace, client=None if client == ALL_CLIENTS else client, home=self._sources.home
        )

    def scan(self, context: Context) -> Scan:
        """Read everything again."""
        scans = [self._scan(client, context) for client in self._clients(context)]
        return Scan(
            changes=Changes(
                added=[item for scan in scans for item in scan.changes.added],
                removed=[item for scan in scans for item in scan.changes.removed],
                changed=[item for scan in scans for item in scan.changes.changed],
            ),
            problems=[problem for scan in scans for problem in scan.problems],
        )

    def refresh(self, context: Context) -> None:
        """Read what changed since the last scan of this workspace, if anything did."""
        for client in self._clients(context):
            inputs = self._store.inputs(client, context.workspace)
            if not inputs or not self._sources.is_unchanged(inputs):
                self._scan(client, context)

    def tools(self, context: Context) -> list[Listed]:
        """List every tool known here with the decision about it, hidden ones too."""
        self.refresh(context)
        catalog = sorted(self._store.catalog(context.workspace), key=_by_name)
        return [Listed(tool, decide(tool, context)) for tool in catalog]

    def problems(self, context: Context) -> list[Problem]:
        """List what is wrong in the files that count here."""
        found = [self._store.problems(client, context.workspace) for client in self._clients(context)]
        return [problem for problems in found for problem in problems]

    def explain(self, name: str, context: Context) -> Explanation:
        """Explain why a tool is available here, or is not.

        A name that exists only in another project gets the very answer of one that exists nowhere.
        """
        found = _named(name, self.tools(context))
        if not found:
            gates = [Explained(deciding.Gate.SCOPE, deciding.Ruling(False, deciding.UNKNOWN.reason))]
            return Explanation(name=name, tool=None, decision=deciding.UNKNOWN, gates=gates)
        (tool, decision), *others = sorted(found, key=_closest_to_being_visible)
        return Explanation(
            name=tool.name,
            tool=tool,
            decision=decision,
            gates=deciding.explain(tool, context),
            shadowed=[other for other in others if other.tool.name == tool.name],
        )

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
            session_id=session_id,
            call_id=call_id,
            succeeded=succeeded,
            duration_ms=duration_ms,
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
        """Keep what an agent says of one of its tools."""
        schema = None if input_schema is None else json.dumps(input_schema, sort_keys=True)
        definition = Definition(
            name=name,
            server=server or classify(name).server,
            description=description,
            input_schema=schema,
        )
        self._store.report(
            definition, self._sighting(name, context, Authority.REPORT, server=server, scope=scope)
        )

    def forget(self, project: str) -> Project:
        """Erase all that is stored about a project, named by its hash or its directory.

        Raises:
            UnknownProjectError: nothing is stored about it.
        """
        found = self._store.find_project(project) or self._store.find_project(self._project_path(project))
        if found is None:
            raise UnknownProjectError(
                f"nothing is stored about `{project}`", hint="name a project's directory, or its hash"
            )
        self._store.forget(found)
        return found

    def prune_events(self, *, before: int) -> None:
        """Drop single usage events older than a time in Unix milliseconds; totals stay."""
        self._store.prune_events(before)

    def _clients(self, context: Context) -> Sequence[str]:
        return self._sources.clients if context.client is None else (context.client,)

    def _scan(self, client: str, context: Context) -> Scan:
        reading = self._sources.read(client, context.workspace)
        declarations, settings = list(reading.declarations), reading.settings
        if reading.unreadable:  # a file that is broken for the moment loses nothing that was known of it
            kept, switched_off = self._store.last_known(client, context.workspace, reading.unreadable)
            declarations.extend(kept)
            settings = ClientSettings(
                disabled=settings.disabled | switched_off.disabled,
                rejected=settings.rejected | switched_off.rejected,
            )
        resolved = resolve(declarations, settings)
        changes = self._store.save(reading, resolved, context.workspace, self._clock())
        return Scan(changes=changes, problems=reading.problems)

    def _sighting(
        self,
        name: str,
        context: Context,
        authority: Authority,
        *,
        server: str | None,
        scope: Scope | None = None,
    ) -> Sighting:
        return Sighting(
            name=name,
            client=context.client or DEFAULT_CLIENT,
            workspace=context.workspace,
            authority=authority,
            at=self._clock(),
            server=server,
            scope=scope,
        )

    def _project_path(self, directory: str) -> str:
        try:
            return self._sources.locate(directory).project.path
        except NoSuchDirectoryError:  # a project may be forgotten after its directory is gone
            return directory


def _by_name(tool: Tool) -> tuple[str, str, str, str]:
    return tool.name, tool.client, tool.scope, tool.dir or ""


def _named(name: str, listed: Sequence[Listed]) -> list[Listed]:
    """Find the rows that a name means: its own, else those of the server it names or falls under."""
    forms = spellings(name)
    for form in forms:
        if found := [item for item in listed if item.tool.name == form]:
            return found
    if found := [item for item in listed if item.tool.server == name and item.tool.kind is Kind.MCP_SERVER]:
        return found
    covering = [item for item in listed if any(is_covered(form, item.tool.name) for form in forms)]
    longest = max((len(item.tool.name) for item in covering), default=0)
    return [item for item in covering if len(item.tool.name) == longest]


def _closest_to_being_visible(item: Listed) -> tuple[bool, bool, bool]:
    tool, decision = item
    return not decision.visible, tool.status is Status.STALE, tool.shadowed_by is not None
