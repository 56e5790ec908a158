"""The context of a decision: the caller, the workspace, and the rules."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from remit.decision.agents import Agent
from remit.decision.policy import NO_POLICY, Policy
from remit.decision.policy_rules import Mode
from remit.decision.projects import DEFAULT_FLAGS, TEAM, LaunchFlags, View, Workspace
from remit.decision.requirements import NO_REQUIREMENTS, Requirements

if TYPE_CHECKING:
    from remit.decision.permissions.client_permissions import ClientPermissions
    from remit.decision.state_snapshot import Snapshot
    from remit.decision.tools import Tool

_TEAM_RULES = "/remit.toml"  # ends the name of a team's rules, which are in the store

FilterFiles = tuple[tuple[str, str], ...]  # paths of Python filter files, with digests of their content


class FilterRefusal(NamedTuple):
    """Why a Python filter refuses a tool; `Decision` says who reads which part."""

    reason: str
    detail: str | None = None
    unlock: str | None = None


class StatesRead(Protocol):
    """The states that filters have read so far."""

    @property
    def read(self) -> Collection[str]: ...


class ToolFilters(Protocol):
    """The Python filters of the user and of the application."""

    @property
    def states(self) -> StatesRead: ...

    def refusal(self, tool: "Tool", context: "Context") -> FilterRefusal | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The caller, the workspace, and the rules of a decision."""

    workspace: Workspace
    client: str | None  # None: all clients, for an inventory
    flags: LaunchFlags = DEFAULT_FLAGS
    agent: Agent | None = None  # None: the main session
    home: str = ""  # shortens paths in reasons
    starts_servers: bool = False  # Remit itself starts servers, so a project's servers must be trusted
    is_installed: bool = (
        False  # in the client, so these servers must be trusted even if the client starts them
    )
    requirements: Requirements = NO_REQUIREMENTS
    snapshot: "Snapshot | None" = None  # None: no detectors ran, because no tool requires a state
    policy: Policy = NO_POLICY
    permissions: "Mapping[str, ClientPermissions] | None" = None  # by client; None: not read yet
    mode: Mode | None = None  # None: the configured mode
    filter_files: FilterFiles = ()
    filters: ToolFilters | None = None  # None: there are none, or they are not loaded yet
    run_context: object = None  # passed to filters by the host application
    ignores_lock: bool = False  # to write or check the project's lock

    def view(self, client: str) -> View:
        """Return the view of one client's configuration from this workspace."""
        return View(client, self.workspace, self.flags)

    def permissions_of(self, client: str) -> "ClientPermissions | None":
        """Return a client's own permission rules; None if it has none."""
        return None if self.permissions is None else self.permissions.get(client)


def shorten(path: str, context: Context) -> str:
    """Shorten a path relative to the workspace or the home directory."""
    for base, sign in ((context.workspace.dir, ""), (context.home, "~" + os.sep)):
        inside = base.rstrip(os.sep) + os.sep
        if base and path.startswith(inside):
            return sign + path[len(inside) :]
    if path.startswith(TEAM) and path.endswith(_TEAM_RULES):
        return f"the rules of team {path.removeprefix(TEAM).removesuffix(_TEAM_RULES)}"
    return path


def shorten_with_line(path: str, line: int, context: Context) -> str:
    """Shorten a path, and add a line of it; 0: unknown."""
    comma = "," if path.startswith(TEAM) else ""
    return shorten(path, context) + (f"{comma} line {line}" if line else "")


def project_option(context: Context) -> str:
    """Return the option that a command needs to reach a team's project; in a directory, it needs none."""
    project = context.workspace.project
    return f" --project {project.path}" if project.is_of_team else ""
