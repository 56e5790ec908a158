"""Keeps read-only what runs code outside of a sandbox later: `.git`, and what clients and editors trust.

Each of them becomes a mount, which nobody in the sandbox can rename, remove or replace, and so does every
directory above it. A whole `.git` is protected, not only its hooks and settings: `.git/commondir` moves both.

Nothing can be mounted on a link, so for most names its target is protected: replacing the link gains no more
than creating a missing file. A file that runs code must not be a link.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.scopes import ancestors, is_at_or_below
from remit.files.bounded_reader import ANYWHERE
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries, is_real_directory
from remit.trust.executed_files import is_kept, runs_code
from remit.trust.server_sandbox import SandboxError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_MOST_ENTRIES = 200_000
_MOST_SECONDS = 2.0
_BARE = "HEAD"  # it makes any directory a repository
# Installed packages: to change those is to change what they do.
_SKIPPED = frozenset(("node_modules", "site-packages", "__pycache__"))
# Made empty in a writable project that has none: with files in them, these tools run code without asking.
_RESERVED = (".git", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".vscode")
# Likewise, for a user who has such a directory in the home.
_RESERVED_IF_USED = (
    *(".amazonq", ".augment", ".continue", ".factory", ".junie", ".kilocode", ".kiro", ".qwen", ".roo"),
    *(".trae", ".windsurf"),
)


class Protected(NamedTuple):
    """Paths in writable directories that a sandbox mounts by themselves."""

    read_only: tuple[str, ...]
    pinned: tuple[str, ...]  # directories above them, writable, that must keep their names


def protect(writable: Sequence[str], root: str, home: str) -> Protected:
    """Find what runs code later in writable directories, and reserve its names in a writable project.

    Raises:
        SandboxError: it cannot be protected.
    """
    read_only: list[str] = []
    if any(is_at_or_below(root, each) for each in writable):
        read_only += _reserved(root, home)
    budget = WalkBudget(_MOST_ENTRIES, _MOST_SECONDS)
    for top in writable:
        try:
            read_only += _found_below(top, root, budget)
        except WalkLimitError as error:
            hint = "name the directories that it needs to change"
            raise SandboxError(f"`{top}` is too large to make it writable: {error}", hint) from None
    unnamed = dict.fromkeys(
        kept for path in read_only if path not in writable for kept in _without_link(path, writable)
    )
    return Protected(tuple(unnamed), tuple(_pinned(unnamed, writable)))


def _without_link(path: str, writable: Sequence[str]) -> Iterator[str]:
    """Yield a path, or for a link its target, if a writable directory contains that.

    Raises:
        SandboxError: a link cannot be protected, and its target may be a secret.
    """
    if not os.path.islink(path):
        yield path
        return
    if runs_code(os.path.basename(path)) or os.path.basename(path) == _BARE:
        hint = "replace the link, or make another directory writable"
        raise SandboxError(f"`{path}` is a link, which cannot be protected", hint)
    target = os.path.realpath(path)
    is_within = any(is_at_or_below(target, each) for each in writable)
    if is_within and os.path.exists(target) and not any(is_at_or_below(each, target) for each in writable):
        yield target


def _pinned(read_only: Collection[str], writable: Sequence[str]) -> Iterator[str]:
    """Yield the directories between writable ones and what is read-only in them, except in what is."""
    kept = frozenset(read_only)
    found = dict.fromkeys(
        above
        for path in read_only
        for top in writable
        if is_at_or_below(path, top)
        for above in ancestors(path, up_to=top)[1:-1]
    )
    yield from (each for each in found if kept.isdisjoint(ancestors(each)))


def _reserved(root: str, home: str) -> list[str]:
    """Make the directories that are missing, and return all of them."""
    git = os.path.join(root, ".git")
    is_repository = os.path.isfile(git) or os.path.lexists(os.path.join(git, "HEAD"))
    used = [name for name in _RESERVED_IF_USED if os.path.isdir(os.path.join(home, name))]
    names = [*_RESERVED, *used, *([] if is_repository else [_BARE])]
    paths = [os.path.join(root, name) for name in names]
    for path in paths:
        if not os.path.lexists(path):
            try:
                os.mkdir(path)
            except OSError as error:
                raise SandboxError(f"`{path}` cannot be protected: {error.strerror}") from None
    return paths


def _found_below(top: str, root: str, budget: WalkBudget) -> Iterator[str]:
    """Yield what runs code later, and directories that cannot be searched for it."""
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        if not os.access(directory, os.R_OK | os.X_OK) and directory != top:
            yield directory
        found = list(entries(directory, budget, within=ANYWHERE))
        at_top = directory == root or any(entry.name == ".git" for entry in found)
        for entry in found:
            if is_kept(entry.name, at_top=at_top):
                yield entry.path
            elif entry.name not in _SKIPPED and is_real_directory(entry):
                waiting.append(entry.path)
