"""Reads other programs' files within limits, without blocking, and without links out of a project."""

import errno
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.decision import ancestors, is_at_or_below
from remit.errors import BadFileError

ANYWHERE: Sequence[str] = ()  # `within` for files of the user, the administrator and Remit: links are theirs
OUTSIDE = "a symbolic link leads out of the project; Remit does not follow it, but the client may"
_DIRECTORIES = ("HOME", "USERPROFILE", "REMIT_HOME", "REMIT_CONFIG", "XDG_DATA_HOME", "LOCALAPPDATA")
ABSENT = (errno.ENOENT, errno.ENOTDIR)
_REASONS = {
    errno.EISDIR: "not a regular file",
    errno.ENXIO: "not a regular file",
    errno.ELOOP: "its symbolic links form a loop",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


class Machine(NamedTuple):
    """The parts of the environment that locate files."""

    home: str
    variables: Mapping[str, str]
    platform: str = "linux"
    root: str = ""  # prefix of system directories, for tests


def this_machine() -> Machine:
    """Return the environment of this process.

    Raises:
        BadFileError: a variable that names a directory is not Unicode text.
    """
    for name in _DIRECTORIES:  # a client's variables are checked when its files are read
        require_text(name, os.environ)
    return Machine(home=os.path.expanduser("~"), variables=os.environ, platform=sys.platform)


def require_text(variable: str, variables: Mapping[str, str]) -> None:
    """Check that a variable holds valid text.

    Raises:
        BadFileError: it is not Unicode text.
    """
    try:
        variables.get(variable, "").encode()
    except UnicodeEncodeError:
        raise BadFileError(
            f"{variable} is not valid Unicode text", hint=f"set {variable} to another directory"
        ) from None


class FileError(Exception):
    """An existing file, or its text, cannot be used; `place` is a line and column of it."""

    def __init__(self, reason: str, place: str = "", hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place
        self.hint = hint


def read_text(path: str, *, limit: int, within: Sequence[str]) -> str | None:
    """Read a text file the way a JavaScript client does; None if it does not exist.

    The file must be in one of the canonical directories of `within` after all links are followed.

    Raises:
        FileError: it exists, but is not a readable file of at most `limit` bytes.
    """
    data = read_bytes(path, limit=limit, within=within)
    return None if data is None else data.decode("utf-8-sig", "replace")


def read_bytes(path: str, *, limit: int, within: Sequence[str]) -> bytes | None:
    """Read a file; None if it does not exist.

    Raises:
        FileError: it exists, but is not a readable file of at most `limit` bytes.
    """
    return _read(path, limit, limit, within)


def read_start(path: str, *, size: int, within: Sequence[str]) -> bytes | None:
    """Read the first bytes of a file; None if it does not exist.

    Raises:
        FileError: it exists, but is not a readable file.
    """
    return _read(path, None, size, within)


def read_part(path: str, *, start: int, size: int, within: Sequence[str]) -> tuple[int, bytes] | None:
    """Read a file from an offset, or only its last bytes, and where they start; None if it cannot be read."""
    try:
        if within:
            _require_inside(path, within)
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            begin = file.seek(max(start, status.st_size - size))
            return begin, file.read(size)
    except (FileError, OSError, ValueError):
        return None


def is_inside(path: str, within: Sequence[str]) -> bool:
    """Tell whether a path is in one of these canonical directories after all links are followed."""
    real = real_path(path)
    return any(is_at_or_below(real, root) for root in within)


def real_path(path: str) -> str:
    """Follow all links of a path; the system does it faster than Python for a deep directory."""
    if sys.platform == "linux":
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (OSError, ValueError):
            return os.path.realpath(path)
        try:
            return os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:  # no `/proc`
            return os.path.realpath(path)
        finally:
            os.close(descriptor)
    return os.path.realpath(path)


def is_only_roots(path: str) -> bool:
    """Tell whether only root can write a file and the directories above it."""
    try:
        return all(_is_roots(os.stat(above)) for above in ancestors(os.path.realpath(path)))
    except OSError:
        return False


def _is_roots(status: os.stat_result) -> bool:
    return status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: str, limit: int | None, size: int, within: Sequence[str]) -> bytes | None:
    try:
        if within:  # before opening: to open a device has effects
            _require_inside(path, within)
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileError("not a regular file")
            if limit is not None and status.st_size > limit:
                raise FileError(f"{status.st_size:,} bytes; at most {limit:,} are read")
            return file.read(size)
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise FileError(_REASONS.get(error.errno or 0, error.strerror or "cannot be read")) from None


def _require_inside(path: str, within: Sequence[str]) -> None:
    os.stat(path)  # a missing file, or a loop of links, is another problem
    if not is_inside(path, within):
        raise FileError(OUTSIDE)


def _without_waiting(path: str, flags: int) -> int:
    # A named pipe in place of a file must not block.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
