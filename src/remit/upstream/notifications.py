"""What servers say by themselves, for all who listen: each change once, however slow the listener is."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio

from remit.upstream.ports import UpstreamNotification

MAX_PENDING = 1_000  # different ones that a listener has not taken yet


class Notices:
    """Hands what was heard to everyone."""

    def __init__(self) -> None:
        self._listeners: list[_Listener] = []

    def tell(self, notice: UpstreamNotification) -> None:
        """Tell everyone, without waiting for anyone."""
        for listener in self._listeners:
            listener.add(notice)

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[AsyncIterator[UpstreamNotification]]:
        """Listen while the block lasts."""
        listener = _Listener()
        self._listeners.append(listener)
        try:
            yield listener
        finally:
            self._listeners.remove(listener)


class _Listener:
    def __init__(self) -> None:
        self._pending: dict[object, UpstreamNotification] = {}
        self._news = anyio.Event()

    def add(self, notice: UpstreamNotification) -> None:
        name = (notice.key, notice.method, str(notice.params.get("uri")))
        if name in self._pending or len(self._pending) < MAX_PENDING:
            self._pending[name] = notice
        self._news.set()

    def __aiter__(self) -> AsyncIterator[UpstreamNotification]:
        return self

    async def __anext__(self) -> UpstreamNotification:
        while not self._pending:
            self._news = anyio.Event()
            await self._news.wait()
        return self._pending.pop(next(iter(self._pending)))
