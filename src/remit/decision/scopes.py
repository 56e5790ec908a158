"""Scopes: where a declaration applies, and which scope wins.

The SQL fragment `in_scope` has the same rule; a property test keeps them equal.
"""

import os
from enum import StrEnum

from remit.decision.kinds import Kind
from remit.decision.projects import Workspace


class Scope(StrEnum):
    """Where a declaration applies, in listing order."""

    MANAGED = "managed"
    DYNAMIC = "dynamic"  # passed to the client at launch, for one session
    LOCAL = "local"
    PROJECT = "project"
    TEAM = "team"  # shared by the projects of a team, in a shared store
    GLOBAL = "global"
    PLUGIN = "plugin"


PRECEDENCE: dict[Kind, tuple[Scope, ...]] = {  # strongest first
    Kind.MCP_SERVER: (Scope.MANAGED, Scope.DYNAMIC, Scope.LOCAL, Scope.PROJECT, Scope.TEAM, Scope.GLOBAL),
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
    is_of_machine = workspace.team is None  # a team's project has nothing from the files of any machine
    if scope in (Scope.GLOBAL, Scope.MANAGED):
        return is_of_machine
    if scope is Scope.TEAM:
        return workspace.team is not None and project_hash == workspace.team.hash
    owned = project_hash == workspace.project.hash
    if scope is Scope.PLUGIN:
        return owned or (project_hash is None and is_of_machine)
    if scope in (Scope.LOCAL, Scope.DYNAMIC):
        return owned
    return owned and dir is not None and is_at_or_below(workspace.dir, dir)


def is_at_or_below(path: str, dir: str) -> bool:
    """Return whether a canonical path is a directory or inside it."""
    return path == dir or path.startswith(dir if dir.endswith(os.sep) else dir + os.sep)


def ancestors(path: str, *, up_to: str | None = None) -> tuple[str, ...]:
    """List a canonical directory and its ancestors, nearest first, optionally only up to one of them."""
    found = [path]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return tuple(dir for dir in found if up_to is None or is_at_or_below(dir, up_to))
