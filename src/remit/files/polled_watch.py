"""Waits for changes in directories with `watchfiles`, on systems without inotify."""

import time
from collections.abc import Collection
from threading import Event

from watchfiles import watch

_POLL = 50  # milliseconds between two looks of `watchfiles`


class PolledWatch:
    """Watches some directories, but not those below them.

    Raises:
        OSError: the system has no watches left.
    """

    def __init__(self, directories: Collection[str]) -> None:
        self._stopped = Event()
        self._changes = watch(
            *directories,
            watch_filter=None,
            stop_event=self._stopped,
            rust_timeout=_POLL,
            yield_on_timeout=True,
            recursive=False,
            ignore_permission_denied=True,
        )
        next(self._changes, None)  # starts watching

    def wait(self, seconds: float, *, quiet: float, most: float) -> set[str]:  # noqa: ARG002 - `watch` gathers
        """Wait for changes and return their paths, or nothing after a time.

        Raises:
            KeyboardInterrupt: the user interrupts the wait.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            changes = next(self._changes, None)
            if changes is None:
                break
            if changes:
                return {path for _, path in changes}
        return set()

    def wake(self) -> None:
        """End the wait, from any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Stop watching."""
        self._changes.close()
