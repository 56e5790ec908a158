"""Reading again: what the clients' files say, and of one that is broken for the moment, said before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.decision.client_reading import ClientReading, StoredReading
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Changes, Declaration, Resolved
from remit.decision.kinds import Kind
from remit.decision.problems import Problem
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.decision.tool_names import REMIT
from remit.memory.own_server import is_own, own_offer, resolve_own_server
from remit.scanning.scanner import Presence

if TYPE_CHECKING:
    from remit.scanning.ports import Sources
    from remit.store.ports import Clock, Store


class Rereading:
    """Reads the clients' files, and keeps what they say."""

    def __init__(self, store: Store, sources: Sources, clock: Clock) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock

    def scan(self, views: Iterable[View], *, is_served: bool) -> tuple[Changes, list[Resolved]]:
        """Read and keep one view after the other; say what changed, and what is in force.

        To a gateway that serves them, its own server is in force as well.
        """
        changes: list[Changes] = []
        found: list[Resolved] = []
        for view in views:
            reading, resolved = self._read(view, is_served=is_served)
            changes.append(self._save(reading, resolved, view))
            found += resolved
        together = Changes(
            added=[item for each in changes for item in each.added],
            removed=[item for each in changes for item in each.removed],
            changed=[item for each in changes for item in each.changed],
        )
        return together, found

    def readings(self, views: Iterable[View]) -> Mapping[str, tuple[ClientReading, list[Resolved]]]:
        """Read everything, and keep it only when all is read; by client."""
        found = {view: self._read(view) for view in views}
        for view, (reading, resolved) in found.items():
            self._save(reading, resolved, view)
        return {view.client: read for view, read in found.items()}

    def in_force(self, views: Iterable[View]) -> list[Resolved]:
        """Read what is in force; nothing is stored."""
        return [item for view in views for item in self._read(view)[1]]

    def presences(self, views: Iterable[View]) -> list[Presence]:
        """Look which clients have files, and what these declare; nothing is stored."""
        return [_presence(self._sources.read(view)) for view in views]

    def _save(self, reading: ClientReading, resolved: Sequence[Resolved], view: View) -> Changes:
        """Keep what was read; of Remit's own server it is known what it lists."""
        changes = self._store.save(reading, resolved, view, self._clock())
        for declaration in filter(is_own, (*changes.added, *changes.changed)):
            self._store.servers.keep(declaration, own_offer(), view.workspace, self._clock())
        return changes

    def _read(self, view: View, *, is_served: bool = False) -> tuple[ClientReading, list[Resolved]]:
        reading, resolved = self._read_files(view)
        # What a gateway served here once, it may serve again: to whoever reads, it does not come and go.
        is_known = is_served or self._store.is_resolved(REMIT, view)
        own = resolve_own_server(view.client, resolved, is_served=is_known)
        return reading, resolved if own is None else [*resolved, own]

    def _read_files(self, view: View) -> tuple[ClientReading, list[Resolved]]:
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
        settings = ClientSettings(rules, is_headless=view.flags.is_headless, behavior=reading.behavior)
        return reading, resolve(declarations, settings)


def _presence(reading: ClientReading) -> Presence:
    servers = {item.key for item in reading.declarations if item.kind is Kind.MCP_SERVER}
    return Presence(
        client=reading.client, files=reading.files, servers=len(servers), problems=len(reading.problems)
    )


def _completed(reading: ClientReading, remembered: StoredReading) -> list[Declaration]:
    """Add what is remembered; where the way to a scope's files is lost, that alone is believed of it."""
    replaced = reading.lost & {item.scope for item in remembered.declarations}
    read = [item for item in reading.declarations if item.scope not in replaced]
    judged = [replace(item, was_denied=remembered.denied.get(item.key)) for item in read]
    return [*judged, *remembered.declarations]


def _with_consequence(problem: Problem) -> Problem:
    return problem._replace(reason=f"{problem.reason}; what it said when it was last read still holds")
