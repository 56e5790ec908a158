"""Detects changed files and variables, cheaply enough for every call."""

import os
from collections.abc import Iterable

from remit.files.bounded_reader import HOME, SETTLED_NS, Machine

_Stamp = tuple[int, int, int]


class FileStamps:
    """A snapshot of inputs; files changed too recently never count as the same."""

    def __init__(self, inputs: Iterable[str], machine: Machine, *, now_ns: int) -> None:
        names = [name for name in inputs if name not in ("", HOME) and "\0" not in name]
        self._variables = [(name[1:], machine.variables.get(name[1:])) for name in names if name[0] == "$"]
        self._machine = machine
        # As bytes: the system calls take them as they are.
        paths = [os.fsencode(name) for name in names if name[0] != "$"]
        found = [(path, _stamp(path)) for path in paths]
        absent = (path for path, stamp in found if stamp is None)  # or not accessible
        self._absent = list(dict.fromkeys(map(_first_absent, absent)))
        self._files = [(path, stamp) for path, stamp in found if stamp is not None]
        self._are_settled = all(now_ns - max(stamp[:2]) > SETTLED_NS for _, stamp in self._files)

    def are_same(self) -> bool:
        """Tell whether all inputs are unchanged."""
        if not self._are_settled:
            return False
        # A plain loop without exceptions for missing files: this runs on every call.
        exists, read = os.access, self._machine.variables.get
        for path in self._absent:
            if exists(path, os.F_OK):
                return False
        for path, stamp in self._files:
            if _stamp(path) != stamp:
                return False
        return all(read(name) == value for name, value in self._variables)


def _first_absent(path: bytes) -> bytes:
    """Return the directory whose absence makes a path absent: one check answers for all paths below it."""
    parent = os.path.dirname(path)
    while parent != path and parent and not os.access(parent, os.F_OK):
        path, parent = parent, os.path.dirname(parent)
    return path


def _stamp(path: bytes) -> _Stamp | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino
