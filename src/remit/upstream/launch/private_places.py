"""Places that no sandbox opens by accident: credentials and clients' own files.

A sandbox that contains one of them shows it empty. Only the user's own file opens one, by name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from remit.decision.scopes import is_at_or_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
