"""Reading again: what the clients' files say, and of one that is broken for the moment, said before."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from remit.core.client_settings import ClientSettings
from remit.core.declarations import Changes, Declaration, Resolved
from remit.core.kinds import Kind
from remit.core.problems import Problem
from remit.core.reading import Reading, Remembered
from remit.core.resolve import resolve
from remit.core.views import View
from remit.ports import Clock, Sources, Store
from remit.scanning import Presence


class Rereading:
    """Reads the clients' files, and keeps what they say."""

    def __init__(self, store: Store, sources: Sources, clock: Clock) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock

    def scan(self, views: Iterable[View]) -> tuple[Changes, list[Resolved]]:
        """Read and keep one view after the other; say what changed, and what is in force."""
        changes: list[Changes] = []
        found: list[Resolved] = []
        for view in views:
            reading, resolved = self._read(view)
            changes.append(self._store.save(reading, resolved, view, self._clock()))
            found += resolved
        together = Changes(
            added=[item for each in changes for item in each.added],
            removed=[item for each in changes for item in each.removed],
            changed=[item for each in changes for item in each.changed],
        )
        return together, found

    def readings(self, views: Iterable[View]) -> Mapping[str, tuple[Reading, list[Resolved]]]:
        """Read everything, and keep it only when all is read; by client."""
        found = {view: self._read(view) for view in views}
        for view, (reading, resolved) in found.items():
            self._store.save(reading, resolved, view, self._clock())
        return {view.client: read for view, read in found.items()}

    def in_force(self, views: Iterable[View]) -> list[Resolved]:
        """Read what is in force; nothing is stored."""
        return [item for view in views for item in self._read(view)[1]]

    def presences(self, views: Iterable[View]) -> list[Presence]:
        """Look which clients have files, and what these declare; nothing is stored."""
        return [_presence(self._sources.read(view)) for view in views]

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
    return problem._replace(reason=f"{problem.reason}; what it said when it was last read still holds")
