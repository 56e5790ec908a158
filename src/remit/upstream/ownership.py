"""The right to run a server that only one process may run, of all that share a store.

Whoever holds the lock of a server runs it: a file, or an advisory lock in PostgreSQL. When a holder dies, its
lock is free at once, but its process may need a moment to end: a new holder waits that long before it starts
its own.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Protocol

import anyio
from anyio.to_thread import run_sync

from remit.errors import OwnedElsewhereError, StoreError
from remit.files.file_lock import try_lock
from remit.upstream.failures import WAIT
from remit.upstream.upstream_model import Upstream

SETTLE = 1.5  # seconds that the process of an earlier holder may need to end

Lost = Callable[[], object]  # called from any thread


class ServerLocks(Protocol):
    """Locks that end with the process that holds them."""

    def take(self, name: str, lost: Lost) -> bool:
        """Take a lock, unless it is held; call `lost` when it can no longer be proven.

        Raises:
            StoreError: the store of the locks cannot be used.
        """
        ...

    def release(self, name: str) -> None: ...

    def close(self) -> None: ...  # releases all


class Ownership:
    """Whether this process may run one server."""

    def __init__(self, locks: ServerLocks, name: str, label: str, on_lost: Callable[[], object]) -> None:
        self._locks = locks
        self._name = name
        self._label = label
        self._on_lost = on_lost
        self._claiming = anyio.Lock()
        self._is_held = False
        self._settles_at = 0.0

    async def claim(self) -> None:
        """Take the lock, unless it is held already.

        Raises:
            OwnedElsewhereError: another process holds it, or the store cannot be used.
        """
        if self._is_held:
            return
        lost = partial(asyncio.get_running_loop().call_soon_threadsafe, self._lose)
        async with self._claiming:
            if self._is_held:
                return
            with anyio.CancelScope(shield=True):  # else a lock could be held that nobody knows of
                try:
                    self._is_held = await run_sync(self._locks.take, self._name, lost)
                except StoreError:
                    raise self._error(
                        "cannot run while Remit's store is down, because only one gateway may run it"
                    ) from None
            self._settles_at = anyio.current_time() + SETTLE
        if not self._is_held:
            raise self._error("runs at another gateway, and only one may run it")

    async def settle(self) -> None:
        """Wait until no process of an earlier holder can be left.

        Raises:
            OwnedElsewhereError: the lock was lost meanwhile.
        """
        await self.claim()
        await anyio.sleep_until(self._settles_at)
        await self.claim()

    async def release(self) -> None:
        """Let others take the lock; call this once the server has ended."""
        if self._is_held:
            self._is_held = False
            with anyio.CancelScope(shield=True):
                await run_sync(self._locks.release, self._name)

    def _lose(self) -> None:
        self._is_held = False
        self._on_lost()

    def _error(self, reason: str) -> OwnedElsewhereError:
        return OwnedElsewhereError(f"`{self._label}` {reason}", next_step=WAIT, reason=reason)


@asynccontextmanager
async def owned(upstream: Upstream, open_locks: Callable[[], ServerLocks] | None) -> AsyncGenerator[None]:
    """Own a server for a moment, if only one process may run it.

    Raises:
        OwnedElsewhereError: another process runs it, or the store cannot be used.
    """
    if upstream.lock is None or open_locks is None:
        yield
        return
    with closing(open_locks()) as locks:
        ownership = Ownership(locks, upstream.lock, upstream.label, lambda: None)
        await ownership.settle()
        yield


class ServerLockFiles:
    """Locks in one folder; the system releases those of a process that ends."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._guard = Lock()
        self._held: dict[str, int] = {}  # descriptors

    def take(self, name: str, lost: Lost) -> bool:  # noqa: ARG002 - a file's lock cannot be lost
        """Take a lock, unless it is held."""
        path = os.path.join(self._folder, f"{sha256(name.encode()).hexdigest()[:32]}.lock")
        with self._guard:
            if name in self._held:
                return False
            descriptor = self._locked(path)
            if descriptor is not None:
                self._held[name] = descriptor
            return descriptor is not None

    def release(self, name: str) -> None:
        """Let others take a lock."""
        with self._guard:
            descriptor = self._held.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Release all."""
        for name in [*self._held]:
            self.release(name)

    def _locked(self, path: str) -> int | None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        while True:
            try:
                return try_lock(path)
            except FileNotFoundError:
                pass
            try:
                return try_lock(path, is_new=True)
            except FileExistsError:  # another process was faster
                pass
