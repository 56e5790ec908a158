"""The change watcher: reports that the available tools of a workspace may have changed.

Watching files makes it fast. It finds other changes (a variable, a pushed state, an expired result) by
checking at an interval: a longer one if the store is a server, which announces what others write.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.context import Context
from remit.scanning.scanner import Scanner

if TYPE_CHECKING:
    from remit.scanning.ports import Notifier
    from remit.states.state_service import StateService
    from remit.store.sql_store import SqlStore

STEP_SECONDS = 0.1  # between two checks for writes to the store, which take microseconds
STEPS = 10  # between two full checks
STEPS_WITH_SERVER = 100  # the same, if each check asks a server


class _Seen(NamedTuple):
    """The inputs of decisions, except the clients' files."""

    revision: int
    context: Context  # with the rules, and a snapshot of the states


class ChangeWatcher:
    """Watches one context, ignoring the writes of its own registry.

    Each iteration of `for` or `async for` means that something may have changed since the previous one; the
    first comes at once. With `async for`, only the waiting runs in another thread.
    """

    def __init__(
        self, context: Context, scanner: Scanner, states: StateService, store: SqlStore, notifier: Notifier
    ) -> None:
        self._context = context
        self._scanner = scanner
        self._states = states
        self._store = store
        self._notifier = notifier
        self._seen: _Seen | None = None
        self.steps = STEPS_WITH_SERVER if store.database.listen() else STEPS

    def __iter__(self) -> Iterator[None]:
        try:
            while not self._notifier.is_stopped:
                if self.look():
                    yield
                    self._watch()  # the new decisions may depend on other paths
                for _ in range(self.steps):
                    if self._notifier.wait(STEP_SECONDS) or self.is_written:
                        break
        finally:
            self.stop()

    async def __aiter__(self) -> AsyncIterator[None]:
        import asyncio  # imported late: not needed by `for`

        try:
            while not self._notifier.is_stopped:
                if self.look():
                    yield
                    self._watch()  # the new decisions may depend on other paths
                for _ in range(self.steps):
                    if await asyncio.to_thread(self._notifier.wait, STEP_SECONDS) or self.is_written:
                        break
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop watching, from any thread."""
        self._notifier.stop()

    def look(self) -> bool:
        """Tell whether anything may have changed since the last check; always true at first."""
        self._watch()  # first, so no change is missed
        seen = _Seen(self._store.database.revision(), self._states.with_snapshot(self._context))
        before, self._seen = self._seen, seen
        return seen != before or not self._scanner.is_current(self._context)

    def _watch(self) -> None:
        self._notifier.watch((*self._scanner.paths(self._context), *self._states.paths(self._context)))

    @property
    def is_written(self) -> bool:
        """Whether another registry wrote to the store since the last check; takes microseconds."""
        return self._seen is not None and self._store.database.revision() != self._seen.revision
