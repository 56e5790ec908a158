"""Watches directories for changes, as reported by the operating system."""

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
else:  # pragma: no cover - of other systems
    from remit.files.polled_watch import PolledWatch as UsualWatch

MOST_DIRECTORIES = 1_000
_GROUPED = 0.15  # seconds for which changes are gathered, at most
_QUIET = 0.03  # seconds without a change that end the gathering

Directories = dict[str, int]  # with what the file system knows each by: a new one may have an old name


class DirectoryWatch(Protocol):
    """Some watched directories."""

    def wait(self, seconds: float, *, quiet: float, most: float) -> set[str]: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


class DirectoryNotifier:
    """Tells of what happens at places: in the directories around them, and of a directory, in it.

    A directory is watched, and not a file, because editors put new files in the place of old ones; and it is
    not watched with all below it, because that may be a whole machine.
    """

    def __init__(self, open: Callable[[Collection[str]], DirectoryWatch] = UsualWatch) -> None:
        self._open = open
        self._stopped = Event()
        self._lock = Lock()  # one thread waits, and another may stop it
        self._places: frozenset[str] = frozenset()
        self._ways: frozenset[str] = frozenset()  # the places with the directories that lead to them
        self._directories: Directories = {}
        self._watching: DirectoryWatch | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing will be told any more."""
        return self._stopped.is_set()

    def watch(self, places: Collection[str]) -> bool:
        """Watch these places from now on, and no others; tell whether other directories are watched now.

        A place may not exist yet.
        """
        if self.is_stopped:
            return False
        self._name(frozenset(places))
        directories = _directories(self._places)
        if directories == self._directories:
            return False
        self._directories = directories
        watching = None
        with suppress(OSError, RuntimeError):  # without watches, callers look again after a while
            watching = self._open([*directories])
        self._replace(watching)
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until something happens at one of the places, though not longer than that, and tell if it did.

        Raises:
            KeyboardInterrupt: the user wants no more of it.
        """
        watching = self._watching
        if watching is None or self.is_stopped:
            self._stopped.wait(seconds)
            return False
        changed = watching.wait(seconds, quiet=_QUIET, most=_GROUPED)
        if self.is_stopped:
            self._replace(None)
            return False
        return any(map(self._concerns, changed))

    def stop(self) -> None:
        """Watch no more; whoever waits, from whatever thread, waits no longer."""
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
    """Name the places as they are without links: what happens to a file happens where it really is."""
    real = {folder: os.path.realpath(folder) for folder in {os.path.dirname(place) for place in places}}
    return frozenset(
        os.path.realpath(place)
        if os.path.islink(place)
        else os.path.join(real[os.path.dirname(place)], os.path.basename(place))
        for place in places
    )


def _directories(places: Collection[str]) -> Directories:
    """Find the directories to watch: each place that is one, and the nearest around each that exists."""
    known: dict[str, int | None] = {}
    for place in places:
        _number(place, known)
        around = os.path.dirname(place)
        while _number(around, known) is None and around != os.path.dirname(around):
            around = os.path.dirname(around)
    found = ((path, number) for path, number in sorted(known.items()) if number is not None)
    return dict(islice(found, MOST_DIRECTORIES))


def _number(path: str, known: dict[str, int | None]) -> int | None:
    """Tell a directory's number in its file system; None: it is none."""
    if path not in known:
        try:
            found = os.stat(path)
            known[path] = found.st_ino if stat.S_ISDIR(found.st_mode) else None
        except (OSError, ValueError):
            known[path] = None
    return known[path]
