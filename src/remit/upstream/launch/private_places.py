"""Places that no sandbox opens by accident: credentials and clients' own files.

Only the user's own file opens one, by name. A directory that may contain one is shown entry by entry, without
it. A mask would come off when a program replaces the file, and could not cover a file that is made later.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.scopes import ancestors, is_at_or_below
from remit.files.bounded_reader import ANYWHERE
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.trust.server_sandbox import SandboxError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

_HOME = (
    # keys and logins
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".my.cnf", ".vault-token"),
    *(".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials.toml", ".gem/credentials"),
    *(".m2/settings.xml", ".terraform.d", ".password-store", ".local/share/keyrings", ".config/gcloud"),
    *(".config/gh", ".config/hub", ".config/rclone", ".config/pip", ".config/uv"),
    *(".config/git/credentials", ".Xauthority", ".ICEauthority", ".1password", ".config/1Password"),
    *(".config/op", ".config/Bitwarden", ".config/sops", ".config/glab-cli", ".config/containers"),
    # browsers and mail
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    # clients of MCP
    *(".claude", ".claude.json", ".klaude", ".codex", ".cursor", ".gemini", ".copilot", ".codeium"),
    *(".vscode", ".opencode", ".continue", ".cline", ".roo", ".kiro", ".config/Claude", ".config/Cursor"),
    *(".config/Code", ".config/Windsurf", ".config/Kiro", ".config/Zed", ".config/zed", ".config/opencode"),
    *(".config/goose", ".config/Block/goose", ".config/crush", ".config/amp", ".config/github-copilot"),
    *(".local/share/crush", ".local/share/goose", ".local/share/opencode", ".local/share/amp"),
    *(".qwen", ".factory", ".junie", ".kilocode", ".trae", ".windsurf", ".augment", ".aider.conf.yml"),
    # what was typed
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history"),
)


_MOST_SHOWN = 400  # entries of one directory: `bwrap` takes about a second for so many
_MOST_LISTED = 20_000
_MOST_SECONDS = 1.0


class Entry(NamedTuple):
    """A part of a directory that is shown entry by entry."""

    path: str  # in the sandbox
    source: str | None  # what is shown there; None: an empty directory
    is_link: bool = False  # then the source is where it leads to


def secret_places(home: str, own: Iterable[str]) -> tuple[str, ...]:
    """List the places in a home directory that may hold secrets, and Remit's own directories.

    A place that is or contains a link is also listed by its real path.
    """
    named = (*(os.path.join(home, name) for name in _HOME), *own)
    return tuple(dict.fromkeys((*named, *map(os.path.realpath, named))))


def is_secret(path: str, secrets: Iterable[str]) -> bool:
    """Check whether a path is one of the secret places, or inside one."""
    return any(is_at_or_below(path, each) for each in secrets)


def secret_within(path: str, secrets: Iterable[str]) -> str | None:
    """Return a secret place that a directory contains, or would contain if there were one."""
    paths = {path, os.path.realpath(path)}
    return next(
        (each for each in secrets for top in paths if each not in paths and is_at_or_below(each, top)), None
    )


def entries_without(path: str, secrets: Sequence[str], shown: Container[str]) -> list[Entry]:
    """List what to show of a directory that may contain secret places, besides what is shown already.

    Sockets and devices are left out, as is everything that is made later.

    Raises:
        SandboxError: there is too much to show.
    """
    found: list[Entry] = []
    hidden = frozenset(secrets)
    above = {each for secret in secrets for each in ancestors(secret)}
    budget = WalkBudget(_MOST_LISTED, _MOST_SECONDS)
    waiting = [(path, os.path.realpath(path))]
    try:
        while waiting:
            at, real = waiting.pop()
            found.append(Entry(at, None))
            for entry in entries(real, budget, within=ANYWHERE):
                each = os.path.join(at, entry.name)
                names = {each, entry.path}
                if each in shown or not hidden.isdisjoint(names):
                    continue
                mode = _mode(entry)
                if stat.S_ISLNK(mode):
                    found.append(Entry(each, os.readlink(entry.path), is_link=True))
                elif stat.S_ISDIR(mode) and not above.isdisjoint(names):
                    waiting.append((each, entry.path))
                elif stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                    found.append(Entry(each, entry.path))
    except (OSError, WalkLimitError):
        raise _too_much(path) from None
    if sum(not entry.is_link for entry in found) > _MOST_SHOWN:
        raise _too_much(path)
    return found


def _mode(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mode
    except OSError:  # gone, or a mount that only its owner may enter
        return 0


def _too_much(path: str) -> SandboxError:
    reason = f"`{path}` may contain secrets, and too much else to show without them"
    return SandboxError(reason, "name the directories that it needs to read")
