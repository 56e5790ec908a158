"""Watches files and the store, and announces changes of an endpoint's lists.

A thread waits for the operating system to report changes, so an idle endpoint does not poll. Only a slow
fallback checks for changes that no file shows: a state that expires, or a directory that cannot be watched.
"""

import logging
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio import CapacityLimiter, to_thread

from remit.errors import RemitError
from remit.gateway.change_tracker import ChangeSignal, ChangeTracker
from remit.gateway.current_lists import CurrentLists
from remit.gateway.inventory import Inventory
from remit.gateway.inventory_refresh import InventoryRefresher
from remit.gateway.ports import EndpointChange, ListKind
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.protocol.broadcast import Broadcaster

if TYPE_CHECKING:
    from remit.scanning.ports import Notifier

FALLBACK = 10.0  # seconds between two checks while nothing is reported
_TRIES = 3  # checks in a row, if each finds other directories to watch
_log = logging.getLogger("remit.gateway")


class ChangeFeed:
    """Announces each change of an endpoint's lists once, while there are listeners."""

    def __init__(
        self,
        worker: RegistryWorker[Inventory],
        lists: CurrentLists,
        refresher: InventoryRefresher,
        signal: ChangeSignal,
        open_notifier: Callable[[], "Notifier"],
    ) -> None:
        self._worker = worker
        self._lists = lists
        self._refresher = refresher
        self._signal = signal
        self._open_notifier = open_notifier
        self._announcer = Broadcaster[EndpointChange]()
        self._tracker = ChangeTracker(lists.last.revisions())
        self._places: Sequence[str] = ()
        self._store_files: frozenset[str] = frozenset()
        self._looking = anyio.Lock()
        self._heard = anyio.Event()
        self._is_ready = False
        self._notifier: Notifier | None = None

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[AsyncIterator[EndpointChange]]:
        """Listen for changes from now on."""
        if not self._announcer.has_listeners:  # a new listener knows the lists that were published last
            self._tracker.since(self._lists.last.revisions())
        async with self._announcer.listen() as changes:
            self._heard.set()
            self._signal.set()
            yield changes

    def announce(self, change: EndpointChange) -> None:
        """Announce a change to all listeners."""
        self._announcer.publish(change)

    def note_sent(self, kind: ListKind, lists: PublishedLists) -> None:
        """Record that a client received a list, and announce its changes from now on."""
        change = EndpointChange(kind)
        self._tracker.give(change, lists.revisions()[change])

    async def run(self) -> None:
        """Check for changes after each signal from this process, until cancelled."""
        while True:
            with anyio.move_on_after(self._refresher.patience):
                await self._signal.wait()
            await self._look()

    def stop(self) -> None:
        """Stop the thread that waits for changes."""
        if self._notifier is not None:
            self._notifier.stop()

    async def watch_files(self) -> None:
        """Check for changes whenever files or the store change, from the first listener on, until stopped."""
        await self._heard.wait()
        notifier = self._notifier = self._open_notifier()
        thread = CapacityLimiter(1)
        while not notifier.is_stopped:
            for _ in range(_TRIES):
                places = await self._look_for_places()
                if not await to_thread.run_sync(notifier.watch, places, limiter=thread):
                    break
            while True:
                changed = await to_thread.run_sync(_changed_paths, notifier, limiter=thread)
                is_store_alone = self._store_files.issuperset(changed)  # each recorded call is written there
                if notifier.is_stopped or not is_store_alone or await self._look():
                    break

    async def _look(self) -> bool:
        """Announce changes, and return whether the lists have a new catalog."""
        async with self._looking:
            # The last server's lists arrive before the refresher is idle.
            was_ready, self._is_ready = self._is_ready, self._is_ready or self._refresher.is_settled
            if not self._announcer.has_listeners:
                return False
            before = self._lists.last.catalog
            try:
                lists = await self._lists.refresh()
            except RemitError as error:
                _log.warning("could not update the lists: %s", error)
                return False
            for change in self._tracker.since(lists.revisions(), is_ready=was_ready):
                self._announcer.publish(change)
            return lists.catalog is not before

    async def _look_for_places(self) -> Sequence[str]:
        """Check for changes, and return the paths that affect the lists."""
        await self._look()
        try:
            self._places = await self._worker.run(Inventory.places)
            self._store_files = await self._worker.run(_store_files)
        except RemitError as error:
            _log.warning("file changes are noticed late: %s", error)
        return self._places


def _changed_paths(notifier: "Notifier") -> Collection[str]:
    """Wait for changes, up to the fallback interval."""
    end = time.monotonic() + FALLBACK
    while not notifier.is_stopped and (left := end - time.monotonic()) > 0:
        if changed := notifier.wait(left):
            return changed
    return ()


def _store_files(inventory: Inventory) -> frozenset[str]:
    """Return the files of the store as the system reports them: with links resolved."""
    return frozenset(map(os.path.realpath, inventory.store_files()))
