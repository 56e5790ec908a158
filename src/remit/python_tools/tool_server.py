"""Serves Python tools to one MCP client."""

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from remit.decision.gates import ASK_THE_USER
from remit.errors import HiddenToolError, NotApprovedError
from remit.gateway.desktop_notification import ApprovalNotifier
from remit.presentation import refusals
from remit.python_tools.client_question import InputRequiredError, asking
from remit.python_tools.decorators import DefinedTool
from remit.python_tools.function_tools import error_text, result_text
from remit.python_tools.tool_registry import ToolRegistry

_READ_ONLY = frozenset({"safe"})
_DESTRUCTIVE = frozenset({"destructive", "critical"})


def serve(registry: ToolRegistry, *, name: str = "tools", version: str = "") -> None:
    """Serve on stdio until the client disconnects."""
    with registry:
        anyio.run(_on_stdio, server_of(registry, name=name, version=version))


def server_of(registry: ToolRegistry, *, name: str = "tools", version: str = "") -> Server[Any]:
    """Make a server for a registry, to use with any transport."""
    handlers = _RequestHandlers(registry, name)
    return Server(
        name,
        version=version,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        get_tool_input_schema=handlers.input_schema,
    )


async def _on_stdio(server: Server[Any]) -> None:
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (read, write):
        await server.run(read, write, options)


class _RequestHandlers:
    """Handles the requests of one client."""

    def __init__(self, registry: ToolRegistry, server_name: str) -> None:
        self._registry = registry
        self._server_name = server_name
        self._notifier = ApprovalNotifier()
        self._listed_names: list[str] | None = None  # the names in the client's last list

    async def list_tools(
        self, _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = await anyio.to_thread.run_sync(self._registry.tools)
        self._listed_names = [tool.name for tool in tools]
        return types.ListToolsResult(tools=[_described(tool) for tool in tools])

    async def call_tool(
        self, context: ServerRequestContext[Any], asked: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        ask = asking(context, asked)
        try:
            made = await self._registry.call(
                asked.name, asked.arguments, ask=ask, principal=self._server_name
            )
        except HiddenToolError as error:
            if self._registry.definition(asked.name) is None:
                raise MCPError(types.INVALID_PARAMS, f"no tool is called `{asked.name}`") from None
            return _answer(f"{error}\n{ASK_THE_USER}", is_error=True)  # its hint is for people
        except NotApprovedError as error:
            return await self._not_approved(asked.name, error.approval_id)
        except InputRequiredError as error:
            return error.result
        except Exception as error:  # a failing tool must not stop the server
            return _answer(error_text(error), is_error=True)
        await self._notify_of_changes(context)
        return _answer(result_text(made))

    async def _not_approved(self, name: str, approval_id: str | None) -> types.CallToolResult:
        """Answer as the gateway does: how to approve a call is for people."""
        decision = (await anyio.to_thread.run_sync(self._registry.why, name)).decision
        if approval_id is None:
            return types.CallToolResult.model_validate(refusals.denied(name, decision))
        if await anyio.to_thread.run_sync(self._registry.notifies):
            self._notifier.notify(approval_id, name)
        return types.CallToolResult.model_validate(refusals.approval_required(name, decision, approval_id))

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._registry.definition(name)
        return None if tool is None else tool.input_schema

    async def _notify_of_changes(self, context: ServerRequestContext[Any]) -> None:
        """Notify the client if a call changed the available tools."""
        if self._listed_names is None:
            return
        tools = await anyio.to_thread.run_sync(self._registry.tools)
        names = [tool.name for tool in tools]
        if names != self._listed_names:
            self._listed_names = names
            await context.session.send_tool_list_changed()


def _described(tool: DefinedTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description or None,
        input_schema=tool.input_schema,
        annotations=annotations(tool.danger),
    )


def annotations(danger: str | None) -> types.ToolAnnotations | None:
    """Tell a client whether a tool of this danger only reads or may destroy."""
    if danger is None:
        return None
    if danger in _READ_ONLY:
        return types.ToolAnnotations(read_only_hint=True)
    return types.ToolAnnotations(read_only_hint=False, destructive_hint=danger in _DESTRUCTIVE)


def _answer(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
