"""A project's lock: the servers, packages and definitions that its team reviewed.

A lock can only hold tools: what differs from it is hidden until the lock or the server follows.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from remit.decision.kinds import Kind
from remit.decision.permissions.client_consents import trust_command
from remit.decision.scopes import Scope, is_at_or_below
from remit.decision.tools import Tool

LOCK = "remit.lock"
UNKNOWN = "unknown"  # of a version or an integrity that cannot be known offline


class LockedPackage(NamedTuple):
    """The package that a server runs."""

    kind: str
    name: str
    version: str = UNKNOWN
    integrity: str = UNKNOWN


class LockedServer(NamedTuple):
    """A server of a project as it was locked."""

    entry: str  # digest of its launch
    package: LockedPackage | None = None  # None: its command names none
    tools: Mapping[str, str] | None = None  # pins by canonical name; None: unknown
    instructions: str | None = None  # pin; None: unknown


class ProjectLock(NamedTuple):
    """The content of a lock file, or what is wrong with it."""

    root: str = ""  # of the project
    servers: Mapping[tuple[str, str], LockedServer] = {}  # by the file that declares it, and its name
    visible: Mapping[str, Mapping[str, tuple[str, ...]]] = {}  # tools by client and agent
    problem: str | None = None

    def objection(self, tool: Tool) -> str | None:
        """Return how a server of the project, or its tool, differs from the lock; None if it does not."""
        if tool.scope is not Scope.PROJECT or tool.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL):
            return None
        if self.problem is not None:
            return f"`{LOCK}` is invalid, so the servers of this project are held until it is fixed"
        found = self._server(tool)
        if found is None:
            return f"its server is not in `{LOCK}`"
        if found.entry != tool.entry:
            return f"the entry of its server differs from `{LOCK}`"
        if tool.kind is Kind.MCP_SERVER or found.tools is None or tool.pin is None:
            return None
        if tool.name not in found.tools:
            return f"it is not in `{LOCK}`"
        return None if found.tools[tool.name] == tool.pin else f"its definition differs from `{LOCK}`"

    def instructions_of(self, tool: Tool) -> str | None:
        """Return the locked pin of the instructions of a server; None if the lock does not have it."""
        found = self._server(tool) if tool.scope is Scope.PROJECT else None
        return None if found is None else found.instructions

    def _server(self, tool: Tool) -> LockedServer | None:
        return self.servers.get((relative(tool.source, self.root), tool.server or ""))


def lock_steps(tool: Tool) -> str:
    """Say how the lock of a project follows a server or tool that differs from it."""
    if tool.is_trusted is False:
        trust = f"look at it with `remit trust`, then run `{trust_command(tool.server)}`"
        return f"{trust}, then `remit lock`"
    return "`remit lock --check` shows what differs; `remit lock` updates the lock"


def relative(source: str, root: str) -> str:
    """Return the path of a project's file as a lock names it, the same on every machine."""
    path = os.path.relpath(source, root) if is_at_or_below(source, root) else source
    return path.replace(os.sep, "/")
