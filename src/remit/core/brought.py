"""Tools that someone brings along, instead of those that the clients of a machine have."""

from collections.abc import Sequence
from typing import NamedTuple

from remit.core.decide import Decision, Listed, Verdict
from remit.core.documents import Document
from remit.core.kinds import Authority, Kind
from remit.core.names import tool_name
from remit.core.scopes import Scope
from remit.core.tools import Tool

_BROUGHT = Decision(verdict=Verdict.VISIBLE, gate=None, reason="brought along", unlock=None)


class Brought(NamedTuple):
    """A tool as its bringer names it, and what search reads of it."""

    name: str
    server: str | None
    document: Document


def listed(tools: Sequence[Brought]) -> list[Listed]:
    """Write tools as a catalog has them; the `document_id` of each is its place."""
    return [Listed(_tool(tool, at), _BROUGHT) for at, tool in enumerate(tools)]


def _tool(tool: Brought, at: int) -> Tool:
    return Tool(
        name=tool_name(tool.server, tool.name) if tool.server else tool.name,
        kind=Kind.MCP_TOOL,
        client=str(at),  # two tools of one name are two tools
        scope=Scope.GLOBAL,
        source="",
        authority=Authority.REPORT,
        server=tool.server,
        document_id=at,
    )
