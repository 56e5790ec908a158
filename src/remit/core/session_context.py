"""The text an agent is given at session start, inside a budget of characters that it never exceeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from remit.core.kinds import Kind, Status
from remit.core.names import normalise
from remit.core.text import one_line
from remit.core.tools import Tool

MAX_CHARACTERS = 6_000
MAX_TOOLS = 10
MAX_DESCRIPTION = 120

_ORDER = {kind: rank for rank, kind in enumerate(Kind)}
_LABELS = {Kind.MCP_SERVER: "MCP: ", Kind.SKILL: "skill: ", Kind.PLUGIN: "plugin: ", Kind.SUBAGENT: "agent: "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the session context; when space is short, the lowest `keep` goes first."""

    text: str
    keep: int


def assemble(sections: Sequence[Section], *, budget: int = MAX_CHARACTERS) -> str:
    """Join sections, dropping whole ones until the rest fits."""
    kept = [section for section in sections if section.text]
    while len(text := "\n\n".join(section.text for section in kept)) > budget:
        kept.remove(min(kept, key=lambda section: section.keep))
    return text


def tools_section(tools: Iterable[Tool], *, budget: int = MAX_CHARACTERS) -> str:
    """Describe the tools an agent may not know of: a line each, what works before what is demoted or stale,
    and the most used first within their kind.
    """
    listed = sorted(_displayable(list(tools)), key=_rank)
    for count in range(min(len(listed), MAX_TOOLS), 0, -1):
        lines = ["## Available Tools", *map(_line, listed[:count])]
        if count < len(listed):
            lines.append(f"({len(listed) - count} more available)")
        if len(text := "\n".join(lines)) <= budget:
            return text
    return ""


def _displayable(tools: Sequence[Tool]) -> list[Tool]:
    """Prefer servers to their tools, and leave out what every agent knows."""
    servers = {_owner(tool) for tool in tools if tool.kind is Kind.MCP_SERVER}
    return [
        tool
        for tool in tools
        if tool.kind is not Kind.BUILTIN and not (tool.kind is Kind.MCP_TOOL and _owner(tool) in servers)
    ]


def _owner(tool: Tool) -> tuple[str, str]:
    return tool.client, normalise(tool.server or "")


def _rank(tool: Tool) -> tuple[bool, int, int, str, str]:
    return tool.status is not Status.ACTIVE, _ORDER[tool.kind], -tool.usage_count, tool.name, tool.scope


def _line(tool: Tool) -> str:
    name = tool.server if tool.kind is Kind.MCP_SERVER and tool.server is not None else tool.name
    uses = f", {tool.usage_count}x" if tool.usage_count else ""
    description = one_line(tool.description or "", MAX_DESCRIPTION)
    return f"- {_LABELS.get(tool.kind, '')}{one_line(name, MAX_DESCRIPTION)} ({tool.scope}{uses})" + (
        f" - {description}" if description else ""
    )
