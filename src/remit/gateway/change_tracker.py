"""Tracks which lists and resources of an endpoint changed."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

import anyio

from remit.gateway.ports import EndpointChange


class ChangeSignal:
    """Wakes a task that waits for changes inside this process."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._event.set()  # the first check is due at once

    def set(self) -> None:
        """Report a change."""
        self._event.set()

    def from_threads(self) -> Callable[[], object]:
        """Return a function that reports a change from any thread, while this event loop runs."""
        return partial(asyncio.get_running_loop().call_soon_threadsafe, self.set)

    async def wait(self) -> None:
        """Wait for a change since the last wait."""
        await self._event.wait()
        self._event = anyio.Event()


class ChangeTracker:
    """Compares revisions to find the changes to announce."""

    def __init__(self, revisions: Mapping[EndpointChange, str]) -> None:
        self._before = dict(revisions)
        self._given: set[EndpointChange] = set()

    def give(self, change: EndpointChange, revision: str) -> None:
        """Record that a client received a list; the first time, use its revision as the baseline."""
        if change not in self._given:
            self._given.add(change)
            self._before[change] = revision

    def since(
        self, revisions: Mapping[EndpointChange, str], *, is_ready: bool = True
    ) -> list[EndpointChange]:
        """Return the changes since the last call.

        Until the endpoint is ready, skip lists that no client has received yet: clients that still wait for
        their first list would fetch it again for nothing.
        """
        changed = [
            change
            for change, revision in revisions.items()
            if self._before.get(change) != revision
            and (is_ready or change.uri is not None or change in self._given)
        ]
        self._before = dict(revisions)
        return changed
