"""Holds the tools of a FastMCP server to Remit's decisions, and searches them by meaning."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic import PrivateAttr

from remit.errors import ArgumentsError
from remit.gateway import can_elicit, question, read_answer
from remit.integrations.guard import (
    GuardedCall,
    RefusedError,
    Rename,
    ToolGuard,
    exported_tools,
    framework_tool,
    packages_of,
)
from remit.protocol import Era, era_of
from remit.python_tools import Ask, DefinedTool, ToolRegistry, annotations, error_text, run_tool
from remit.search import ToolFilter
from remit.store import Approval

with packages_of("fastmcp"):
    from fastmcp.exceptions import ToolError
    from fastmcp.server.context import Context
    from fastmcp.server.dependencies import get_context
    from fastmcp.server.transforms import GetToolNext, Transform
    from fastmcp.server.transforms.search import BM25SearchTransform
    from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
    from fastmcp.utilities.versions import VersionSpec
    from mcp import types
    from mcp.shared.exceptions import MCPError

_FRAMEWORK = "fastmcp"
_QUESTION = "approval"


class RemitTransform(Transform):
    """Applies a registry's rules and states to a server's tools: hidden ones are not listed, and do not run.

    A call that needs approval asks the user through the client. If the client cannot ask, the call fails, and
    the model reads that a person must approve it first.
    """

    def __init__(self, registry: ToolRegistry, *, names: Rename | None = None) -> None:
        self._guard = ToolGuard(registry, caller=_FRAMEWORK, names=names)
        self._listed: tuple[Sequence[Tool], list[str]] | None = (
            None  # the last list: all tools, the available
        )

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """List the tools that are available now."""
        available = await self._available(tools)
        self._listed = tools, [tool.name for tool in available]
        return available

    async def get_tool(
        self, name: str, call_next: GetToolNext, *, version: VersionSpec | None = None
    ) -> Tool | None:
        """Find a tool; its calls are decided when they run."""
        tool = await call_next(name, version=version)
        return tool if tool is None or isinstance(tool, _ExportedTool) else _GuardedTool.around(tool, self)

    async def run(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Run a call of a tool if the decision allows it now."""
        try:
            async with _running(self._guard, tool, arguments) as call:
                result = await tool._run(arguments)  # pyright: ignore[reportPrivateUsage] - as the server calls it
                if isinstance(result, InputRequiredToolResult):
                    raise _InputRequiredError(result)
                call.answer, call.is_error = _text(result), bool(result.is_error)
        except _InputRequiredError as waiting:
            return waiting.result
        if not result.is_error:
            await self._notify_of_changes()
        return result

    async def _available(self, tools: Sequence[Tool]) -> list[Tool]:
        return await asyncio.to_thread(self._guard.available, tools, _described)

    async def _notify_of_changes(self) -> None:
        """Notify the client if a call changed the available tools."""
        if self._listed is None or (context := _context()) is None or context.request_context is None:
            return
        tools, before = self._listed
        names = [tool.name for tool in await self._available(tools)]
        if names != before:
            self._listed = tools, names
            await context.send_notification(types.ToolListChangedNotification())


class RemitSearchTransform(BM25SearchTransform):
    """Lists a search tool and a call tool instead of all tools, and searches by name, word and meaning."""

    async def _search(self, tools: Sequence[Tool], query: str) -> Sequence[Tool]:
        if not tools or not query.strip():
            return []
        return await asyncio.to_thread(ToolFilter(tools), query, self._max_results, None)


def as_fastmcp(registry: ToolRegistry) -> list[Tool]:
    """Return the tools of a registry as FastMCP tools, hidden ones too: each call is decided when it runs.

    Add them with `add_tool`, and `RemitTransform(registry)`, so that only available tools are listed.
    """
    guard = ToolGuard(registry, caller=_FRAMEWORK)
    return [_ExportedTool.of(name, tool, guard) for name, tool in exported_tools(registry).items()]


class _GuardedTool(Tool):
    """A tool of the server whose calls are decided when they run."""

    _inner: Tool = PrivateAttr()
    _transform: RemitTransform = PrivateAttr()

    @classmethod
    def around(cls, tool: Tool, transform: RemitTransform) -> "_GuardedTool":
        fields = {name: getattr(tool, name) for name in Tool.model_fields if name != "execution"}
        made = cls(**fields)
        made._inner, made._transform = tool, transform
        return made

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return await self._transform.run(self._inner, arguments)


class _ExportedTool(Tool):
    """A tool of a registry."""

    _tool: DefinedTool = PrivateAttr()
    _guard: ToolGuard = PrivateAttr()

    @classmethod
    def of(cls, name: str, tool: DefinedTool, guard: ToolGuard) -> "_ExportedTool":
        made = cls(
            name=name,
            description=tool.description or None,
            parameters=tool.input_schema,
            annotations=None
            if tool.danger is None
            else types.ToolAnnotations.model_validate(annotations(tool.danger)),
        )
        made._tool, made._guard = tool, guard
        return made

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        try:
            async with _running(self._guard, self, arguments) as call:
                result = self.convert_result(await run_tool(self._tool, arguments))
                call.answer = _text(result)
        except _InputRequiredError as waiting:
            return waiting.result
        except ArgumentsError as error:  # a `ToolError`, whose text no server hides from the model
            raise ToolError(error_text(error)) from error
        return result


class _InputRequiredError(Exception):
    """The client must be asked first, and then repeats its call."""

    def __init__(self, result: InputRequiredToolResult) -> None:
        self.result = result


@asynccontextmanager
async def _running(guard: ToolGuard, tool: Tool, arguments: dict[str, Any]) -> AsyncGenerator[GuardedCall]:
    """Decide about a call, ask the client's user if that is needed and possible, and record how it ends.

    Raises:
        ToolError: the call may not run.
        _InputRequiredError: the client must repeat its call with the answer.
    """
    waiting = (_InputRequiredError,)
    try:
        async with guard.running(_described(tool), arguments, _asking(tool.name), waiting) as call:
            yield call
    except RefusedError as refused:
        raise ToolError(str(refused)) from None


def _asking(name: str) -> Ask | None:
    """Return how to ask the user of the client whose request this is; None without a client that can."""
    context = _context()
    if context is None or context.request_context is None:
        return None
    session, request_id = context.request_context.session, context.request_context.request_id
    capabilities = session.client_capabilities
    if capabilities is None or not can_elicit(capabilities.model_dump(by_alias=True, exclude_none=True)):
        return None

    async def ask(approval: Approval) -> bool | None:
        params = question(name, approval)
        try:
            answer = await session.elicit_form(params["message"], params["requestedSchema"], request_id)
        except MCPError:  # the client refuses
            return None
        return read_answer(answer.model_dump(), approval)

    async def ask_by_answer(approval: Approval) -> bool | None:
        answer = (context.input_responses or {}).get(_QUESTION)
        if context.request_state == approval.id and isinstance(answer, types.ElicitResult):
            return read_answer(answer.model_dump(), approval)
        asked = {"method": "elicitation/create", "params": question(name, approval)}
        required = {"inputRequests": {_QUESTION: asked}, "requestState": approval.id}
        raise _InputRequiredError(InputRequiredToolResult(types.InputRequiredResult.model_validate(required)))

    is_stateless = era_of(context.request_context.protocol_version) is Era.STATELESS
    return ask_by_answer if is_stateless else ask


def _context() -> Context | None:
    try:
        return get_context()
    except RuntimeError:  # called outside of a server
        return None


def _described(tool: Tool) -> DefinedTool:
    return framework_tool(tool.name, tool.description, tool.parameters, _FRAMEWORK)


def _text(result: ToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))
