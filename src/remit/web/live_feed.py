"""Tells pages that something may have changed, as server-sent events.

One thread watches the workspace for all pages, with a registry of its own, and only while a page listens.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import anyio

from remit.errors import RemitError

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.registry import Registry
    from remit.scanning.ports import Notifier

KEEP_ALIVE_SECONDS = 15.0  # between two events; also how soon a closed page is noticed
_RETRY_SECONDS = 1.0  # after watching failed, for example because the database was locked


class LiveFeed:
    """The changes of one workspace, for any number of pages."""

    def __init__(
        self,
        open_registry: Callable[[], Registry],
        locate: Callable[[Registry], Context],
        open_notifier: Callable[[], Notifier],
    ) -> None:
        self.open_registry = open_registry
        self.locate = locate
        self.open_notifier = open_notifier
        self._watch: _Watch | None = None
        self._pages = 0
        self._revision = 0
        self._changed = anyio.Event()
        self._is_ended = False

    async def events(self) -> AsyncIterator[bytes]:
        """Yield an event after each change, until the page is closed."""
        self._join()
        try:
            yield b"retry: 1000\n\n"
            seen = self._revision
            while not self._is_ended:
                if self._revision == seen:
                    with anyio.move_on_after(KEEP_ALIVE_SECONDS):
                        await self._changed.wait()
                if self._revision == seen:
                    yield b": no change\n\n"
                else:
                    seen = self._revision
                    yield f"event: change\ndata: {seen}\n\n".encode()
        finally:
            self._leave()

    def announce(self) -> None:
        """Tell all pages that something changed."""
        self._revision += 1
        self._changed.set()
        self._changed = anyio.Event()

    def end(self) -> None:
        """End all streams."""
        self._is_ended = True
        self.announce()

    def _join(self) -> None:
        self._pages += 1
        if self._watch is None:
            self._watch = _Watch(self, asyncio.get_running_loop())
            self._watch.start()

    def _leave(self) -> None:
        self._pages -= 1
        if self._pages == 0 and self._watch is not None:
            self._watch.stop()
            self._watch = None


class _Watch:
    """A thread that announces changes until it is stopped."""

    def __init__(self, feed: LiveFeed, loop: asyncio.AbstractEventLoop) -> None:
        self._feed = feed
        self._loop = loop
        self._stopped = threading.Event()
        self._notifier: Notifier | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, name="remit-web-watch", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        if self._notifier is not None:
            self._notifier.stop()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._feed.open_registry() as registry:
                    self._notifier = self._feed.open_notifier()  # one that ended cannot watch again
                    if not self._stopped.is_set():
                        self._follow(registry, self._notifier)
            except RemitError:  # for example a locked database
                self._stopped.wait(_RETRY_SECONDS)

    def _follow(self, registry: Registry, notifier: Notifier) -> None:
        for _ in registry.follow(self._feed.locate(registry), notifier):
            try:
                self._loop.call_soon_threadsafe(self._feed.announce)
            except RuntimeError:  # the loop is closed, because the process ends
                self.stop()
