"""Calls on disk until the store takes them, so that a gateway that is killed loses no answered call.

Each batch is a file, which is locked while its gateway lives. The next gateway on the machine stores what a
dead one left.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from remit.decision import Project, Workspace
from remit.files import try_lock
from remit.store import Call

_SUFFIX = ".calls"
_log = logging.getLogger("remit.gateway")

Batch = Sequence[tuple[Workspace, Call]]


class Written(NamedTuple):
    """The open file of one batch."""

    path: str
    file: int

    def drop(self) -> None:
        """Remove the file: the store has its calls."""
        with suppress(OSError):
            os.remove(self.path)
        self.close()

    def close(self) -> None:
        """Leave the file to the next gateway that starts."""
        os.close(self.file)


class Journal:
    """The calls of one process that the store does not have yet."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open: Written | None = None
        self._is_broken = False

    def write(self, workspace: Workspace, call: Call) -> None:
        """Write a call down; if that fails, warn once and go on without a journal."""
        if self._is_broken:
            return
        line = json.dumps([workspace, call]).encode() + b"\n"  # escaped: a text may contain half a character
        try:
            if self._open is None:
                self._open = self._begin()
            os.write(self._open.file, line)
        except OSError as error:
            self._is_broken = True
            _log.warning("calls are not written down before they are stored: %s", error.strerror)

    def hand_over(self) -> Written | None:
        """Return the file of all calls so far, and begin another with the next call."""
        written, self._open = self._open, None
        return written

    def _begin(self) -> Written:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        path = os.path.join(self._folder, f"{os.urandom(8).hex()}{_SUFFIX}")
        file = try_lock(path, is_new=True)
        # Another gateway may have taken the empty file for one of a dead one.
        return self._begin() if file is None else Written(path, file)


def orphans(folder: str) -> Iterator[tuple[Written, Batch]]:
    """Yield the batches of gateways that no longer live, each with its file, which the caller drops."""
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            file = _lock(path) if name.endswith(_SUFFIX) else None
            if file is None:  # its gateway lives, or another took it
                continue
            try:
                yield Written(path, file), _read(file)
            except ValueError as error:
                _log.warning("`%s` is damaged: %s", path, error)
                os.replace(path, f"{path}.damaged")
                os.close(file)


def _lock(path: str) -> int | None:
    try:
        return try_lock(path)
    except OSError:
        return None


def _read(file: int) -> Batch:
    """Read the calls of a file, except for a line that was cut.

    Raises:
        ValueError: the file is damaged.
    """
    with open(file, "rb", closefd=False) as opened:
        lines = opened.read().split(b"\n")[:-1]
    try:
        return [_entry(line) for line in lines]
    except (LookupError, TypeError) as error:
        raise ValueError(repr(error)) from None


def _entry(line: bytes) -> tuple[Workspace, Call]:
    (dir, checkout, project, group), call = json.loads(line)
    place = Workspace(dir, checkout, Project(*project), None if group is None else Project(*group))
    return place, Call(*call)
