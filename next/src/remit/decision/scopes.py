"""Projects, workspaces, and scopes: where a declaration applies, and which scope wins.

The SQL fragment `in_scope` of the store has the same rule as the function; a property test keeps them equal.
"""

import json
import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple


class Project(NamedTuple):
    """The identity of a repository: the canonical root of its main checkout."""

    path: str
    hash: str

    @property
    def short_name(self) -> str:
        """The name used in URLs: the directory's name with a part of the hash."""
        folder = self.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        plain = "".join(
            char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in folder
        )
        return f"{plain.strip('-') or 'project'}-{self.hash[:8]}"


class Workspace(NamedTuple):
    """A launch directory inside a project."""

    dir: str
    checkout: str  # root of the checkout that contains `dir`; a linked worktree has its own
    project: Project
    group: Project | None = None  # shares the project's servers and rules through another database

    @property
    def has_files(self) -> bool:
        """Whether it is a directory of this machine; a group's project is in the database alone."""
        return self.group is None


class LaunchFlags(NamedTuple):
    """Command-line flags of a client that change what it loads."""

    is_headless: bool = False  # without a terminal, nothing waits for approval
    mcp_configs: tuple[str, ...] = ()  # server files for one session

    @property
    def key(self) -> str:
        """A key for these flags; empty for the defaults."""
        return "" if self == LaunchFlags() else json.dumps(self)


class View(NamedTuple):
    """One client's configuration as one workspace sees it."""

    client: str
    workspace: Workspace
    flags: LaunchFlags = LaunchFlags()


def identify(path: str) -> Project:
    """Return the project whose canonical root is `path`."""
    return Project(path=path, hash=sha256(path.encode(errors="surrogateescape")).hexdigest()[:16])


def project_called(name: str, projects: Iterable[Project]) -> Project | None:
    """Find a project by hash or short name; None unless exactly one matches."""
    matching = [project for project in projects if name in (project.hash, project.short_name)]
    return matching[0] if len(matching) == 1 else None


def runs_headless(variables: Mapping[str, str]) -> bool:
    """Return whether Claude Code runs without a terminal, from the environment of a hook or server."""
    return variables.get("CLAUDE_CODE_ENTRYPOINT", "cli") != "cli"


class Kind(StrEnum):
    """The kind of a tool, in listing order."""

    MCP_SERVER = "mcp_server"
    SLASH_COMMAND = "slash_command"
    SKILL = "skill"
    PLUGIN = "plugin"
    SUBAGENT = "subagent"
    MCP_TOOL = "mcp_tool"
    BUILTIN = "builtin"


class Scope(StrEnum):
    """Where a declaration applies, in listing order."""

    MANAGED = "managed"
    DYNAMIC = "dynamic"  # passed to the client at launch, for one session
    LOCAL = "local"
    PROJECT = "project"
    GROUP = "group"  # shared by several projects through another database
    GLOBAL = "global"
    PLUGIN = "plugin"


PRECEDENCE: dict[Kind, tuple[Scope, ...]] = {  # strongest first
    Kind.MCP_SERVER: (Scope.MANAGED, Scope.DYNAMIC, Scope.LOCAL, Scope.PROJECT, Scope.GROUP, Scope.GLOBAL),
    Kind.SKILL: (Scope.MANAGED, Scope.GLOBAL, Scope.PROJECT, Scope.PLUGIN),
    Kind.SLASH_COMMAND: (Scope.MANAGED, Scope.GLOBAL, Scope.PROJECT, Scope.PLUGIN),
    Kind.SUBAGENT: (Scope.MANAGED, Scope.PROJECT, Scope.GLOBAL, Scope.PLUGIN),
}


def strength(kind: Kind, scope: Scope, dir: str | None) -> tuple[int, int]:
    """Sort key of declarations with the same name, strongest first; the nearest directory wins."""
    order = PRECEDENCE.get(kind, tuple(Scope))
    rank = order.index(scope) if scope in order else len(order)
    return rank, -len(dir or "")


def in_scope(scope: Scope, project_hash: str | None, dir: str | None, workspace: Workspace) -> bool:
    """Return whether a row with this scope, project and directory applies to a workspace."""
    if workspace.group is not None:  # nothing from the files of any machine
        owners = {Scope.GROUP: workspace.group.hash, Scope.PROJECT: workspace.project.hash}
        return project_hash is not None and owners.get(scope) == project_hash
    if scope in (Scope.GLOBAL, Scope.MANAGED):
        return True
    is_projects = project_hash == workspace.project.hash
    if scope is Scope.PLUGIN:
        return is_projects or project_hash is None
    if scope in (Scope.LOCAL, Scope.DYNAMIC):
        return is_projects
    return scope is Scope.PROJECT and is_projects and dir is not None and is_at_or_below(workspace.dir, dir)


def is_at_or_below(path: str, dir: str) -> bool:
    """Return whether a canonical path is a directory or inside it."""
    return path == dir or path.startswith(dir if dir.endswith(os.sep) else dir + os.sep)


def ancestors(path: str, *, up_to: str | None = None) -> tuple[str, ...]:
    """List a canonical directory and its ancestors, nearest first, optionally only up to one of them."""
    dirs = [path]
    while (parent := os.path.dirname(dirs[-1])) != dirs[-1]:
        dirs.append(parent)
    return tuple(dir for dir in dirs if up_to is None or is_at_or_below(dir, up_to))
