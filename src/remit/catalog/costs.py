"""Token costs of tools, servers and whole catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.kinds import Kind, ToolStatus
from remit.decision.row_status import server_of, servers_in_force
from remit.decision.tool_names import REMIT, is_covered

if TYPE_CHECKING:
    from remit.decision.decide import ToolDecision
    from remit.decision.tools import Tool

Place = tuple[str | None, ...]


class SentDefinitions(StrEnum):
    """Which definitions of the visible tools a model gets in each request."""

    ALL = "all"
    SOME = "some"  # Remit chooses them
    NAMES = "names"  # the client sends names, and searches the definitions


class Costs(NamedTuple):
    """The estimated tokens of definitions, if all are sent."""

    visible: int = 0
    all: int = 0  # as if every declared tool were visible
    uncounted: int = 0  # visible servers whose tools are unknown
    counted: int = 0  # visible servers whose tools are known, except Remit's own

    @property
    def is_misleading(self) -> bool:
        """Whether there are servers, but none is counted: the sum is then only what little else costs."""
        return self.uncounted > 0 and not self.counted


def charge(tools: Sequence[Tool]) -> list[Tool]:
    """Set the cost of each server to that of its known tools, except those that it no longer lists."""
    sums: dict[int, int] = {}
    owner = owners(tools)
    for tool in tools:
        if tool.kind is Kind.MCP_TOOL and tool.tokens is not None and (server := owner(tool)) is not None:
            is_charged = tool.status is not ToolStatus.STALE and is_sent(tool)
            sums[id(server)] = sums.get(id(server), 0) + (tool.tokens if is_charged else 0)
    return [
        tool._replace(tokens=sums.get(id(tool), None if tool.listed_at is None else 0))
        if _is_server(tool)
        else tool
        for tool in tools
    ]


def charged_servers(listed: Iterable[ToolDecision]) -> list[Tool]:
    """Return the visible servers, each with the cost of its visible tools."""
    visible = [tool for tool, decision in listed if decision.is_available]
    return [tool for tool in charge(visible) if _is_server(tool)]


def add_up(listed: Iterable[ToolDecision]) -> Costs:
    """Add up the costs of tools; skip servers, whose cost is that of their tools."""
    visible = everything = uncounted = counted = 0
    for tool, decision in listed:
        if _is_server(tool):
            uncounted += decision.is_available and tool.tokens is None
            counted += decision.is_available and tool.tokens is not None and tool.source != REMIT
        elif tool.status is not ToolStatus.STALE and is_sent(tool):
            everything += tool.tokens or 0
            visible += (tool.tokens or 0) if decision.is_available else 0
    return Costs(visible=visible, all=everything, uncounted=uncounted, counted=counted)


def is_sent(tool: Tool) -> bool:
    """Check whether a visible tool's definition is sent; a tool that is held back must be used first."""
    return not tool.is_held_back or tool.usage_count > 0


def owners(tools: Sequence[Tool]) -> Callable[[Tool], Tool | None]:
    """Return a function that finds a tool's server by its place, else by its name."""
    by_place: dict[Place, list[Tool]] = {}
    for tool in tools:
        if _is_server(tool):
            by_place.setdefault(_place(tool), []).append(tool)
    in_force = servers_in_force(tools)

    def owner(tool: Tool) -> Tool | None:
        # There may be several, if plugins have servers with the same label.
        here = (server for server in by_place.get(_place(tool), ()) if is_covered(tool.name, server.name))
        return next(here, None) or server_of(tool, in_force)

    return owner


def _is_server(tool: Tool) -> bool:
    return tool.kind is Kind.MCP_SERVER


def _place(tool: Tool) -> Place:
    return tool.client, tool.scope, tool.project_hash, tool.dir, tool.server
