"""Locks between processes, for reading a file and writing it back."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # tries for ten seconds

    def _try_to_take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _try_to_take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


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
        _take(descriptor)
        try:
            yield
        finally:
            _release(descriptor)
    finally:
        os.close(descriptor)


def try_lock(path: str, *, is_new: bool = False) -> int | None:
    """Lock a file until its descriptor is closed; None if someone else holds the lock.

    The lock ends with the process, so a file that can be locked has no owner.

    Raises:
        OSError: the file cannot be opened, or is new and exists.
    """
    flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if is_new else 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        _try_to_take(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
