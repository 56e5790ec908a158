"""Finds the project and workspace of a directory, and tracked files, by reading git's own files.

Git is never run, because it runs what a repository's configuration says. The rules are those of Claude Code,
to match the keys of its `projects`: the nearest `.git`, a file or a directory, marks a checkout. A linked
worktree belongs to its main checkout only if that checkout's records point back at it, so a planted `.git`
file cannot claim another project's tools.
"""

import errno
import os
import stat
import struct
from collections.abc import Iterator, Sequence

from remit.decision import Workspace, ancestors, identify, is_at_or_below
from remit.errors import NotFoundError
from remit.files.reading import ANYWHERE, FileError, read_bytes

_MAX_LINK = 8192  # bytes of a `.git` file
_MAX_INDEX = 256 * 2**20
_FIXED = 40  # bytes of an index entry before its object name: times, device, inode, mode, owner, size
_EXTENDED = 0x4000
_LENGTH = 0xFFF  # the bits of an entry's flags that hold the name's length


def locate(directory: str) -> Workspace:
    """Find the workspace of a directory.

    Raises:
        NotFoundError: the directory does not exist, or its path cannot be stored.
    """
    dir = _canonical(directory)
    checkout = checkout_of(dir) or dir
    return Workspace(dir=dir, checkout=checkout, project=identify(_main_checkout(checkout)))


def checkout_of(dir: str) -> str | None:
    """Find the root of the checkout that contains a canonical directory; None without one."""
    return next((above for above in ancestors(dir) if os.path.lexists(os.path.join(above, ".git"))), None)


def link_in_checkout(path: str, checkout: str | None = None) -> str | None:
    """Find the first link on the way from a checkout to a file in it; None without one, or outside of it.

    The checkout is that of the working directory unless it is given.
    """
    root = checkout or checkout_of(os.getcwd()) or os.getcwd()
    paths = ancestors(os.path.abspath(path))  # the innermost first
    tops = [at for at, above in enumerate(paths) if os.path.realpath(above) == root]
    return next((above for above in reversed(paths[: max(tops, default=0)]) if os.path.islink(above)), None)


def link_roots(path: str, workspace: Workspace, home: str) -> Sequence[str]:
    """Return the directories that a path's links must not leave; `ANYWHERE` for the user's own files."""
    dir, checkout = workspace.dir, workspace.checkout
    roots = tuple(dict.fromkeys((checkout, workspace.project.path)))
    if not any(is_at_or_below(path, root) for root in roots):
        return ANYWHERE
    if not is_at_or_below(home, checkout):
        return roots
    # The user keeps the home directory in git: only a directory below it may be someone else's.
    return (dir,) if dir != home and is_at_or_below(path, dir) else ANYWHERE


def enclosing_roots(path: str) -> Sequence[str]:
    """Return the checkout that a path is in, which its links must not leave; `ANYWHERE` without one."""
    checkout = checkout_of(os.path.dirname(os.path.abspath(path)))
    return ANYWHERE if checkout is None else (os.path.realpath(checkout),)


def git_directory(checkout: str) -> str | None:
    """Find the git directory of a checkout: `.git`, or the target of a `.git` file; None if it is another's.

    A planted `.git` may lead anywhere, so it must lead to a place in the checkout, to a linked worktree's in
    git's own records, or to a submodule's in the git directory of a checkout above.
    """
    directory = _linked_directory(checkout)
    if is_at_or_below(os.path.realpath(directory), checkout) or _main_checkout(checkout) != checkout:
        return directory
    above = (modules for parent in ancestors(checkout)[1:] for modules in _modules(parent))
    return directory if any(is_at_or_below(directory, modules) for modules in above) else None


def index_path(path: str) -> str | None:
    """Return the index of the checkout that contains a file, or a `.git` without one; None outside of any."""
    checkout = checkout_of(os.path.dirname(path))
    if checkout is None:
        return None
    folder = git_directory(checkout)
    return os.path.join(checkout, ".git") if folder is None else os.path.join(folder, "index")


def is_tracked(path: str) -> bool:
    """Tell whether a file is in the index of its checkout; if `.git` leads elsewhere, it may be in any."""
    checkout = checkout_of(os.path.dirname(path))
    if checkout is None:
        return False
    name = os.path.relpath(path, checkout).replace(os.sep, "/").encode(errors="surrogateescape")
    folder = git_directory(checkout)
    if folder is None:
        return True
    try:
        data = read_bytes(os.path.join(folder, "index"), limit=_MAX_INDEX, within=[folder]) or b""
    except FileError:
        return False
    return any(name in _names(data, object_size) for object_size in (20, 32))


def _canonical(directory: str) -> str:
    hint = "name an existing directory"
    try:
        path = os.path.realpath(os.path.expanduser(directory or "\0"), strict=True)
        path.encode()
        if not stat.S_ISDIR(os.stat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory")
    except OSError as error:
        raise NotFoundError(f"`{directory}`: {error.strerror}", hint=hint) from error
    except ValueError as error:  # empty, a null byte, or a name that is not Unicode
        raise NotFoundError(f"{directory!r} is not the name of a directory", hint=hint) from error
    return path


def _main_checkout(checkout: str) -> str:
    """Return the root of the main checkout of a linked worktree, else the checkout itself."""
    link = os.path.join(checkout, ".git")
    git_dir = _pointer(link, prefix="gitdir: ", base=checkout)
    if git_dir is None or os.path.basename(os.path.dirname(git_dir)) != "worktrees":
        return checkout  # and nothing there is opened
    common = _pointer(os.path.join(git_dir, "commondir"), base=git_dir)
    back = _pointer(os.path.join(git_dir, "gitdir"), base=git_dir)
    if (
        common is None
        or back != os.path.realpath(link)
        or os.path.dirname(git_dir) != os.path.join(common, "worktrees")
    ):
        return checkout
    # A bare repository has no main checkout: its worktrees share the repository itself.
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _linked_directory(checkout: str) -> str:
    link = os.path.join(checkout, ".git")
    return _pointer(link, prefix="gitdir: ", base=checkout) or link


def _modules(checkout: str) -> Iterator[str]:
    """Yield where git keeps the submodules of a checkout, which may be a linked worktree."""
    yield os.path.join(checkout, ".git", "modules")
    if _main_checkout(checkout) != checkout:
        yield os.path.join(_linked_directory(checkout), "modules")


def _pointer(file: str, *, base: str, prefix: str = "") -> str | None:
    """Read a one-line file that holds a path; None for any other file."""
    try:
        data = read_bytes(file, limit=_MAX_LINK, within=[os.path.dirname(file)])
        line = (data or b"").decode().rstrip("\r\n")
        if not line or not line.startswith(prefix):
            return None
        return os.path.realpath(os.path.join(base, line.removeprefix(prefix)))
    except (FileError, ValueError):
        return None


def _names(data: bytes, object_size: int) -> set[bytes]:
    """List the files of an index with object names of this size; empty for another size."""
    names: set[bytes] = set()
    try:
        signature, version, count = struct.unpack_from(">4sII", data)
        if signature != b"DIRC" or version not in (2, 3, 4):
            return set()
        at, name = 12, b""
        for _ in range(count):
            name, at = _entry(data, at, version, object_size, name)
            names.add(name)
    except (struct.error, ValueError, IndexError):
        return set()
    return names


def _entry(data: bytes, start: int, version: int, object_size: int, before: bytes) -> tuple[bytes, int]:
    """Read one entry: its name, and the offset of the next one."""
    flags_at = start + _FIXED + object_size
    (flags,) = struct.unpack_from(">H", data, flags_at)
    at, kept = flags_at + (4 if flags & _EXTENDED else 2), b""
    if version == 4:  # names are prefix-compressed
        cut, at = _number(data, at)
        kept = before[: len(before) - cut]
    end = data.index(b"\0", at)
    name = kept + data[at:end]
    if min(len(name), _LENGTH) != flags & _LENGTH:
        raise ValueError("object names have another size")
    return name, end + 1 if version == 4 else start + (end - start + 8) // 8 * 8


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
