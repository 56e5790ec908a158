"""Waits for changes in directories with `watchfiles`, where the system has no inotify."""

from collections.abc import Collection
from threading import Event

from watchfiles._rust_notify import RustNotify


class PolledWatch:
    """Watches some directories; it looks again at short intervals.

    Raises:
        OSError: the machine has no more watches to give.
    """

    def __init__(self, directories: Collection[str]) -> None:
        self._stopped = Event()
        self._notify = RustNotify([*directories], False, False, 0, False, True)

    def wait(self, seconds: float, *, quiet: float, most: float) -> set[str]:
        """Wait for changes, and name the paths; gather more until none comes for a while, or it took long.

        Raises:
            KeyboardInterrupt: the user wants no more of it.
        """
        grouped, step, timeout = (max(1, int(1000 * each)) for each in (most, quiet, seconds))
        changed = self._notify.watch(grouped, step, timeout, self._stopped)
        if changed == "signal":
            raise KeyboardInterrupt
        return set() if isinstance(changed, str) else {path for _, path in changed}

    def wake(self) -> None:
        """End the wait, from any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Watch no more."""
        self._notify.close()
