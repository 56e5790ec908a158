"""Places that no sandbox opens by accident: hidden entries of the home directory, and known secrets.

Only the user's own file opens one, by name. A directory that may contain one is shown entry by entry, without
it. A mask would come off when a program replaces the file, and could not cover a file that is made later.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.permissions.client_facts import CLIENTS
from remit.decision.scopes import ancestors, is_at_or_below
from remit.files.bounded_reader import ANYWHERE
from remit.files.bounded_walk import WalkBudget, WalkLimitError, entries
from remit.trust.server_sandbox import SandboxError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

# A home directory shows no hidden entries anyway. These matter where such an entry is named (`~/.config`),
# links to another place, or contains a program.
_HOME = (
    # keys and logins
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".my.cnf", ".vault-token"),
    *(
        ".git-credentials",
        ".npmrc",
        ".yarnrc.yml",
        ".pypirc",
        ".cargo/credentials.toml",
        ".cargo/credentials",
    ),
    *(".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".nuget/NuGet", ".terraform.d"),
    *(".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/gcloud", ".config/gh"),
    *(".config/hub", ".config/glab-cli", ".config/git/credentials", ".config/rclone", ".config/pip"),
    *(".config/uv", ".config/pypoetry", ".config/composer", ".config/containers", ".config/doctl"),
    *(".config/hcloud", ".config/heroku", ".config/stripe", ".config/netlify", ".config/.wrangler"),
    *(".config/anthropic", ".config/openai", ".config/wandb", ".cache/huggingface/token"),
    *(".local/share/com.vercel.cli", ".config/nix", ".config/1Password", ".config/op", ".config/Bitwarden"),
    *(".config/sops", ".config/age", ".config/solana"),
    # browsers and messengers
    *(".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge"),
    *(".config/vivaldi", ".config/opera", ".config/Slack", ".config/discord", ".config/Signal"),
    # clients of MCP; then others that Remit does not read
    *(name for client in CLIENTS.values() for name in client.home),
    *(f".config/{name}" for client in CLIENTS.values() for name in (*client.app, *client.config)),
    *(f".local/share/{name}" for client in CLIENTS.values() for name in client.data),
    *(".codeium", ".config/VSCodium", ".config/crush", ".config/amp", ".config/github-copilot"),
    *(".local/share/crush", ".local/share/amp"),
    *(".qwen", ".factory", ".junie", ".kilocode", ".trae", ".windsurf", ".augment", ".aider.conf.yml"),
    # what was typed
    *(".local/share/fish", ".config/fish/fish_variables", ".local/state/python_history"),
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


def hidden_entry(path: str, home: str) -> str | None:
    """Return the entry of a home directory that a path is in, if only its name opens it; else None.

    Any program may keep keys, logins, cookies and histories in such an entry.
    """
    for top in (home, os.path.realpath(home)):
        if path != top and is_at_or_below(path, top):
            name = os.path.relpath(path, top).split(os.sep)[0]
            return os.path.join(top, name) if _is_hidden(name) else None
    return None


def is_shown(path: str, granted: Iterable[str], home: str) -> bool:
    """Check whether a path is in one of the granted ones, and its entry of the home directory is named."""
    entry = hidden_entry(path, home)
    return any(
        is_at_or_below(path, each) and (entry is None or is_at_or_below(each, entry)) for each in granted
    )


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "snap"


def entries_without(path: str, secrets: Sequence[str], shown: Container[str], home: str) -> list[Entry]:
    """List what to show of a directory that may contain secret places, besides what is shown already.

    Hidden entries of the home directory are left out, as are sockets, devices and what is made later.

    Raises:
        SandboxError: there is too much to show.
    """
    found: list[Entry] = []
    hidden = frozenset(secrets)
    above = {each for secret in secrets for each in ancestors(secret)}
    budget = WalkBudget(_MOST_LISTED, _MOST_SECONDS)
    waiting = [(path, os.path.realpath(path))]
    homes = {home, os.path.realpath(home)}
    try:
        while waiting:
            at, real = waiting.pop()
            found.append(Entry(at, None))
            for entry in entries(real, budget, within=ANYWHERE):
                each = os.path.join(at, entry.name)
                names = {each, entry.path}
                if real in homes and _is_hidden(entry.name):
                    continue
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
