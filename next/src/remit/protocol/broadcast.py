"""Broadcasts items to listeners, and coalesces repeats for slow ones."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar, cast

import anyio

T = TypeVar("T")

MAX_PENDING = 1_000  # distinct items that a slow listener has not received yet; later ones are dropped


class CoalescingQueue(Generic[T]):
    """A bounded FIFO queue in which an item replaces a pending one with the same key."""

    def __init__(self, key: Callable[[T], Hashable] | None = None, *, limit: int = MAX_PENDING) -> None:
        self._key = key
        self._limit = limit
        self._pending: dict[Hashable, T] = {}
        self._has_arrived = anyio.Event()

    def __bool__(self) -> bool:
        return bool(self._pending)

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._pending:
            self._has_arrived = anyio.Event()
            await self._has_arrived.wait()
        return self.pop()

    def put(self, item: T) -> None:
        """Add an item without waiting."""
        key = cast("Hashable", item) if self._key is None else self._key(item)
        if key in self._pending or len(self._pending) < self._limit:
            self._pending[key] = item
        self._has_arrived.set()

    def pop(self) -> T:
        """Remove the oldest item."""
        return self._pending.pop(next(iter(self._pending)))


class Broadcaster(Generic[T]):
    """Delivers items to every listener without waiting for any of them."""

    def __init__(self, key: Callable[[T], Hashable] | None = None) -> None:
        self._key = key
        self._queues: list[CoalescingQueue[T]] = []

    @property
    def has_listeners(self) -> bool:
        """Whether there are listeners."""
        return bool(self._queues)

    def publish(self, item: T) -> None:
        """Deliver an item to every listener."""
        for queue in self._queues:
            queue.put(item)

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[AsyncIterator[T]]:
        """Receive items while the block runs."""
        queue = CoalescingQueue(self._key)
        self._queues.append(queue)
        try:
            yield queue
        finally:
            self._queues.remove(queue)
