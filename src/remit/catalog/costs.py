"""What tools cost together: a server by its tools, and a whole catalog by what of it is visible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.inherited_status import server_of, servers_in_force
from remit.decision.kinds import Kind, ToolStatus
from remit.decision.tool_names import REMIT, is_covered

if TYPE_CHECKING:
    from remit.decision.decide import ToolDecision
    from remit.decision.tools import Tool

Place = tuple[str | None, ...]


class Costs(NamedTuple):
    """What definitions cost in each request, in tokens; estimates, as all of them."""

    visible: int = 0
    all: int = 0  # if every tool that is declared here were visible
    uncounted: int = 0  # visible servers whose tools are not known


def charge(tools: Sequence[Tool]) -> list[Tool]:
    """Give each server what its known tools cost together."""
    sums: dict[int, int] = {}
    owner = _owners(tools)
    for tool in tools:
        if tool.kind is Kind.MCP_TOOL and tool.tokens is not None and (server := owner(tool)) is not None:
            sums[id(server)] = sums.get(id(server), 0) + (0 if is_held_back(tool) else tool.tokens)
    return [tool._replace(tokens=sums.get(id(tool))) if _is_server(tool) else tool for tool in tools]


def add_up(listed: Iterable[ToolDecision]) -> Costs:
    """Add up what tools cost; a server's cost is that of its tools, and is not counted again."""
    visible = everything = uncounted = 0
    for tool, decision in listed:
        if _is_server(tool):
            uncounted += decision.is_available and tool.tokens is None
        elif tool.status is not ToolStatus.STALE and not is_held_back(tool):
            everything += tool.tokens or 0
            visible += (tool.tokens or 0) if decision.is_available else 0
    return Costs(visible=visible, all=everything, uncounted=uncounted)


def is_held_back(tool: Tool) -> bool:
    """Tell whether a tool is not sent as long as nobody uses it: what Remit brings along."""
    return tool.source == REMIT and not tool.usage_count


def _owners(tools: Sequence[Tool]) -> Callable[[Tool], Tool | None]:
    """Make the function that finds a tool's server: where it is stored, else by its name."""
    by_place: dict[Place, list[Tool]] = {}
    for tool in tools:
        if _is_server(tool):
            by_place.setdefault(_place(tool), []).append(tool)
    in_force = servers_in_force(tools)

    def owner(tool: Tool) -> Tool | None:
        # Several, where plugins have servers of one label.
        here = (server for server in by_place.get(_place(tool), ()) if is_covered(tool.name, server.name))
        return next(here, None) or server_of(tool, in_force)

    return owner


def _is_server(tool: Tool) -> bool:
    return tool.kind is Kind.MCP_SERVER


def _place(tool: Tool) -> Place:
    return tool.client, tool.scope, tool.project_hash, tool.dir, tool.server
