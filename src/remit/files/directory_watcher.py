"""Watches directories for what happens in them, as far as the machine tells."""

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from threading import Event

from watchfiles._rust_notify import RustNotify

from remit.decision.scopes import ancestors

MOST_DIRECTORIES = 1_000
_GROUPED_MS = 150  # for which what happens at once is put together, at most
_QUIET_MS = 50  # after which nothing more is waited for

Directories = dict[str, int]  # with what the file system knows each by: a new one may have an old name


class DirectoryNotifier:
    """Tells of what happens at places: in the directories around them, and of a directory, in it.

    A directory is watched, and not a file, because editors put new files in the place of old ones; and it is
    not watched with all below it, because that may be a whole machine.
    """

    def __init__(self) -> None:
        self._stopped = Event()
        self._places: frozenset[str] = frozenset()
        self._ways: frozenset[str] = frozenset()  # the places with the directories that lead to them
        self._directories: Directories = {}
        self._watching: RustNotify | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing will be told any more."""
        return self._stopped.is_set()

    def watch(self, places: Collection[str]) -> None:
        """Watch these places from now on, and no others; what does not exist may come to exist."""
        if self.is_stopped:
            return
        self._name(frozenset(places))
        directories = _directories(self._places)
        if directories != self._directories:
            self._close()
            self._directories = directories
            # Where the machine has no more watches to give, whoever waits looks again in any case.
            with suppress(OSError, RuntimeError):
                self._watching = RustNotify([*directories], False, False, 0, False, True)

    def wait(self, seconds: float) -> bool:
        """Wait until something happens at one of the places, though not longer than that, and tell if it did.

        Raises:
            KeyboardInterrupt: the user wants no more of it.
        """
        watching = self._watching
        if watching is None:
            self._stopped.wait(seconds)
            return False
        happened = watching.watch(_GROUPED_MS, _QUIET_MS, max(1, int(seconds * 1000)), self._stopped)
        if happened == "signal":
            raise KeyboardInterrupt
        return not isinstance(happened, str) and any(self._concerns(path) for _, path in happened)

    def stop(self) -> None:
        """Watch no more; whoever waits, from whatever thread, waits no longer."""
        self._stopped.set()

    def _name(self, places: frozenset[str]) -> None:
        everywhere = places | _led_to(places)
        if everywhere != self._places:
            self._places = everywhere
            self._ways = frozenset(each for place in everywhere for each in ancestors(place))

    def _concerns(self, path: str) -> bool:
        return path in self._ways or os.path.dirname(path) in self._places

    def _close(self) -> None:
        if self._watching is not None:
            self._watching.close()
            self._watching = None


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
