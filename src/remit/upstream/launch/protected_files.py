"""Keeps read-only what runs code outside of a sandbox later, and hides credentials and clients' own files.

Each protected file becomes a mount, which nobody in the sandbox can rename, remove or replace, and so does
every directory above it. A whole `.git` is protected, not only its hooks and settings: `.git/commondir` moves
both. A sandbox that contains a private place shows it empty. Only the user's own file opens one, by name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.scopes import ancestors, is_at_or_below
from remit.files.bounded_reader import ANYWHERE
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries, is_real_directory
from remit.trust.server_sandbox import RUNS_CODE, SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_MOST_ENTRIES = 200_000
_MOST_SECONDS = 2.0
# Installed packages: to change those is to change what they do.
_SKIPPED = frozenset(("node_modules", "site-packages", "__pycache__"))
# Made empty in a writable project that has none: with files in them, these tools run code without asking.
_RESERVED = (".git", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".vscode")
_HOME = (
    # keys and logins
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".my.cnf", ".vault-token"),
    *(".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials.toml", ".gem/credentials"),
    *(".m2/settings.xml", ".terraform.d", ".password-store", ".local/share/keyrings", ".config/gcloud"),
    *(".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/pip", ".config/uv"),
    *(".config/git/credentials", ".Xauthority", ".ICEauthority"),
    # browsers and mail
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    # clients of MCP
    *(".claude", ".claude.json", ".klaude", ".codex", ".cursor", ".gemini", ".copilot", ".codeium"),
    *(".vscode", ".opencode", ".continue", ".cline", ".roo", ".kiro", ".config/Claude", ".config/Cursor"),
    *(".config/Code", ".config/Windsurf", ".config/Kiro", ".config/Zed", ".config/zed", ".config/opencode"),
    *(".config/goose", ".config/Block/goose"),
    # what was typed
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history"),
)


class Protected(NamedTuple):
    """Paths in writable directories that a sandbox mounts by themselves."""

    read_only: tuple[str, ...]
    pinned: tuple[str, ...]  # directories above them, writable, that must keep their names


def protect(writable: Sequence[str], root: str) -> Protected:
    """Find what runs code later in writable directories, and reserve its names in a writable project.

    Raises:
        SandboxError: it cannot be protected.
    """
    read_only: list[str] = []
    if any(is_at_or_below(root, each) for each in writable):
        read_only += _reserved(root)
    pinned: dict[str, None] = {}
    budget = WalkBudget(_MOST_ENTRIES, _MOST_SECONDS)
    for top in writable:
        try:
            found = list(_found_below(top, budget))
        except WalkLimitError as error:
            hint = "name the directories that it needs to change"
            raise SandboxError(f"`{top}` is too large to make it writable: {error}", hint) from None
        read_only += found
        pinned.update((each, None) for path in found for each in ancestors(path, up_to=top)[1:-1])
    unnamed = [path for path in dict.fromkeys(read_only) if path not in writable]
    for path in unnamed:
        if os.path.islink(path):  # nothing can be mounted on a link, and its target may be a secret
            hint = "replace the link, or make another directory writable"
            raise SandboxError(f"`{path}` is a link, which cannot be protected", hint)
    return Protected(tuple(unnamed), tuple(pinned))


def _reserved(root: str) -> list[str]:
    """Make the directories that are missing, and return all of them."""
    git = os.path.join(root, ".git")
    is_repository = os.path.isfile(git) or os.path.lexists(os.path.join(git, "HEAD"))
    names = _RESERVED if is_repository else (*_RESERVED, "HEAD")  # it makes any directory a repository
    paths = [os.path.join(root, name) for name in names]
    for path in paths:
        if not os.path.lexists(path):
            try:
                os.mkdir(path)
            except OSError as error:
                raise SandboxError(f"`{path}` cannot be protected: {error.strerror}") from None
    return paths


def _found_below(top: str, budget: WalkBudget) -> Iterator[str]:
    """Yield what runs code later, and directories that cannot be searched for it."""
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        if not os.access(directory, os.R_OK | os.X_OK) and directory != top:
            yield directory
        for entry in entries(directory, budget, within=ANYWHERE):
            if entry.name in RUNS_CODE:
                yield entry.path
            elif entry.name not in _SKIPPED and is_real_directory(entry):
                waiting.append(entry.path)


def secret_places(home: str, own: Iterable[str]) -> tuple[str, ...]:
    """List the places in a home directory that may hold secrets, and Remit's own directories."""
    return (*(os.path.join(home, name) for name in _HOME), *own)


def is_secret(path: str, secrets: Iterable[str]) -> bool:
    """Check whether a path is one of the secret places, or inside one."""
    return any(is_at_or_below(path, each) for each in secrets)


def secrets_within(granted: Sequence[str], secrets: Iterable[str]) -> Iterator[str]:
    """Yield the existing secret places that granted directories contain, unless they are granted by name."""
    for each in secrets:
        is_within = any(each != path and is_at_or_below(each, path) for path in granted)
        if is_within and each not in granted and os.path.lexists(each):
            yield each
