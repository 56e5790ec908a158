"""Projects and the workspaces inside them.

Both are named tuples, not dataclasses: a hook process lives for milliseconds and imports this module.
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
        """What it is called in a URL: its folder, and enough of its hash to tell it from others."""
        folder = self.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        plain = "".join(
            sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "-" for sign in folder
        )
        return f"{plain.strip('-') or 'project'}-{self.hash[:8]}"


class Workspace(NamedTuple):
    """A launch directory inside a project."""

    dir: str
    checkout: str  # the root of the checkout around `dir`: a linked worktree has its own
    project: Project


def identify(path: str) -> Project:
    """Name the project whose canonical root is `path`."""
    return Project(path=path, hash=sha256(path.encode()).hexdigest()[:16])


def called(name: str, projects: Iterable[Project]) -> Project | None:
    """Find the one project of a hash or a short name; none where several have it."""
    found = [project for project in projects if name in (project.hash, project.short_name)]
    return found[0] if len(found) == 1 else None


class LaunchFlags(NamedTuple):
    """How the client is started, where that changes what it loads."""

    is_headless: bool = False  # without a terminal, nobody is asked and nothing waits for approval
    mcp_configs: tuple[str, ...] = ()  # files with servers for this one session

    @property
    def key(self) -> str:
        """What tells one way of starting from another; empty for the usual one."""
        return "" if self == LaunchFlags() else json.dumps(self)


DEFAULT_FLAGS = LaunchFlags()


def runs_headless(variables: Mapping[str, str]) -> bool:
    """Tell by what Claude Code hands on to hooks and servers whether it runs without a terminal."""
    return variables.get("CLAUDE_CODE_ENTRYPOINT", "cli") != "cli"


class View(NamedTuple):
    """Whose configuration, seen from where."""

    client: str
    workspace: Workspace
    flags: LaunchFlags = DEFAULT_FLAGS
