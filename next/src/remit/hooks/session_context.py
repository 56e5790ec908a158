"""Writes the text that an agent gets at session start, within a budget of characters and tokens.

Nothing depends on the time and every order is total, so the same state gives the same bytes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.decision import CALL_TOOL, Gate, Kind, Snapshot, Status, Tool, ToolDecision, is_demoted
from remit.hooks.usage import UNFAMILIAR, Familiar, familiarity, owner_of, with_servers
from remit.text import Section, assemble, one_line

if TYPE_CHECKING:
    from remit.catalog import GatewayView, Registry
    from remit.decision import Context
    from remit.hooks.notices import Notice
    from remit.text import Clock

MAX_CHARACTERS = 6_000
MAX_TOOLS = 10
MAX_DESCRIPTION = 120
MAX_STATES = 400  # characters of the line about states
_KEEP_TOOLS, _KEEP_STATES = 0, 7  # memory's sections rank between these
_LABELS = {Kind.MCP_SERVER: "MCP: ", Kind.SKILL: "skill: ", Kind.PLUGIN: "plugin: ", Kind.SUBAGENT: "agent: "}
_ORDER = {kind: rank for rank, kind in enumerate(Kind)}
_NAMED = 2  # tools named next to their server
_CAUSES = 3  # named reasons why states hide tools
_FINDS = "available: `discover_tools` finds them"


def session_text(
    registry: "Registry",
    context: "Context",
    clock: "Clock",
    *,
    budget: int | None = None,
    notices: "Sequence[Notice]" = (),
) -> str:
    """Return the text that an agent gets at session start; tools are named as the model calls them."""
    catalog = registry.catalog(context)
    snapshot = registry.snapshot(catalog)
    listed, view = catalog.at(snapshot), registry.view(context)
    budget = MAX_CHARACTERS if budget is None else budget
    available = [item.tool for item in listed if item.decision.is_available]
    failed = {owner_of(tool) for tool in available if tool.failure is not None and tool.listed_at is None}
    sections = [
        Section(states_section(listed, snapshot), _KEEP_STATES),
        Section(_missing(notices), _KEEP_STATES),
        Section(
            tools_section(
                [tool for tool in available if owner_of(tool) not in failed],
                budget=budget,
                familiar=familiarity(registry.store, context.workspace),
                called=_naming(view),
                more=_FINDS if view.can_discover else "available",
            ),
            _KEEP_TOOLS,
        ),
    ]
    if catalog.configuration.memory:
        from remit.memory import sections as of_memory  # off until a person turns it on

        sections = [*of_memory(registry.store, context.workspace, clock()), *sections]
    return assemble(sections, budget=budget, tokens=catalog.configuration.context_budget)


def _naming(view: "GatewayView") -> Callable[[Tool], str]:
    """Name a tool as the model calls it: directly, or through `call_tool` if the gateway does not list it."""
    listed = {entry.tool.key for entry in view.presentation.entries}

    def called(tool: Tool) -> str:
        name = view.served.names.get(tool.key)
        if name is None or view.prefix is None or tool.key in listed:
            return view.name_of(tool)
        return f"{name} through {view.prefix}{CALL_TOOL}"

    return called


def _missing(notices: "Sequence[Notice]") -> str:
    if not notices:
        return ""
    from remit.hooks.notices import notices_section  # commands that count the text's tokens have none

    return notices_section(notices)


def tools_section(
    tools: Iterable[Tool],
    *,
    budget: int = MAX_CHARACTERS,
    familiar: Familiar | None = None,
    called: Callable[[Tool], str] = lambda tool: tool.name,
    more: str = "available",
) -> str:
    """Describe the tools that an agent may not know, one line each, by kind.

    What works comes first, then what this project used often and recently.
    """
    known = list(tools)
    familiar = with_servers(familiar or {}, known)
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


def states_section(listed: Iterable[ToolDecision], snapshot: Snapshot) -> str:
    """Describe in one line which states hold and what they hide; empty where no rule mentions states."""
    if not snapshot.states:
        return ""
    hidden = Counter(item.decision.reason for item in listed if item.decision.gate is Gate.STATE)
    holding = ", ".join(sorted(name for name, value in snapshot.states.items() if value.truth))
    ordered = sorted(hidden.items(), key=lambda cause: (-cause[1], cause[0]))
    causes = "; ".join(f"{count} ({reason})" for reason, count in ordered[:_CAUSES])
    line = f"States that hold: {holding or 'none'}." + (f" Hidden by states: {causes}." if causes else "")
    return one_line(line, MAX_STATES)


class _Lines:
    """Writes one line per tool."""

    def __init__(self, known: Sequence[Tool], familiar: Familiar, called: Callable[[Tool], str]) -> None:
        self._familiar = familiar
        self._called = called
        self._used = _most_used(known, familiar)

    def write(self, tools: Sequence[Tool], *, is_described: bool) -> str:
        """Write the section, starting with the kind of the first tool."""
        kinds = {kind: rank for rank, kind in enumerate(dict.fromkeys(tool.kind for tool in tools))}
        grouped = sorted(tools, key=lambda tool: kinds[tool.kind])
        return "\n".join(["## Available Tools", *(self._line(tool, is_described) for tool in grouped)])

    def _line(self, tool: Tool, is_described: bool) -> str:
        name = tool.server if tool.kind is Kind.MCP_SERVER and tool.server is not None else self._called(tool)
        known = self._familiar.get((tool.client, tool.name))
        count = tool.uses if known is None else known.uses
        uses = f", {count}x" if count else ""
        line = f"- {_LABELS.get(tool.kind, '')}{one_line(name, MAX_DESCRIPTION)} ({tool.scope}{uses})"
        if tool.kind is Kind.MCP_SERVER and (used := self._used.get(owner_of(tool))):
            return f"{line}: {', '.join(one_line(self._called(item), MAX_DESCRIPTION) for item in used)}"
        description = one_line(tool.description or "", MAX_DESCRIPTION) if is_described else ""
        return f"{line} - {description}" if description else line


def _most_used(tools: Sequence[Tool], familiar: Familiar) -> Mapping[tuple[str, str], Sequence[Tool]]:
    """Find the tools of each server that this project uses most."""
    used: dict[tuple[str, str], list[Tool]] = {}
    for tool in tools:
        if tool.kind is Kind.MCP_TOOL and (tool.client, tool.name) in familiar:
            used.setdefault(owner_of(tool), []).append(tool)
    return {
        owner: sorted(items, key=lambda tool: _rank(tool, familiar))[:_NAMED] for owner, items in used.items()
    }


def _displayable(tools: Sequence[Tool]) -> list[Tool]:
    """Leave out built-in tools, and tools whose server is listed."""
    servers = {owner_of(tool) for tool in tools if tool.kind is Kind.MCP_SERVER}
    return [
        tool
        for tool in tools
        if tool.kind is not Kind.BUILTIN and not (tool.kind is Kind.MCP_TOOL and owner_of(tool) in servers)
    ]


def _rank(tool: Tool, familiar: Familiar) -> tuple[bool, float, int, int, str, str]:
    return (
        tool.status in (Status.STALE, Status.UNLISTED) or is_demoted(tool.outcomes),
        -familiar.get((tool.client, tool.name), UNFAMILIAR).weight,
        _ORDER[tool.kind],
        -tool.uses,
        tool.name,
        f"{tool.scope} {tool.dir or ''}",
    )
