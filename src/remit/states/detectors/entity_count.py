"""Counts entities: files that match a pattern, items in a file, or rows of a table."""

import os
import stat
import time
from collections.abc import Sequence
from typing import Any, cast

import apsw

from remit.configuration.detector_kinds import SOME, Detector
from remit.decision.projects import Workspace
from remit.files.bounded_reader import FileError, Machine, read_start
from remit.states.detectors import file_value, glob_count
from remit.states.detectors.project_files import look
from remit.states.observations import Observation

_STEPS = 1000  # SQLite instructions between two checks of the time limit
_LIMIT = 2**30  # bytes of a database
_BESIDE = ("-wal", "-shm", "-journal")  # files that SQLite opens next to a database


def detect(detector: Detector, bases: Sequence[str], workspace: Workspace, _machine: Machine) -> Observation:
    """Count entities and compare the count with the expected one."""
    wanted = detector.amount or SOME
    if detector.glob:
        return glob_count.observe(detector.glob, wanted, bases, workspace, timeout=detector.timeout)
    try:
        count = _items(detector, bases, workspace) if detector.paths else _rows(detector, bases, workspace)
    except FileError as error:
        return Observation(None, error.reason)
    return Observation(wanted.holds(count), f"there are {count:,}", count)


def _items(detector: Detector, bases: Sequence[str], workspace: Workspace) -> int:
    (path,) = detector.paths
    value = file_value.value_at(file_value.read(path, bases, workspace), detector.keys)
    return len(cast("list[object]", value)) if isinstance(value, list | dict) else 0


def _rows(detector: Detector, bases: Sequence[str], workspace: Workspace) -> int:
    for where, found in look(detector.database, bases, workspace):
        if not stat.S_ISREG(found.st_mode) or not all(map(_is_plain, (f"{where}{end}" for end in _BESIDE))):
            raise FileError(f"{detector.database} is not a regular file")
        if found.st_size > _LIMIT:
            raise FileError(f"{detector.database} is too large")
        return _count(where, detector)
    return 0


def _is_plain(path: str) -> bool:
    """Return whether a file is missing or regular, so opening it does not block."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return True


def _address(path: str) -> str:
    """Return the URI by which SQLite opens a database and leaves no file next to it."""
    is_wal = ((read_start(path, size=20, within=[path]) or b"")[18:]) == b"\x02\x02"
    is_idle = is_wal and not os.path.exists(f"{path}-wal")  # SQLite would make one
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{escaped}?{'immutable' if is_idle else 'readonly_shm'}=1"


def _count(path: str, detector: Detector) -> int:
    """Count the rows of a table in an untrusted database, read-only and with a time limit."""
    deadline = time.monotonic() + detector.timeout
    try:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection: Any = apsw.Connection(_address(path), flags=flags)
        try:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            named = "select 1 from sqlite_schema where type = 'table' and name = ?"
            if not connection.execute(named, (detector.table,)).fetchall():
                return 0
            quoted = detector.table.replace('"', '""')
            return connection.execute(f'select count(*) from "{quoted}"').fetchall()[0][0]  # noqa: S608 - quoted
        finally:
            connection.close()
    except apsw.InterruptError:
        raise FileError(f"{detector.database} did not answer within {detector.timeout:g} s") from None
    except apsw.Error:
        raise FileError(f"{detector.database} cannot be read as a database") from None
