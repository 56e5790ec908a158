"""Reads other programs' files within limits, without blocking, and without links out of a project."""

import errno
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from remit.decision.scopes import ancestors, is_at_or_below
from remit.errors import BadVariableError

HOME = "~"
ANYWHERE: Sequence[str] = ()  # `within` for files of the user, the administrator and Remit: links are theirs
OUTSIDE = "a symbolic link leads out of the project; Remit does not follow it, but the client may"
SETTLED_NS = 2_000_000_000  # a younger file may change again without a new timestamp
_DIRECTORIES = ("HOME", "USERPROFILE", "REMIT_HOME", "REMIT_CONFIG", "XDG_DATA_HOME", "LOCALAPPDATA")
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
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
        BadVariableError: a variable that names a directory cannot be used.
    """
    for name in _DIRECTORIES:  # a client's variables are checked when its files are read
        require_text(name, os.environ)
    return Machine(home=os.path.expanduser("~"), variables=os.environ, platform=sys.platform)


class FileError(Exception):
    """An existing file cannot be used."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


def require_text(variable: str, variables: Mapping[str, str]) -> None:
    """Check that a variable holds valid text.

    Raises:
        BadVariableError: it is not Unicode text.
    """
    try:
        variables.get(variable, "").encode()
    except UnicodeEncodeError:
        raise BadVariableError(
            f"{variable} is not valid Unicode text", hint=f"set {variable} to another directory"
        ) from None


def fingerprint(name: str, machine: Machine, *, now_ns: int) -> str:
    """Return the fingerprint of an input: a path, `$VARIABLE` or `~`."""
    if name == HOME:
        return machine.home
    if name.startswith("$"):
        value = machine.variables.get(name[1:])
        return "" if value is None else sha256(value.encode("utf-8", "replace")).hexdigest()[:16]
    try:
        return _print(os.stat(name), now_ns)
    except OSError as error:
        return f"error {error.errno}" if error.errno not in _ABSENT else ""
    except ValueError:
        return ""


def are_unchanged(inputs: Mapping[str, str], machine: Machine, *, now_ns: int) -> bool:
    """Tell whether all inputs still have these fingerprints."""
    return bool(inputs) and all(
        fingerprint(name, machine, now_ns=now_ns) == known for name, known in inputs.items()
    )


def content_digest(path: str, *, within: Sequence[str]) -> str:
    """Return a digest of a file's content; empty if it does not exist, and one word if it cannot be read."""
    try:
        data = read_bytes(path, limit=2**20, within=within)
    except FileError:
        return "unreadable"
    return "" if data is None else sha256(data).hexdigest()


def is_settled(path: str, *, now_ns: int) -> bool:
    """Tell whether a file has not changed recently."""
    try:
        return _is_settled(os.stat(path), now_ns)
    except OSError:
        return False


def _print(found: os.stat_result, now_ns: int) -> str:
    marks = f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
    return marks if _is_settled(found, now_ns) else f"{marks} read at {now_ns}"


def _is_settled(found: os.stat_result, now_ns: int) -> bool:
    return now_ns - max(found.st_mtime_ns, found.st_ctime_ns) > SETTLED_NS


def is_only_roots(path: str) -> bool:
    """Tell whether only root can write a file and the directories above it."""
    try:
        return all(_is_roots(os.stat(each)) for each in ancestors(os.path.realpath(path)))
    except OSError:
        return False


def _is_roots(found: os.stat_result) -> bool:
    return found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read_text(path: str, *, limit: int, within: Sequence[str]) -> str | None:
    """Read a text file the way a JavaScript client does; None if it does not exist.

    The file must be in one of the canonical directories of `within` after all links are followed.

    Raises:
        FileError: it exists, but is not a readable file of at most `limit` bytes.
    """
    data = read_bytes(path, limit=limit, within=within)
    return None if data is None else data.decode("utf-8-sig", "replace")


def read_start(path: str, *, size: int, within: Sequence[str]) -> bytes | None:
    """Read the first bytes of a file; None if it does not exist.

    Raises:
        FileError: it exists, but is not a readable file.
    """
    return _read(path, None, size, within)


def read_head(path: str, *, size: int, within: Sequence[str]) -> str | None:
    """Read the first bytes of a text file; None if it does not exist.

    Raises:
        FileError: it exists, but is not a readable file.
    """
    data = read_start(path, size=size, within=within)
    return None if data is None else data.decode("utf-8-sig", "replace")


def read_bytes(path: str, *, limit: int, within: Sequence[str]) -> bytes | None:
    """Read a file; None if it does not exist.

    Raises:
        FileError: it exists, but is not a readable file of at most `limit` bytes.
    """
    return _read(path, limit, limit, within)


def read_part(path: str, *, start: int, size: int, within: Sequence[str]) -> tuple[int, bytes] | None:
    """Read a file from an offset, or only its last bytes, and where they start; None if it cannot be read."""
    try:
        if within:
            _require_inside(path, within)
        with open(path, "rb", opener=_without_waiting) as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode):
                return None
            begin = opened.seek(max(start, found.st_size - size))
            return begin, opened.read(size)
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


def _read(path: str, limit: int | None, size: int, within: Sequence[str]) -> bytes | None:
    try:
        if within:  # before opening: to open a device has effects
            _require_inside(path, within)
        with open(path, "rb", opener=_without_waiting) as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise FileError("not a regular file")
            if limit is not None and found.st_size > limit:
                raise FileError(f"{found.st_size:,} bytes; at most {limit:,} are read")
            return opened.read(size)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise FileError(_REASONS.get(error.errno or 0, error.strerror or "cannot be read")) from None


def _require_inside(path: str, within: Sequence[str]) -> None:
    os.stat(path)  # a missing file, or a circle of links, is another problem
    if not is_inside(path, within):
        raise FileError(OUTSIDE)


def _without_waiting(path: str, flags: int) -> int:
    # A named pipe in place of a file must not block.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
