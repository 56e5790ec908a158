"""Stores what servers list, without starting them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.decision.tools import Definition
from remit.registry import Registry
from remit.upstream.tool_reader import read_tools
from remit.upstream.upstream_model import Offer, ServerExtras, Upstream


def defined(*tools: Mapping[str, Any], server: str = "notes") -> list[Definition]:
    """Read the definitions of a server."""
    upstream = Upstream(
        key=(), label=server, client="claude-code", permit=None, source="/home/ada/.claude.json"
    )
    found = read_tools(tools, upstream)
    assert not found.quarantined
    return found.tools


def tool(name: str, description: str = "", **more: object) -> dict[str, Any]:
    """Define a tool."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def list_tools(
    registry: Registry,
    directory: Path,
    *tools: Mapping[str, Any],
    server: str = "notes",
    instructions: str | None = None,
    client: str = "claude-code",
) -> None:
    """Store what a declared server lists."""
    context = registry.at(str(directory), client)
    resolved = registry.catalog.resolved(context)
    (declaration,) = (item.declaration for item in resolved if item.declaration.server == server)
    extras = ServerExtras(instructions=instructions)
    registry.catalog.keep(declaration, Offer(tools=defined(*tools, server=server), extras=extras), context)
