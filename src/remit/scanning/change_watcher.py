"""Following: says that what is in force in a workspace may have changed; whoever follows then decides anew.

Files are watched only to be fast. What no file tells (a variable, a pushed state, an answer that expires) is
found by looking again, at a modest interval.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.context import Context
from remit.scanning.scanner import Scanner

if TYPE_CHECKING:
    from remit.scanning.ports import Notifier
    from remit.states.state_service import StateService
    from remit.store.ports import Store

STEP_SECONDS = 0.1  # between two looks at whether others wrote into the store, which take microseconds
STEPS = 10  # after which everything is looked at, whatever was noticed


class _Seen(NamedTuple):
    """All that decisions follow from, beside the clients' files."""

    revision: int
    context: Context  # with the rules, and a snapshot of the states


class ChangeWatcher:
    """Follows one context; what its own registry writes is no news to it.

    Each turn of `for` and of `async for` means that something may have changed since the turn before; the
    first comes at once. Between two turns only the watching is in a thread of its own.
    """

    def __init__(
        self, context: Context, scanner: Scanner, states: StateService, store: Store, notifier: Notifier
    ) -> None:
        self._context = context
        self._scanner = scanner
        self._states = states
        self._store = store
        self._notifier = notifier
        self._seen: _Seen | None = None

    def __iter__(self) -> Iterator[None]:
        try:
            while not self._notifier.is_stopped:
                if self.look():
                    yield
                    self._watch()  # what was decided about now may depend on other places
                for _ in range(STEPS):
                    if self._notifier.wait(STEP_SECONDS) or self._is_written:
                        break
        finally:
            self.stop()

    async def __aiter__(self) -> AsyncIterator[None]:
        import asyncio  # every command and hook loads this module, and few follow

        try:
            while not self._notifier.is_stopped:
                if self.look():
                    yield
                    self._watch()  # what was decided about now may depend on other places
                for _ in range(STEPS):
                    if await asyncio.to_thread(self._notifier.wait, STEP_SECONDS) or self._is_written:
                        break
        finally:
            self.stop()

    def stop(self) -> None:
        """End the following, from whatever thread."""
        self._notifier.stop()

    def look(self) -> bool:
        """Tell whether anything may have changed since the last look; at first, everything may have."""
        self._watch()  # before anything is looked at, so that nothing falls in between
        seen = _Seen(self._store.revision(), self._states.with_snapshot(self._context))
        before, self._seen = self._seen, seen
        return seen != before or not self._scanner.is_current(self._context)

    def _watch(self) -> None:
        self._notifier.watch((*self._scanner.paths(self._context), *self._states.paths(self._context)))

    @property
    def _is_written(self) -> bool:
        return self._seen is not None and self._store.revision() != self._seen.revision
