"""A project's lock: the servers, packages and definitions that its team reviewed.

A lock can only hold tools: what differs from it is hidden until the lock or the server follows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.definitions.entry_digests import entry_change
from remit.decision.kinds import Kind
from remit.decision.permissions.client_consents import trust_command
from remit.decision.scopes import Scope, is_at_or_below
from remit.decision.tools import Tool

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration

LOCK = "remit.lock"
_LONGEST_INTEGRITY = 24  # characters
UNKNOWN = "unknown"  # of a version or an integrity that cannot be known offline
NOT_IN_PROJECT = "none"  # instead of a digest of files: the project brings no copy of a package
_PLUGIN = "plugin"  # instead of the file of a plugin, which has another path on each machine

Place = tuple[str, str]  # the file that declares a server, relative to the project, and the server's name
# What people read of each server: lines for its entry, its instructions and each tool. No decision uses them.
LockTexts = Mapping[Place, Mapping[str, Sequence[str]]]
ENTRY, INSTRUCTIONS = "entry", "instructions"  # the first two


class LockedPackage(NamedTuple):
    """The package that a server runs."""

    kind: str
    name: str
    version: str = UNKNOWN
    integrity: str = UNKNOWN  # that its runner compared, or will
    files: str = NOT_IN_PROJECT  # digest of the copy in the project that would run, or why there is none


class LockedServer(NamedTuple):
    """A server of a project as it was locked."""

    entry: str  # digest of its launch
    package: LockedPackage | None = None  # None: its command names none
    tools: Mapping[str, str] | None = None  # pins by canonical name; None: unknown
    instructions: str | None = None  # pin; None: unknown
    sandbox: str | None = None  # that the project declares, in words; None: none


class ProjectLock(NamedTuple):
    """The content of a lock file, or what is wrong with it."""

    root: str = ""  # of the project
    servers: Mapping[Place, LockedServer] = {}
    # By client and agent: the tools that can be used, with verdict and danger.
    visible: Mapping[str, Mapping[str, Mapping[str, str]]] = {}
    problem: str | None = None

    def objection(self, tool: Tool) -> str | None:
        """Return how a server of the project, or its tool, differs from the lock; None if it does not."""
        place = lock_place(tool, self.root)
        if place is None or tool.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL):
            return None
        if self.problem is not None:
            return f"`{LOCK}` is invalid, so the servers of this project are held until it is fixed"
        found, is_server = self.servers.get(place), tool.kind is Kind.MCP_SERVER
        if found is None:
            return f"{'it' if is_server else 'its server'} is not in `{LOCK}`"
        if found.entry != tool.entry and tool.scope is not Scope.PLUGIN:  # with a path of this machine
            change = entry_change(found.entry, tool.entry)
            whose = "its entry" if is_server else "the entry of its server"
            return f"{whose} differs from `{LOCK}`" + (f": {change}" if change else "")
        if is_server or found.tools is None or tool.pin is None:
            return None
        if tool.name not in found.tools:
            return f"it is not in `{LOCK}`"
        return None if found.tools[tool.name] == tool.pin else f"its definition differs from `{LOCK}`"

    def package_of(self, declaration: Declaration) -> LockedPackage | None:
        """Return the locked package of a server of the project; None if the lock has none."""
        place = lock_place(declaration, self.root)
        found = None if place is None else self.servers.get(place)
        return None if found is None else found.package

    def instructions_of(self, tool: Tool) -> str | None:
        """Return the locked pin of the instructions of a server; None if the lock does not have the server.

        A server that was locked with its tools and without instructions has an empty one, so none match.
        """
        place = lock_place(tool, self.root)
        found = None if place is None else self.servers.get(place)
        if found is None or (found.tools is None and found.instructions is None):
            return None
        return found.instructions or ""


def package_differences(before: LockedPackage | None, now: LockedPackage | None) -> Iterator[str]:
    """List how the package of a server differs; what is unknown on one side is no difference."""
    if before is None or now is None:
        yield from (f"its package was removed: {each.name}" for each in (before,) if each is not None)
        yield from (f"its package was added: {each.name}" for each in (now,) if each is not None)
        return
    for key, old, new in zip(before._fields, before, now, strict=True):
        if old != new and UNKNOWN not in (old, new):
            yield f"its package: {key} {_short(old)} -> {_short(new)}"


def _short(text: str) -> str:
    return f"{text[:_LONGEST_INTEGRITY]}…" if len(text) > _LONGEST_INTEGRITY + 1 else text


def lock_steps(tool: Tool) -> str:
    """Say how the lock of a project follows a server or tool that differs from it."""
    if tool.is_trusted is False:
        trust = f"look at it with `remit trust`, then run `{trust_command(tool.server)}`"
        return f"{trust}, then `remit lock`"
    return "`remit lock --check` shows what differs; `remit lock` updates the lock"


def lock_place(item: Tool | Declaration, root: str) -> Place | None:
    """Return where a lock has a server, the same on every machine; None if it is not the project's."""
    server = item.server or ""
    if item.scope is Scope.PLUGIN and item.project_hash is not None:
        plugin = (item.plugin or "").replace("/", ":")  # a path of the project looks otherwise
        return f"{_PLUGIN} {plugin}".strip(), server
    return (relative(item.source, root), server) if item.scope is Scope.PROJECT else None


def is_of_plugin(place: Place) -> bool:
    """Return whether a plugin brings a server, which may not be installed on each machine."""
    return place[0].partition(" ")[0] == _PLUGIN and "/" not in place[0]


def relative(source: str, root: str) -> str:
    """Return the path of a project's file as a lock names it, the same on every machine."""
    path = os.path.relpath(source, root) if is_at_or_below(source, root) else source
    return path.replace(os.sep, "/")
