"""Stamps: whether files and variables are as they were, for those who ask before every answer."""

import os
from collections.abc import Iterable

from remit.files.bounded_reader import HOME, SETTLED_NS, Machine

_Stamp = tuple[int, int, int]


class Stamps:
    """Remembers how things are when it is made; files that are too young to tell are never the same."""

    def __init__(self, inputs: Iterable[str], machine: Machine, *, now_ns: int) -> None:
        names = [name for name in inputs if name not in ("", HOME) and "\0" not in name]
        self._variables = [(name[1:], machine.variables.get(name[1:])) for name in names if name[0] == "$"]
        self._machine = machine
        found = [(name, _stamp(name)) for name in names if name[0] != "$"]
        self._absent = [path for path, stamp in found if stamp is None]  # or such that nobody may look
        self._files = [(path, stamp) for path, stamp in found if stamp is not None]
        self._are_settled = all(now_ns - max(stamp[:2]) > SETTLED_NS for _, stamp in self._files)

    def are_same(self) -> bool:
        """Tell whether everything is as it was."""
        if not self._are_settled:
            return False
        # A plain loop over what may be there, and no exception for what is not: this is asked for every call.
        exists, read = os.access, self._machine.variables.get
        for path in self._absent:
            if exists(path, os.F_OK):
                return False
        for path, stamp in self._files:
            if _stamp(path) != stamp:
                return False
        return all(read(name) == value for name, value in self._variables)


def _stamp(path: str) -> _Stamp | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino
