"""Waiting for the next change of a listing."""

from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING

from remit.decision import Context, ToolDecision
from remit.files import look_at, wait_for_change

if TYPE_CHECKING:
    from remit.catalog.registry import Registry

_SECONDS = 1.0  # between two looks for what no file shows: a variable, a pushed state, an expired result


class Watcher:
    """Watches one context: each iteration means that its decisions changed; the first comes at once.

    What the registry writes itself is no change, because decisions are compared.
    """

    def __init__(self, registry: "Registry", context: Context) -> None:
        self._registry = registry
        self._context = context
        self._wake = Event()
        self._is_stopped = False
        self._listed: Sequence[ToolDecision] | None = None
        self._store_files = registry.store.database.follow(self._wake.set)

    def __iter__(self) -> Iterator[None]:
        while not self._is_stopped:
            paths = [*self._registry.paths(self._context), *self._store_files]
            marks = look_at(paths)  # first watch, then look: no change is missed
            if self.look():
                yield
            wait_for_change(marks, self._wake, _SECONDS, since=marks)
            self._wake.clear()

    def look(self) -> bool:
        """Return whether decisions changed since the last look; always true at first."""
        before, self._listed = self._listed, self._registry.tools(self._context)
        return before is None or before != self._listed

    def stop(self) -> None:
        """Stop watching, from any thread."""
        self._is_stopped = True
        self._wake.set()
