"""Projects, workspaces, and a client's view of a workspace.

Named tuples instead of dataclasses, because short-lived hook processes import this module.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple


class Project(NamedTuple):
    """The identity of a repository: the canonical root of its main checkout."""

    path: str
    hash: str

    @property
    def short_name(self) -> str:
        """The name used in URLs: the directory name with a part of the hash."""
        folder = self.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        plain = "".join(
            sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "-" for sign in folder
        )
        return f"{plain.strip('-') or 'project'}-{self.hash[:8]}"


class Workspace(NamedTuple):
    """A launch directory inside a project."""

    dir: str
    checkout: str  # root of the checkout that contains `dir`; a linked worktree has its own
    project: Project


def identify(path: str) -> Project:
    """Return the project whose canonical root is `path`."""
    return Project(path=path, hash=sha256(path.encode()).hexdigest()[:16])


def called(name: str, projects: Iterable[Project]) -> Project | None:
    """Find a project by hash or short name; None unless exactly one matches."""
    found = [project for project in projects if name in (project.hash, project.short_name)]
    return found[0] if len(found) == 1 else None


class LaunchFlags(NamedTuple):
    """Command-line flags of a client that change what it loads."""

    is_headless: bool = False  # without a terminal, nothing waits for approval
    mcp_configs: tuple[str, ...] = ()  # server files for one session

    @property
    def key(self) -> str:
        """A key for these flags; empty for the defaults."""
        return "" if self == LaunchFlags() else json.dumps(self)


DEFAULT_FLAGS = LaunchFlags()


def runs_headless(variables: Mapping[str, str]) -> bool:
    """Return whether Claude Code runs without a terminal, from the environment of a hook or server."""
    return variables.get("CLAUDE_CODE_ENTRYPOINT", "cli") != "cli"


class View(NamedTuple):
    """One client's configuration as one workspace sees it."""

    client: str
    workspace: Workspace
    flags: LaunchFlags = DEFAULT_FLAGS
