"""Finds the line of a file at which a server is declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from remit.decision.kinds import Kind
from remit.decision.scopes import Scope

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.decision.declarations import Declaration
    from remit.decision.tools import Tool

_TABLES = (  # that clients keep their servers in; plugins have files that are the table
    ("mcpServers",),
    ("servers",),
    ("mcp_servers",),
    ("mcp", "servers"),
    ("mcp",),
    ("context_servers",),
    ("extensions",),
    (),
)


class LineOf(Protocol):
    """Finds the line of the member that keys lead to in a file; 0: unknown."""

    def __call__(self, path: str, /, *keys: str) -> int: ...


def declaration_line(tool: Tool | Declaration, context: Context, line_of: LineOf) -> int | None:
    """Find the line that declares a server or the server of a tool; None if the whole file does."""
    if tool.server is None or tool.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL) or tool.agent is not None:
        return None
    lines = (line_of(tool.source, *keys, tool.server) for keys in _tables(tool, context))
    return next(filter(None, lines), None)


def _tables(tool: Tool | Declaration, context: Context) -> Iterator[tuple[str, ...]]:
    if tool.scope is Scope.LOCAL:
        yield "projects", context.workspace.project.path, "mcpServers"
    else:
        yield from _TABLES
