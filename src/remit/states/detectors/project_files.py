"""Finds files without leaving the project through symbolic links."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence

from remit.decision.projects import Workspace
from remit.decision.scopes import is_at_or_below
from remit.files.bounded_reader import FileError

OUTSIDE = "a symbolic link leads out of the project"
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def look(path: str, bases: Sequence[str], workspace: Workspace) -> Iterator[tuple[str, os.stat_result]]:
    """Find a relative path in the given directories, with its `stat` result.

    Raises:
        FileError: the path leads out of the project, or is not accessible.
    """
    for base in bases:
        where = resolve(base, path, workspace)
        if where is not None:
            try:
                yield where, os.stat(where)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise FileError(error.strerror or "cannot be accessed") from None


def resolve(base: str, path: str, workspace: Workspace) -> str | None:
    """Resolve a relative path below a directory; None if it does not exist.

    Raises:
        FileError: the path leads out of the project, or is not accessible.
    """
    where = base
    try:
        for part in path.removesuffix("/").split("/"):
            where = f"{where}{os.sep}{part}"  # `os.path.join` is as slow as the `lstat`
            if stat.S_ISLNK(os.lstat(where).st_mode):
                where = os.path.realpath(where)
                if not is_at_or_below(where, workspace.checkout):
                    raise FileError(OUTSIDE)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise FileError(error.strerror or "cannot be accessed") from None
    except ValueError:  # an invalid file name
        return None
    return where
