"""Tells pages that something may have changed, as server-sent events.

The workspace is watched once for all pages, and only while a page listens. It is watched through the registry
that the pages use: what they write themselves is no news, or a page that stores what it reads would be
fetched again and again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from remit.catalog.contexts import ALL_CLIENTS
from remit.errors import RemitError
from remit.scanning.change_watcher import STEP_SECONDS, ChangeWatcher

if TYPE_CHECKING:
    from remit.cli.options import WorkspaceOptions
    from remit.gateway.registry_worker import RegistryWorker
    from remit.scanning.ports import Notifier
    from remit.web.page_model import PageSources

KEEP_ALIVE_SECONDS = 15.0  # between two events; also how soon a closed page is noticed
PAUSE_SECONDS = 0.3  # between two changes: each makes every open page ask again


class EventStreams:
    """Tells any number of pages about changes."""

    def __init__(self) -> None:
        self.pages = 0
        self.joined = anyio.Event()
        self._revision = 0
        self._changed = anyio.Event()
        self._is_ended = False

    async def events(self) -> AsyncIterator[bytes]:
        """Yield an event after each change, until the page is closed."""
        self.pages += 1
        self.joined.set()
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
            self.pages -= 1

    def announce(self) -> None:
        """Tell all pages that something changed."""
        self._revision += 1
        self._changed.set()
        self._changed = anyio.Event()

    async def end(self) -> None:
        """End all streams."""
        self._is_ended = True
        self.announce()


class LiveFeed:
    """Follows the changes of one workspace."""

    def __init__(
        self,
        sources: RegistryWorker[PageSources],
        options: WorkspaceOptions,
        open_notifier: Callable[[], Notifier],
    ) -> None:
        self._sources = sources
        self._options = options._replace(client=ALL_CLIENTS)
        self._open_notifier = open_notifier
        self.streams = EventStreams()

    async def watch(self) -> None:
        """Announce changes while pages listen, until cancelled."""
        while True:
            self.streams.joined = anyio.Event()
            if not self.streams.pages:
                await self.streams.joined.wait()
            notifier = self._open_notifier()
            try:
                await self._follow(notifier)
            except RemitError:  # for example a locked database
                await anyio.sleep(1)
            finally:
                notifier.stop()

    async def _follow(self, notifier: Notifier) -> None:
        watcher = await self._sources.run(self._watcher, notifier)
        while self.streams.pages:
            if await self._sources.run(_look, watcher):
                self.streams.announce()
                await anyio.sleep(PAUSE_SECONDS)
            for _ in range(watcher.steps):
                wait = partial(notifier.wait, STEP_SECONDS)
                if await anyio.to_thread.run_sync(wait, abandon_on_cancel=True):
                    break
                if self._sources.run_now(_is_written, watcher):
                    break

    def _watcher(self, sources: PageSources, notifier: Notifier) -> ChangeWatcher:
        return sources.registry.follow(self._options.context(sources.registry), notifier)


def _look(_: PageSources, watcher: ChangeWatcher) -> bool:
    return watcher.look()


def _is_written(_: PageSources, watcher: ChangeWatcher) -> bool:
    return watcher.is_written
