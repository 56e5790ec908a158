"""Watches directories for changes reported by the operating system."""

import os
import stat
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import islice
from threading import Event, Lock
from typing import Protocol

from remit.decision.scopes import ancestors

if sys.platform == "linux":
    from remit.files.inotify import Inotify as UsualWatch
else:  # pragma: no cover - other systems
    from remit.files.polled_watch import PolledWatch as UsualWatch

MOST_DIRECTORIES = 1_000
_GROUPED = 0.15  # seconds: longest time to collect changes
_QUIET = 0.03  # seconds without a change that end the collection

Directories = dict[str, int]  # with inode numbers: a directory may be replaced by one of the same name


class DirectoryWatch(Protocol):
    """A watch on some directories."""

    def wait(self, seconds: float, *, quiet: float, most: float) -> set[str]: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


class DirectoryNotifier:
    """Reports changes at paths, and of the entries directly in a directory.

    It watches directories instead of files, because editors replace files. It does not watch recursively,
    because a directory may contain the whole file system.
    """

    def __init__(self, open: Callable[[Collection[str]], DirectoryWatch] = UsualWatch) -> None:
        self._open = open
        self._stopped = Event()
        self._lock = Lock()  # one thread waits while another may stop it
        self._places: frozenset[str] = frozenset()
        self._ways: frozenset[str] = frozenset()  # the places with their parent directories
        self._directories: Directories = {}
        self._watching: DirectoryWatch | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether the notifier was stopped."""
        return self._stopped.is_set()

    def watch(self, places: Collection[str]) -> bool:
        """Watch exactly these paths, which need not exist; tell whether the watched directories changed."""
        if self.is_stopped:
            return False
        self._name(frozenset(places))
        directories = _directories(self._places)
        if directories == self._directories:
            return False
        self._directories = directories
        watching = None
        with suppress(OSError, RuntimeError):  # without watches, callers poll
            watching = self._open([*directories])
        self._replace(watching)
        return True

    def wait(self, seconds: float) -> Collection[str]:
        """Wait for a change for at most this long, and return the paths that changed.

        Raises:
            KeyboardInterrupt: the user interrupts the wait.
        """
        watching = self._watching
        if watching is None or self.is_stopped:
            self._stopped.wait(seconds)
            return ()
        changed = watching.wait(seconds, quiet=_QUIET, most=_GROUPED)
        if self.is_stopped:
            self._replace(None)
            return ()
        return [path for path in changed if self._concerns(path)]

    def stop(self) -> None:
        """Stop watching, and end any wait, from any thread."""
        with self._lock:
            self._stopped.set()
            if self._watching is not None:
                self._watching.wake()

    def _name(self, places: frozenset[str]) -> None:
        everywhere = places | _led_to(places)
        if everywhere != self._places:
            self._places = everywhere
            self._ways = frozenset(each for place in everywhere for each in ancestors(place))

    def _concerns(self, path: str) -> bool:
        return path in self._ways or os.path.dirname(path) in self._places

    def _replace(self, watching: DirectoryWatch | None) -> None:
        with self._lock:
            before, self._watching = self._watching, watching
        if before is not None:
            before.close()


def _led_to(places: Collection[str]) -> frozenset[str]:
    """Resolve links: the system reports changes at the real path."""
    real = {folder: os.path.realpath(folder) for folder in {os.path.dirname(place) for place in places}}
    return frozenset(
        os.path.realpath(place)
        if os.path.islink(place)
        else os.path.join(real[os.path.dirname(place)], os.path.basename(place))
        for place in places
    )


def _directories(places: Collection[str]) -> Directories:
    """Find the directories to watch: the places that are directories, and each place's nearest parent."""
    known: dict[str, int | None] = {}
    for place in places:
        _number(place, known)
        around = os.path.dirname(place)
        while _number(around, known) is None and around != os.path.dirname(around):
            around = os.path.dirname(around)
    found = ((path, number) for path, number in sorted(known.items()) if number is not None)
    return dict(islice(found, MOST_DIRECTORIES))


def _number(path: str, known: dict[str, int | None]) -> int | None:
    """Return the inode number of a directory; None for anything else."""
    if path not in known:
        try:
            found = os.stat(path)
            known[path] = found.st_ino if stat.S_ISDIR(found.st_mode) else None
        except (OSError, ValueError):
            known[path] = None
    return known[path]
