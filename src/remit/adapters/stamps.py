"""Stamps: whether files and variables are as they were, for those who ask before every answer."""

import os
from collections.abc import Iterable

from remit.adapters.files import HOME, SETTLED_NS, Machine

_Stamp = tuple[int, int, int, int] | None  # None: there is no such file, or nobody may look


class Stamps:
    """Remembers how things are when it is made; files that are too young to tell are never the same."""

    def __init__(self, inputs: Iterable[str], machine: Machine, *, now_ns: int) -> None:
        names = [name for name in inputs if name != HOME]
        self._variables = {name[1:]: machine.variables.get(name[1:]) for name in names if name[0] == "$"}
        self._machine = machine
        self._files = {name: _stamp(name) for name in names if name[0] != "$"}
        self._are_settled = all(
            stamp is None or now_ns - max(stamp[1], stamp[2]) > SETTLED_NS for stamp in self._files.values()
        )

    def are_same(self) -> bool:
        """Tell whether everything is as it was."""
        if not self._are_settled:
            return False
        for name, value in self._variables.items():
            if self._machine.variables.get(name) != value:
                return False
        return all(_stamp(path) == stamp for path, stamp in self._files.items())


def _stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
