"""Finds the project and workspace of a directory, by reading git's own files.

The rules are those of Claude Code, to match the keys of its `projects`: the nearest `.git`, a file or a
directory, marks a checkout. A linked worktree belongs to its main checkout only if that checkout's records
point back at it, so a planted `.git` file cannot claim another project's tools.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence

from remit.decision.projects import TEAM, Workspace, identify, may_name_project
from remit.decision.scopes import ancestors, is_at_or_below
from remit.errors import NoSuchDirectoryError, UnknownProjectError
from remit.files.bounded_reader import ANYWHERE, FileError, read_bytes

_MAX_LINK = 8192  # bytes of a `.git` file


def locate(directory: str) -> Workspace:
    """Find the workspace of a directory.

    Raises:
        NoSuchDirectoryError: the directory does not exist, or its path cannot be stored.
    """
    dir = _canonical(directory)
    checkout = checkout_of(dir) or dir
    return Workspace(dir=dir, checkout=checkout, project=identify(_main_checkout(checkout)))


def locate_on_shared_store(directory: str, locate_team: Callable[[str], Workspace]) -> Workspace:
    """Find the workspace of a team's project by its name or path, else that of a directory.

    Raises:
        NoSuchDirectoryError: the directory does not exist.
        UnknownProjectError: the team has no such project.
    """
    if may_name_project(directory):
        try:
            return locate_team(directory)
        except UnknownProjectError:
            if directory.startswith(TEAM):
                raise
    try:
        return locate(directory)
    except NoSuchDirectoryError as error:
        hint = f"name an existing directory, or a project of a team: `{TEAM}TEAM/PROJECT`"
        raise NoSuchDirectoryError(str(error), hint=hint) from error


def checkout_of(dir: str) -> str | None:
    """Find the root of the checkout that contains a canonical directory; None without one."""
    return next((parent for parent in ancestors(dir) if os.path.lexists(os.path.join(parent, ".git"))), None)


def link_in_checkout(path: str, checkout: str | None = None) -> str | None:
    """Find the first link on the way from a checkout to a file in it; None without one, or outside of it.

    The checkout is that of the working directory unless it is given.
    """
    root = checkout or checkout_of(os.getcwd()) or os.getcwd()
    places = ancestors(os.path.abspath(path))  # the innermost first
    top = next((at for at, place in enumerate(places) if os.path.realpath(place) == root), 0)
    return next((place for place in reversed(places[:top]) if os.path.islink(place)), None)


def link_roots(path: str, workspace: Workspace, home: str) -> Sequence[str]:
    """Return the directories that a path's links must not leave; `ANYWHERE` for the user's own files."""
    here, checkout = workspace.dir, workspace.checkout
    roots = tuple(dict.fromkeys((checkout, workspace.project.path)))
    if not any(is_at_or_below(path, root) for root in roots):
        return ANYWHERE
    if not is_at_or_below(home, checkout):
        return roots
    # The user keeps the home directory in git: only a directory below it may be someone else's.
    return (here,) if here != home and is_at_or_below(path, here) else ANYWHERE


def enclosing_roots(path: str) -> Sequence[str]:
    """Return the checkout that a path is in, which its links must not leave; `ANYWHERE` without one."""
    checkout = checkout_of(os.path.dirname(os.path.abspath(path)))
    return ANYWHERE if checkout is None else (os.path.realpath(checkout),)


def git_directory(checkout: str) -> str | None:
    """Find the git directory of a checkout: `.git`, or the target of a `.git` file; None if it is another's.

    A planted `.git` may lead anywhere, so it must lead to a place in the checkout, to a linked worktree's in
    git's own records, or to a submodule's in the git directory of a checkout above.
    """
    link = os.path.join(checkout, ".git")
    directory = _pointer(link, prefix="gitdir: ", base=checkout) or link
    if is_at_or_below(os.path.realpath(directory), checkout) or _main_checkout(checkout) != checkout:
        return directory
    above = (modules for parent in ancestors(checkout)[1:] for modules in _modules(parent))
    return directory if any(is_at_or_below(directory, modules) for modules in above) else None


def _modules(checkout: str) -> Iterator[str]:
    """Yield where git keeps the submodules of a checkout, which may be a linked worktree."""
    link = os.path.join(checkout, ".git")
    yield os.path.join(link, "modules")
    if _main_checkout(checkout) != checkout:
        yield os.path.join(_pointer(link, prefix="gitdir: ", base=checkout) or link, "modules")


def _canonical(directory: str) -> str:
    try:
        path = os.path.realpath(os.path.expanduser(directory or "\0"), strict=True)
        path.encode()
        if not stat.S_ISDIR(os.stat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory")
    except OSError as error:
        raise NoSuchDirectoryError(
            f"`{directory}`: {error.strerror}", hint="name an existing directory"
        ) from error
    except ValueError as error:  # empty, a null byte, or a name that is not Unicode
        raise NoSuchDirectoryError(
            f"{directory!r} is not the name of a directory", hint="name an existing directory"
        ) from error
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


def _pointer(file: str, *, base: str, prefix: str = "") -> str | None:
    """Read a one-line file that holds a path; None for any other file."""
    try:
        data = read_bytes(file, limit=_MAX_LINK, within=[os.path.dirname(file)])
        line = (data or b"").decode().rstrip("\r\n")
        return (
            os.path.realpath(os.path.join(base, line.removeprefix(prefix)))
            if line and line.startswith(prefix)
            else None
        )
    except (FileError, ValueError):
        return None
