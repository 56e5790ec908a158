"""Cancels long work from another thread, including a request that is under way."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock


class Cancellation:
    """A request to stop, made by one thread and obeyed by another."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_set = False
        self._interrupt: Callable[[], None] | None = None

    @property
    def is_set(self) -> bool:
        """Whether the work was cancelled."""
        return self._is_set

    def cancel(self) -> None:
        """Cancel the work and interrupt what it waits for."""
        with self._lock:
            self._is_set = True
            if self._interrupt is not None:
                self._interrupt()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Generator[None]:
        """Call a function when the work is cancelled, at once if it already is."""
        with self._lock:
            self._interrupt = interrupt
            if self._is_set:
                interrupt()
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None
