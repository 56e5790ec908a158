"""Fingerprints of inputs: whether files and variables have changed, and waiting until one does.

An input is a path, `$VARIABLE` or `~`.
"""

import os
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from threading import Event

from remit.files.reading import ABSENT, Machine

HOME = "~"
SETTLED_NS = 2_000_000_000  # a younger file may change again without a new timestamp
PAUSE = 0.5  # seconds between two looks
_LOOKS_PER_PAUSE = 200  # a pause is at least this many looks long: 0.5 % of a processor
_UNSETTLED = " read at "


class Fingerprints:
    """The state of inputs at one moment, which can be stored as text and compared later."""

    def __init__(self, stored: Mapping[str, str], machine: Machine) -> None:
        self.stored = dict(stored)
        self._machine = machine
        names = [name for name in self.stored if name[:1] not in ("", "$", HOME) and "\0" not in name]
        self._others = [(name, known) for name, known in self.stored.items() if name not in names]
        # As bytes: the system calls take them as they are.
        self._files = [(os.fsencode(name), self.stored[name]) for name in names if self.stored[name]]
        absent = (os.fsencode(name) for name in names if not self.stored[name])
        self._absent = list(dict.fromkeys(map(_first_absent, absent)))
        self._may_be_unchanged = bool(stored) and not any(_UNSETTLED in known for _, known in self._files)

    def are_unchanged(self) -> bool:
        """Tell whether all inputs are as they were; not if a file was too young, or without inputs."""
        if not self._may_be_unchanged:
            return False
        # Plain loops without exceptions for missing files: this runs on every call.
        exists = os.access
        for path in self._absent:
            if exists(path, os.F_OK):
                return False
        for path, known in self._files:
            if _file_print(path) != known:
                return False
        return all(_value_print(name, self._machine) == known for name, known in self._others)


def take_fingerprints(inputs: Iterable[str], machine: Machine, *, now_ns: int) -> Fingerprints:
    """Take the fingerprints of inputs; before reading them, so a change in between is not lost."""
    return Fingerprints({name: fingerprint(name, machine, now_ns=now_ns) for name in inputs}, machine)


def fingerprint(name: str, machine: Machine, *, now_ns: int) -> str:
    """Return the fingerprint of one input; empty if it does not exist."""
    is_file = name[:1] not in ("", "$", HOME) and "\0" not in name
    return _file_print(os.fsencode(name), now_ns) if is_file else _value_print(name, machine)


def look_at(paths: Iterable[str]) -> dict[str, str]:
    """Return what `wait_for_change` compares; empty text for a file that does not exist."""
    return {path: _file_print(os.fsencode(path)) for path in paths if path and "\0" not in path}


def wait_for_change(
    paths: Iterable[str], stop: Event, seconds: float, *, since: Mapping[str, str] | None = None
) -> set[str]:
    """Wait until files change, come or go, the time is over, or `stop` is set, and return what changed.

    Changes count since the call, or since an earlier `look_at`. To set `stop` from any thread ends the wait
    with one more look.
    """
    before = since if since is not None else look_at(paths)
    deadline = time.monotonic() + seconds
    while True:
        started = time.monotonic()
        changed = {path for path, mark in look_at(paths).items() if before.get(path) != mark}
        now = time.monotonic()
        if changed or stop.is_set() or now >= deadline:
            return changed
        stop.wait(min(max(PAUSE, _LOOKS_PER_PAUSE * (now - started)), deadline - now))


def _value_print(name: str, machine: Machine) -> str:
    """Return the fingerprint of an input that is no file; of a variable, only a digest."""
    if name == HOME:
        return machine.home
    value = machine.variables.get(name[1:]) if name[:1] == "$" else None
    return "" if value is None else sha256(value.encode("utf-8", "replace")).hexdigest()[:16]


def _file_print(path: bytes, now_ns: int | None = None) -> str:
    try:
        status = os.stat(path)
    except OSError as error:
        return "" if error.errno in ABSENT else f"error {error.errno}"
    marks = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    is_young = now_ns is not None and now_ns - max(status.st_mtime_ns, status.st_ctime_ns) <= SETTLED_NS
    return f"{marks}{_UNSETTLED}{now_ns}" if is_young else marks


def _first_absent(path: bytes) -> bytes:
    """Return the directory whose absence makes a path absent: one check answers for all paths below it."""
    parent = os.path.dirname(path)
    while parent != path and parent and not os.access(parent, os.F_OK):
        path, parent = parent, os.path.dirname(parent)
    return path
