"""Familiarity: how often and how recently a project used its tools.

Weights halve in a week. They decay relative to the newest use instead of the current time, so the order of
tools changes only when a tool is used.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from remit.decision.kinds import Kind
from remit.decision.tool_names import normalise
from remit.decision.tools import Tool

HOUR = 3_600_000  # milliseconds
HALF_LIFE = 7 * 24  # hours
SHOWN = 90 * 24 * HOUR  # before the newest use; older uses do not count

ToolPlace = tuple[str, str, str, str, str]


class HourlyUse(NamedTuple):
    """The uses of one tool in one hour, in one project."""

    place: ToolPlace
    hour: int  # since 1970
    uses: int
    failures: int


class Familiarity(NamedTuple):
    """How much a project uses a tool."""

    uses: int = 0
    failures: int = 0
    weight: float = 0.0
    last_used_at: int | None = None  # to the hour


UNFAMILIAR = Familiarity()
Familiar = Mapping[ToolPlace, Familiarity]


def place_of(tool: Tool) -> ToolPlace:
    """Return the key of a tool's row, independent of the server that adopted it."""
    return tool.client, tool.kind, tool.scope, tool.dir or "", tool.name


def familiarities(tallies: Iterable[HourlyUse]) -> dict[ToolPlace, Familiarity]:
    """Sum up uses by tool."""
    listed = list(tallies)
    newest = max((each.hour for each in listed), default=0)
    found: dict[ToolPlace, Familiarity] = {}
    for place, hour, uses, failures in sorted(listed):
        weight = uses * 2.0 ** ((hour - newest) / HALF_LIFE)
        found[place] = _sum(
            found.get(place, UNFAMILIAR), Familiarity(uses, failures, weight, (hour + 1) * HOUR - 1)
        )
    return found


def with_servers(familiar: Familiar, tools: Sequence[Tool]) -> dict[ToolPlace, Familiarity]:
    """Add each server with the total familiarity of its tools."""
    sums: dict[tuple[str, str], Familiarity] = {}
    for tool in tools:
        if tool.kind is Kind.MCP_TOOL and (known := familiar.get(place_of(tool))):
            sums[owner_of(tool)] = _sum(sums.get(owner_of(tool), UNFAMILIAR), known)
    servers = {
        place_of(tool): sums[owner_of(tool)]
        for tool in tools
        if tool.kind is Kind.MCP_SERVER and owner_of(tool) in sums
    }
    return {**familiar, **servers}


def owner_of(tool: Tool) -> tuple[str, str]:
    """Return the client and name of a tool's server, or of a server itself."""
    return tool.client, normalise(tool.server or "")


def _sum(one: Familiarity, other: Familiarity) -> Familiarity:
    last = max(filter(None, (one.last_used_at, other.last_used_at)), default=None)
    return Familiarity(one.uses + other.uses, one.failures + other.failures, one.weight + other.weight, last)
