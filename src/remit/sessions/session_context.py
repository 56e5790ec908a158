"""Writes the text that an agent gets at session start, within a budget of characters and tokens.

The text is deterministic: nothing depends on the time, and every order is total.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.configuration.layers import MAX_CHARACTERS
from remit.decision.decide import ToolDecision
from remit.decision.gates import Gate
from remit.decision.kinds import Kind, ToolStatus
from remit.decision.state_snapshot import Snapshot
from remit.decision.tool_names import full_label
from remit.decision.tools import Tool
from remit.text.untrusted_text import one_line
from remit.usage.familiarity import UNFAMILIAR, Familiar, Familiarity, owner_of, place_of, with_servers

if TYPE_CHECKING:
    from remit.decision.declarations import Key

MAX_TOOLS = 10
MAX_DESCRIPTION = 120
MAX_STATES = 400  # characters of the line about states

KEEP_TOOLS, KEEP_STATES = 0, 7  # memory's sections rank between these

_ORDER = {kind: rank for rank, kind in enumerate(Kind)}
_LABELS = {Kind.MCP_SERVER: "MCP: ", Kind.SKILL: "skill: ", Kind.PLUGIN: "plugin: ", Kind.SUBAGENT: "agent: "}
_NAMED = 2  # tools named next to their server
_CAUSES = 3  # named reasons why states hide tools

Called = Callable[[Tool], str]  # returns the name that a model can call


def tools_section(
    tools: Iterable[Tool],
    *,
    budget: int = MAX_CHARACTERS,
    familiar: Familiar | None = None,
    called: Called = lambda tool: tool.name,
    more: str = "available",
) -> str:
    """Describe the tools that an agent may not know, one line each, grouped by kind.

    Active tools come before demoted and stale ones, then those that this project used often and recently.
    """
    known = list(tools)
    familiar = None if familiar is None else with_servers(familiar, known)
    listed = sorted(_displayable(known), key=lambda tool: _rank(tool, familiar))
    lines = _Lines(known, familiar, called)
    most = min(len(listed), MAX_TOOLS)
    # Another name is worth more than descriptions, so those appear only if all selected tools fit.
    for count, is_described in ((most, True), *((count, False) for count in range(most, 0, -1))):
        text = lines.write(listed[:count], is_described=is_described)
        if count < len(listed):
            text += f"\n({len(listed) - count} more {more})"
        if listed and len(text) <= budget:
            return text
    return ""


def states_section(listed: Iterable[ToolDecision], snapshot: Snapshot | None) -> str:
    """Describe in one line which states hold and what they hide; empty without a snapshot."""
    items = list(listed)
    if snapshot is None:
        return ""
    hidden = Counter(item.decision.reason for item in items if item.decision.gate is Gate.STATE)
    holding = ", ".join(sorted(name for name, value in snapshot.states.items() if value.truth))
    ordered = sorted(hidden.items(), key=lambda each: (-each[1], each[0]))
    causes = "; ".join(f"{count} ({reason})" for reason, count in ordered[:_CAUSES])
    line = f"States that hold: {holding or 'none'}." + (f" Hidden by states: {causes}." if causes else "")
    return one_line(line, MAX_STATES)


def told_apart(tools: Sequence[Tool], obstacles: "Mapping[Key, str]") -> tuple[list[Tool], dict[str, str]]:
    """Split tools into usable ones and servers that cannot be used, by label with the reason.

    A server that failed cannot be used if it never listed its tools.
    """
    idle: dict[tuple[str, str], str] = {}
    for tool in tools:
        failure = tool.failure if tool.listed_at is None else None
        if why := obstacles.get(tool.key) or failure:
            idle[_whose(tool)] = why
    usable = [tool for tool in tools if _whose(tool) not in idle]
    return usable, {label: reason for (_, label), reason in sorted(idle.items())}


def obstacles_section(idle: Mapping[str, str]) -> str:
    """Describe in one line which servers cannot be used, and why."""
    said = "; ".join(f"{server} ({reason})" for server, reason in idle.items())
    return one_line(f"Cannot start here: {said}.", MAX_STATES) if idle else ""


def _whose(tool: Tool) -> tuple[str, str]:
    return tool.client, full_label(tool.server or "", tool.plugin)


class _Lines:
    """Writes one line per tool."""

    def __init__(self, known: Sequence[Tool], familiar: Familiar | None, called: Called) -> None:
        self._familiar = familiar
        self._called = called
        self._used = _most_used(known, familiar or {})

    def write(self, tools: Sequence[Tool], *, is_described: bool) -> str:
        """Write the section, starting with the kind of the first tool."""
        kinds = {kind: rank for rank, kind in enumerate(dict.fromkeys(tool.kind for tool in tools))}
        grouped = sorted(tools, key=lambda tool: kinds[tool.kind])
        return "\n".join(["## Available Tools", *(self._line(tool, is_described) for tool in grouped)])

    def _line(self, tool: Tool, is_described: bool) -> str:
        name = tool.server if tool.kind is Kind.MCP_SERVER and tool.server is not None else self._called(tool)
        count = tool.usage_count if self._familiar is None else _known(tool, self._familiar).uses
        uses = f", {count}x" if count else ""
        line = f"- {_LABELS.get(tool.kind, '')}{one_line(name, MAX_DESCRIPTION)} ({tool.scope}{uses})"
        if tool.kind is Kind.MCP_SERVER and (used := self._used.get(owner_of(tool))):
            return f"{line}: {', '.join(one_line(self._called(each), MAX_DESCRIPTION) for each in used)}"
        description = one_line(tool.description or "", MAX_DESCRIPTION) if is_described else ""
        return f"{line} - {description}" if description else line


def _most_used(tools: Sequence[Tool], familiar: Familiar) -> Mapping[tuple[str, str], Sequence[Tool]]:
    """Find the tools of each server that this project uses most."""
    used: dict[tuple[str, str], list[Tool]] = {}
    for tool in tools:
        if tool.kind is Kind.MCP_TOOL and place_of(tool) in familiar:
            used.setdefault(owner_of(tool), []).append(tool)
    return {
        owner: sorted(found, key=lambda tool: _rank(tool, familiar))[:_NAMED] for owner, found in used.items()
    }


def _displayable(tools: Sequence[Tool]) -> list[Tool]:
    """Leave out built-in tools, and tools whose server is listed."""
    servers = {owner_of(tool) for tool in tools if tool.kind is Kind.MCP_SERVER}
    return [
        tool
        for tool in tools
        if tool.kind is not Kind.BUILTIN and not (tool.kind is Kind.MCP_TOOL and owner_of(tool) in servers)
    ]


def _rank(tool: Tool, familiar: Familiar | None) -> tuple[bool, float, int, int, str, str]:
    weight = 0.0 if familiar is None else _known(tool, familiar).weight
    return (
        tool.status is not ToolStatus.ACTIVE,
        -weight,
        _ORDER[tool.kind],
        -tool.usage_count,
        tool.name,
        f"{tool.scope} {tool.dir or ''}",
    )


def _known(tool: Tool, familiar: Familiar) -> Familiarity:
    return familiar.get(place_of(tool), UNFAMILIAR)
