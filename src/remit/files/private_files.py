"""Files that only their user can read."""

import errno
import os
import secrets
import stat
from contextlib import suppress

_LONGEST = 10_000  # characters of a secret


class ExposedFileError(OSError):
    """Others can read a file that holds a secret."""


def read_secret(path: str) -> str:
    """Read the only line of a file that its user alone, or also the group of a file of root, can read.

    Raises:
        OSError: the file cannot be read, or is not text; `ExposedFileError` if others can read it too.
    """
    with open(path, encoding="utf-8") as opened:
        found = os.fstat(opened.fileno())
        if os.name == "posix" and found.st_mode & (0o077 if found.st_uid else 0o037):
            raise ExposedFileError(errno.EPERM, "others can read it")
        try:
            return opened.read(_LONGEST).strip()
        except UnicodeError:
            raise OSError(errno.EINVAL, "not UTF-8 text") from None


def write(path: str, text: str) -> None:
    """Replace a file atomically, readable by its user only.

    Raises:
        OSError: the file cannot be written.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    beside = f"{path}.{secrets.token_hex(4)}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def open_private(path: str, flags: int) -> int:
    """Open a file for writing, readable by its user only, and never through a link; an `opener`.

    Raises:
        OSError: the file cannot be opened, or is a link.
    """
    kept = flags & ~os.O_TRUNC  # look at it before it is emptied
    descriptor = os.open(path, kept | getattr(os, "O_NOFOLLOW", 0), 0o600)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode):
        if found.st_nlink > 1:
            os.close(descriptor)
            raise OSError(errno.EMLINK, "it is a hard link: another path has the same file")
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)  # it may have existed
    return descriptor
