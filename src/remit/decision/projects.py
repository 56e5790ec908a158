"""Projects, workspaces, and a client's view of a workspace.

Named tuples instead of dataclasses, because short-lived hook processes import this module.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

TEAM = "team:"  # starts the path of a team and of its projects; directories have absolute paths


class Project(NamedTuple):
    """The identity of a repository: the canonical root of its main checkout.

    A project of a team has a random hash and no directory; its path is `team:TEAM/NAME`.
    """

    path: str
    hash: str

    @property
    def is_of_team(self) -> bool:
        """Whether an administrator created it for a team."""
        return self.path.startswith(TEAM) and "/" in self.path

    @property
    def short_name(self) -> str:
        """The name used in URLs: the directory name with a part of the hash, or a team project's name."""
        if self.is_of_team:
            return self.path.partition("/")[2]
        folder = self.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        plain = "".join(
            sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "-" for sign in folder
        )
        return f"{plain.strip('-') or 'project'}-{self.hash[:8]}"


def may_name_project(name: str) -> bool:
    """Tell whether a text can name a team's project: by its path, or by a name that is not a path."""
    return name.startswith(TEAM) or (name[:1].isalnum() and not {"/", "\\"} & {*name})


class Workspace(NamedTuple):
    """A launch directory inside a project."""

    dir: str
    checkout: str  # root of the checkout that contains `dir`; a linked worktree has its own
    project: Project
    team: Project | None = None  # the team of a team's project: its path is `team:TEAM`


def team_workspace(project: Project, team: Project) -> Workspace:
    """Return the workspace of a team's project, which has no files."""
    return Workspace(dir=project.path, checkout=project.path, project=project, team=team)


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
