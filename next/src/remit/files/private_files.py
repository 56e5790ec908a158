"""Files that only their user can read, and locks between processes."""

import errno
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

_LONGEST = 10_000  # characters of a secret


class ExposedFileError(OSError):
    """Others can read a file that holds a secret."""


def read_secret(path: str) -> str:
    """Read the only line of a file that its user alone, or also the group of a file of root, can read.

    Raises:
        OSError: the file cannot be read, or is not text; `ExposedFileError` if others can read it too.
    """
    with open(path, encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if os.name == "posix" and status.st_mode & (0o077 if status.st_uid else 0o037):
            raise ExposedFileError(errno.EPERM, "others can read it")
        try:
            return file.read(_LONGEST).strip()
        except UnicodeError:
            raise OSError(errno.EINVAL, "not UTF-8 text") from None


def write_private(path: str, text: str) -> None:
    """Replace a file atomically, readable by its user only.

    Raises:
        OSError: the file cannot be written.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.urandom(4).hex()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def open_private(path: str, flags: int) -> int:
    """Open a file for writing, readable by its user only, and never through a link; an `opener`.

    Raises:
        OSError: the file cannot be opened, or is a link.
    """
    kept = flags & ~os.O_TRUNC  # look at it before it is emptied
    descriptor = os.open(path, kept | getattr(os, "O_NOFOLLOW", 0), 0o600)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        if status.st_nlink > 1:
            os.close(descriptor)
            raise OSError(errno.EMLINK, "it is a hard link: another path has the same file")
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)  # it may have existed
    return descriptor


@contextmanager
def file_lock(path: str) -> Generator[None]:
    """Hold an exclusive lock on a file; the lock ends with the process.

    The lock is a separate file, which remains, because writing replaces the file itself.

    Raises:
        OSError: the lock file cannot be created, or other processes hold the lock for too long.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor, is_patient=True)
        yield
    finally:
        os.close(descriptor)  # which ends the lock


def try_lock(path: str, *, is_new: bool = False) -> int | None:
    """Lock a file until its descriptor is closed; None if someone else holds the lock.

    The lock ends with the process, so a file that can be locked has no owner.

    Raises:
        OSError: the file cannot be opened, or is new and exists.
    """
    flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if is_new else 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        _lock(descriptor, is_patient=False)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, *, is_patient: bool) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if is_patient else msvcrt.LK_NBLCK, 1)  # for ten seconds

else:
    import fcntl

    def _lock(descriptor: int, *, is_patient: bool) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX if is_patient else fcntl.LOCK_EX | fcntl.LOCK_NB)
