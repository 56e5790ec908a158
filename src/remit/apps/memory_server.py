"""Serves memory alone to one MCP client, over the standard streams."""

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from remit import __version__
from remit.core.memory.definitions import instructions
from remit.core.projects import Workspace
from remit.gateway.memory_tools import MemoryTools
from remit.memory.project_memory import Memory

NAME = "remit-memory"


def serve(memory: Memory, workspace: Workspace) -> None:
    """Serve until the client goes away."""
    with memory:
        anyio.run(_on_stdio, server_of(memory, workspace))


def server_of(
    memory: Memory, workspace: Workspace, *, bound_projects: frozenset[str] | None = None
) -> Server[Any]:
    """Make a server of a memory, for a transport of your own."""
    answers = _Answers(MemoryTools(memory), bound_projects)
    return Server(
        NAME,
        version=__version__,
        instructions=instructions(workspace.project),
        on_list_tools=answers.list_tools,
        on_call_tool=answers.call_tool,
        get_tool_input_schema=answers.input_schema,
    )


async def _on_stdio(server: Server[Any]) -> None:
    options = server.create_initialization_options(NotificationOptions())
    async with stdio_server() as (read, write):
        await server.run(read, write, options)


class _Answers:
    """Answers one client."""

    def __init__(self, tools: MemoryTools, bound: frozenset[str] | None) -> None:
        self._tools = tools
        self._bound = bound
        self._listed = [types.Tool.model_validate(tool) for tool in tools.tools()]

    async def list_tools(
        self, _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def call_tool(
        self, _: ServerRequestContext[Any], asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            made = await self._tools.call(asked.name, asked.arguments, bound_projects=self._bound)
        except KeyError:
            raise MCPError(types.INVALID_PARAMS, f"no tool is called `{asked.name}`") from None
        return types.CallToolResult.model_validate(made)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        return self._tools.input_schema(name)
