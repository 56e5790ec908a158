"""Changes other programs' files atomically, without losing concurrent writes.

Each change is reported to the command that makes it, so the command can record how to undo it.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import NamedTuple

from remit.errors import FileChangeError
from remit.files.reading import ANYWHERE, FileError, read_bytes

LIMIT = 256 * 2**20  # bytes: a client may store its history in the same file as its servers
TRIES = 8


class FileChange(NamedTuple):
    """A file that is about to be replaced; None means no file."""

    path: str  # where links lead to
    before: str | None
    after: str | None
    made: tuple[str, ...] = ()  # directories that will be created, innermost first


_observer: ContextVar[Callable[[FileChange], None] | None] = ContextVar("observer", default=None)


@contextmanager
def observing(observer: Callable[[FileChange], None]) -> Generator[None]:
    """Report all changes made inside the block to an observer, just before each is made."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def read_exactly(path: str) -> str | None:
    """Read a file so it can be written back byte for byte; None if it does not exist.

    Raises:
        FileChangeError: the file cannot be read.
    """
    try:
        data = read_bytes(os.path.realpath(path), limit=LIMIT, within=ANYWHERE)
    except FileError as error:
        raise FileChangeError(
            f"{path} cannot be read: {error.reason}", hint="fix that, and run the command again"
        ) from None
    return None if data is None else data.decode("utf-8", "surrogateescape")


def change_file(path: str, change: Callable[[str | None], str | None], *, is_public: bool = False) -> None:
    """Replace a file's text with the result of a function; None means no file.

    The function runs again if another program writes to the file before the change is in place. A new file is
    private, unless every user of the machine is to read it; an existing one keeps its mode.

    Raises:
        FileChangeError: the file cannot be read or replaced, or other programs keep writing to it.
    """
    real = os.path.realpath(path)  # change the target of a link
    try:
        for _ in range(TRIES):
            status = _status(real)
            before = read_exactly(real)
            after = change(before)
            if after == before or _is_replaced(real, before, after, status, is_public):
                return
    except OSError as error:
        raise FileChangeError(
            f"{path} cannot be changed: {error.strerror or error}",
            hint="make the file and its directory writable, and run the command again",
        ) from None
    raise FileChangeError(
        f"{path} kept changing: other programs wrote to it {TRIES} times in a row",
        hint="close the client that writes to it, and run the command again",
    )


def missing_directories(path: str) -> list[str]:
    """List the missing parent directories of a file, innermost first."""
    missing: list[str] = []
    directory = os.path.dirname(os.path.realpath(path))
    while not os.path.lexists(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    return missing


def is_writable(path: str) -> bool:
    """Tell whether this process may write a file, or create it and its missing directories."""
    real = os.path.realpath(path)
    above = os.path.dirname(next(iter(reversed(missing_directories(real))), real))
    return os.access(above, os.W_OK) and (not os.path.exists(real) or os.access(real, os.W_OK))


def remove_empty(directories: Sequence[str]) -> None:
    """Remove directories, innermost first, up to the first non-empty one."""
    with suppress(OSError):
        for directory in directories:
            os.rmdir(directory)


def _is_replaced(
    real: str, before: str | None, after: str | None, status: os.stat_result | None, is_public: bool
) -> bool:
    """Replace a file if it has not changed since it was read."""
    if os.path.exists(real) and not os.access(real, os.W_OK):  # a rename would replace it all the same
        raise OSError(errno.EACCES, "it is read-only")
    temporary = None
    made = missing_directories(real)
    try:
        if after is not None:
            temporary = _write_beside(real, after.encode("utf-8", "surrogateescape"), status, is_public)
        # Compare the text too: timestamps may be coarse.
        if _marks(_status(real)) != _marks(status) or read_exactly(real) != before:
            return False
        if observer := _observer.get():
            observer(FileChange(real, before, after, tuple(made)))
        if temporary is None:
            os.unlink(real)
        else:
            os.replace(temporary, real)
            temporary = None
        _sync_directory(os.path.dirname(real))
        return True
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _write_beside(real: str, data: bytes, status: os.stat_result | None, is_public: bool) -> str:
    directory = os.path.dirname(real)
    made = missing_directories(real)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    for path in made if is_public else ():
        os.chmod(path, 0o755)  # noqa: S103 - every user is to read what is inside, whatever the umask
    temporary = os.path.join(directory, f".{os.path.basename(real)}.{os.urandom(6).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if status is not None:
                _take_over(file.fileno(), status)
            elif is_public and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def _take_over(descriptor: int, status: os.stat_result) -> None:
    """Copy the owner and mode of the replaced file."""
    if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _status(real: str) -> os.stat_result | None:
    try:
        return os.stat(real)
    except FileNotFoundError:
        return None


def _marks(status: os.stat_result | None) -> tuple[int, ...]:
    """Return what identifies a state of a file."""
    if status is None:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _sync_directory(directory: str) -> None:
    """Flush a directory's entries to disk, where the system supports it."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
