"""Scanning: what the clients' files say now, and of a file that is broken for the moment, said before."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from remit.core.client_settings import ClientSettings
from remit.core.decide import Context, Listed
from remit.core.declarations import Changes, Declaration, Key, Problem, Resolved
from remit.core.findings import Facts, Patient
from remit.core.kinds import Kind
from remit.core.obstacles import obstacles
from remit.core.reading import Reading, Remembered
from remit.core.resolve import resolve
from remit.core.views import View
from remit.ports import Clock, Sources, Store


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


class Scanner:
    """Reads the clients' files for a workspace, and keeps what they say."""

    def __init__(self, store: Store, sources: Sources, clock: Clock) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock

    def clients(self, context: Context) -> Sequence[str]:
        """Name the clients that a context asks about."""
        return self._sources.clients if context.client is None else (context.client,)

    def is_first(self, context: Context) -> bool:
        """Tell whether nothing was ever read for this workspace."""
        return not any(self._store.inputs(context.view(client)) for client in self.clients(context))

    def scan(self, context: Context) -> Changes:
        """Read everything again, and say what changed."""
        changes = [self._scan(client, context)[0] for client in self.clients(context)]
        return Changes(
            added=[item for each in changes for item in each.added],
            removed=[item for each in changes for item in each.removed],
            changed=[item for each in changes for item in each.changed],
        )

    def refresh(self, context: Context) -> None:
        """Read what changed since the last scan of this workspace, if anything did."""
        for client in self._changed(context):
            self._scan(client, context)

    def is_current(self, context: Context) -> bool:
        """Tell whether nothing changed since the last scan of this workspace."""
        return next(self._changed(context), None) is None

    def places(self, context: Context) -> list[str]:
        """Name the files and directories that the last scan looked at or for."""
        looked_at = [self._store.inputs(context.view(client)) for client in self.clients(context)]
        return [name for names in looked_at for name in names if os.path.isabs(name)]

    def resolved(self, context: Context) -> list[Resolved]:
        """Read everything again, for what is in the entries themselves and never stored."""
        return [item for client in self.clients(context) for item in self._scan(client, context)[1]]

    def readings(self, context: Context) -> Mapping[str, tuple[Reading, list[Resolved]]]:
        """Read everything again and keep it only when all is read; by client."""
        found = {client: self._read(context.view(client)) for client in self.clients(context)}
        for client, (reading, resolved) in found.items():
            self._store.save(reading, resolved, context.view(client), self._clock())
        return found

    def problems(self, context: Context) -> list[Problem]:
        """List what was wrong in the clients' files when they were last read."""
        found = [self._store.problems(context.view(client)) for client in self.clients(context)]
        return [problem for problems in found for problem in problems]

    def presences(self, context: Context) -> list[Presence]:
        """Look which clients have files here, and what these declare; nothing is stored."""
        return [_presence(self._sources.read(context.view(client))) for client in self.clients(context)]

    def facts(self, resolved: Sequence[Resolved], context: Context) -> Facts:
        """Find out what the machine says of declarations."""
        return self._sources.examine([item.declaration for item in resolved], context.workspace)

    def obstacles(self, context: Context) -> Mapping[Key, str]:
        """Say of the servers in force why they cannot be started here, as far as looking tells."""
        resolved = [item for client in self.clients(context) for item in self._read(context.view(client))[1]]
        return obstacles(Patient(context=context, resolved=resolved, facts=self.facts(resolved, context)))

    def _changed(self, context: Context) -> Iterator[str]:
        for client in self.clients(context):
            if not self._sources.is_unchanged(self._store.inputs(context.view(client))):
                yield client

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
