"""Reads and stores the declarations in the clients' files; a broken file keeps its last valid version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Changes, ClientReading, Declaration, Resolved, StoredReading
from remit.decision.kinds import Kind
from remit.decision.problems import Problem
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.decision.settings_rules import Effect, SettingsRule
from remit.decision.tool_names import REMIT
from remit.memory.memory_server import is_own, own_offer, resolve_own_server, with_own_server
from remit.scanning.scanner import ClientPresence
from remit.trust.trust_rule import declaration_needs_trust

if TYPE_CHECKING:
    from remit.decision.projects import Workspace
    from remit.scanning.ports import Sources
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock


class SourceReader:
    """Reads, resolves and stores views; a view is one client in one workspace."""

    def __init__(self, store: SqlStore, sources: Sources, clock: Clock) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._last: dict[View, tuple[Mapping[str, str], list[Resolved]]] = {}  # with its inputs

    def scan(self, views: Iterable[View], *, is_served: bool) -> Changes:
        """Read and store each view; return the changes.

        With `is_served`, for a gateway, add Remit's own server.
        """
        changes = [self._save(*self._read(view, is_served=is_served), view) for view in views]
        return Changes(
            added=[item for each in changes for item in each.added],
            removed=[item for each in changes for item in each.removed],
            changed=[item for each in changes for item in each.changed],
        )

    def readings(
        self, views: Iterable[View], *, is_served: bool = False
    ) -> Mapping[str, tuple[ClientReading, list[Resolved]]]:
        """Read everything, then store the views that changed; return the readings by client."""
        found = {view: self._read(view, is_served=is_served) for view in views}
        for view, (reading, resolved) in found.items():
            is_first_gateway = is_served and not self._store.is_resolved(REMIT, view)
            if is_first_gateway or reading.inputs != self._store.inputs(view):
                self._save(reading, resolved, view)
        return {view.client: read for view, read in found.items()}

    def last_resolved(self, views: Iterable[View]) -> list[Resolved]:
        """Return the result of the last scan, from memory if this process read it; store nothing."""
        return [item for view in views for item in self._last_resolved(view)]

    def presences(self, views: Iterable[View]) -> list[ClientPresence]:
        """List the clients with their files; store nothing."""
        return [
            _presence(self._completed(self._sources.read(view), view))._replace(
                is_found=self._sources.is_on_machine(view.client)
            )
            for view in views
        ]

    def _last_resolved(self, view: View) -> list[Resolved]:
        inputs, resolved = self._last.get(view, ({}, []))
        return resolved if inputs and inputs == self._store.inputs(view) else self._read(view)[1]

    def _save(self, reading: ClientReading, resolved: Sequence[Resolved], view: View) -> Changes:
        """Store a reading, and the tools of Remit's own server."""
        changes = self._store.save(reading, resolved, view, self._clock())
        for declaration in filter(is_own, (*changes.added, *changes.changed)):
            self._store.servers.keep(declaration, own_offer(), view.workspace, self._clock())
        return changes

    def _read(self, view: View, *, is_served: bool = False) -> tuple[ClientReading, list[Resolved]]:
        reading, resolved = self._read_files(view)
        # Once a gateway ran here, its own server stays listed, even between runs.
        is_known = is_served or self._store.is_resolved(REMIT, view)
        own = resolve_own_server(view, resolved, is_served=is_known)
        resolved, problems = with_own_server(resolved, own)
        reading = replace(reading, problems=[*reading.problems, *problems]) if problems else reading
        self._last[view] = reading.inputs, resolved
        return reading, resolved

    def _read_files(self, view: View) -> tuple[ClientReading, list[Resolved]]:
        reading = self._sources.read(view)
        whole = self._completed(reading, view)
        settings = ClientSettings(whole.rules, is_headless=view.flags.is_headless, behavior=whole.behavior)
        # The rules of an unreadable file are stored already.
        read = replace(reading, problems=whole.problems, permissions=settings.permissions())
        return read, resolve(whole.declarations, settings)

    def _completed(self, reading: ClientReading, view: View) -> ClientReading:
        """Add the last valid version of files that are unreadable."""
        if not reading.unreadable:
            return reading
        stored = self._store.last_known(view, reading.unreadable, reading.lost)
        known = {item.source for item in (*stored.declarations, *stored.rules)}
        problems = [_with_consequence(item) if item.source in known else item for item in reading.problems]
        return replace(
            reading,
            declarations=_with_stored(reading, stored, view.workspace),
            rules=[*reading.rules, *_narrowing(stored.rules)],
            problems=problems,
        )


def _presence(reading: ClientReading) -> ClientPresence:
    servers = {item.key: item for item in reading.declarations if item.kind is Kind.MCP_SERVER}
    return ClientPresence(
        client=reading.client,
        files=reading.files,
        servers=len(servers),
        problems=len(reading.problems),
        gateways=sum(item.is_remit for item in servers.values()),
    )


def _with_stored(reading: ClientReading, stored: StoredReading, workspace: Workspace) -> list[Declaration]:
    """Add the stored declarations of unreadable files.

    If an unreadable file refers to other files of a scope, only the stored declarations of that scope count.
    Without a digest, no trust applies to them: the client may read another entry than the trusted one.
    Remit's own entry counts only while Remit is installed: else the client has no gateway.
    """
    replaced = reading.lost & {item.scope for item in stored.declarations}
    read = [item for item in reading.declarations if item.scope not in replaced]
    judged = [replace(item, was_denied=stored.denied.get(item.key)) for item in read]
    kept = [
        replace(item, digest=None) if declaration_needs_trust(item, workspace) else item
        for item in stored.declarations
        if not item.is_remit or item.source in reading.gateway_files
    ]
    return [*judged, *kept]


def _narrowing(rules: Iterable[SettingsRule]) -> Iterator[SettingsRule]:
    """Leave out the rules of a broken file that allow tools: the client no longer follows them."""
    return (rule for rule in rules if rule.effect is not Effect.ALLOWS_TOOL)


def _with_consequence(problem: Problem) -> Problem:
    return problem._replace(reason=f"{problem.reason}; using the last valid version")
