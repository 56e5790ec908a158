"""Announcing: tells those who listen what changed, each thing once however often it did."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from remit.gateway.ports import EndpointChange

_MOST_WAITING = 1_000  # changes that one who is slow has not heard of yet


class Announcer:
    """Passes changes on to all who listen."""

    def __init__(self) -> None:
        self._listeners: set[_Listener] = set()

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def announce(self, change: EndpointChange) -> None:
        """Tell all who listen."""
        for each in self._listeners:
            each.hear(change)

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[AsyncIterator[EndpointChange]]:
        """Listen to what changes from now on."""
        listener = _Listener()
        self._listeners.add(listener)
        try:
            yield listener.changes()
        finally:
            self._listeners.discard(listener)


class _Listener:
    """One who listens: what it has not heard of yet, without repetition."""

    def __init__(self) -> None:
        self._waiting: dict[EndpointChange, None] = {}
        self._bell = anyio.Event()

    def hear(self, change: EndpointChange) -> None:
        if len(self._waiting) < _MOST_WAITING:
            self._waiting[change] = None
        self._bell.set()

    async def changes(self) -> AsyncIterator[EndpointChange]:
        while True:
            await self._bell.wait()
            self._bell = anyio.Event()
            heard, self._waiting = self._waiting, {}
            for change in heard:
                yield change


class ChangeTracker:
    """Tells what changed of that which may be announced, since it was last asked."""

    def __init__(self, revisions: Mapping[EndpointChange, str]) -> None:
        self._before = dict(revisions)
        self._given: set[EndpointChange] = set()

    def give(self, change: EndpointChange, revision: str) -> None:
        """Take note that a list was given; the first time, that is the one that another differs from."""
        if change not in self._given:
            self._given.add(change)
            self._before[change] = revision

    def since(
        self, revisions: Mapping[EndpointChange, str], *, is_ready: bool = True
    ) -> list[EndpointChange]:
        """List what is different now.

        While things are made ready, of lists only those that were given: who waits for a first one would ask
        again for nothing.
        """
        changed = [
            change
            for change, revision in revisions.items()
            if self._before.get(change) != revision
            and (is_ready or change.uri is not None or change in self._given)
        ]
        self._before = dict(revisions)
        return changed
