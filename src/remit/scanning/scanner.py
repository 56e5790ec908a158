"""Scanning: whether the clients' files changed, and what they say; read again only when they did."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from remit.decision.client_reading import ClientReading
    from remit.decision.context import Context
    from remit.decision.decide import ToolDecision
    from remit.decision.declarations import Changes, Key, Resolved
    from remit.decision.problems import Problem
    from remit.decision.projects import View
    from remit.scanning.ports import Sources
    from remit.scanning.reread import Rereading
    from remit.store.ports import Clock, Store
    from remit.upstream.launch.launch_facts import LaunchFacts


class Scan(NamedTuple):
    """What a scan found, and what is known now."""

    changes: Changes
    problems: Sequence[Problem]
    tools: Sequence[ToolDecision]
    is_first: bool = False  # nothing was known of this workspace


class Presence(NamedTuple):
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
        return not any(self._store.inputs(view) for view in self._views(context))

    def scan(self, context: Context) -> Changes:
        """Read everything again, and say what changed."""
        return self._rereading.scan(self._views(context), is_served=context.starts_servers)[0]

    def refresh(self, context: Context) -> None:
        """Read what changed since the last scan of this workspace, if anything did."""
        for view in self._changed(context):
            self._rereading.scan([view], is_served=context.starts_servers)

    def is_current(self, context: Context) -> bool:
        """Tell whether nothing changed since the last scan of this workspace."""
        return next(self._changed(context), None) is None

    def places(self, context: Context) -> list[str]:
        """Name the files and directories that the last scan looked at or for."""
        looked_at = [self._store.inputs(view) for view in self._views(context)]
        return [name for names in looked_at for name in names if os.path.isabs(name)]

    def resolved(self, context: Context) -> list[Resolved]:
        """Read everything again, for what is in the entries themselves and never stored."""
        return self._rereading.scan(self._views(context), is_served=context.starts_servers)[1]

    def readings(self, context: Context) -> Mapping[str, tuple[ClientReading, list[Resolved]]]:
        """Read everything again and keep it only when all is read; by client."""
        return self._rereading.readings(self._views(context))

    def problems(self, context: Context) -> list[Problem]:
        """List what was wrong in the clients' files when they were last read."""
        return [problem for view in self._views(context) for problem in self._store.problems(view)]

    def presences(self, context: Context) -> list[Presence]:
        """Look which clients have files here, and what these declare; nothing is stored."""
        return self._rereading.presences(self._views(context))

    def facts(self, resolved: Sequence[Resolved], context: Context) -> LaunchFacts:
        """Find out what the machine says of declarations."""
        return self._sources.examine([item.declaration for item in resolved], context.workspace)

    def obstacles(self, context: Context) -> Mapping[Key, str]:
        """Say of the servers in force why they cannot be started here, as far as looking tells."""
        from remit.upstream.launch.start_obstacles import start_obstacles

        resolved = self._rereading.in_force(self._views(context))
        return start_obstacles(resolved, self.facts(resolved, context), by_remit=context.starts_servers)

    def _views(self, context: Context) -> list[View]:
        return [context.view(client) for client in self.clients(context)]

    def _changed(self, context: Context) -> Iterator[View]:
        for view in self._views(context):
            if not self._sources.is_unchanged(self._store.inputs(view)):
                yield view

    @cached_property
    def _rereading(self) -> Rereading:
        from remit.scanning.reread import Rereading  # mostly, nothing changed

        return Rereading(self._store, self._sources, self._clock)
