"""Holds the tools of the OpenAI Agents SDK to Remit's decisions: filters, guardrails and approvals."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from remit.decision import Verdict, tool_name
from remit.integrations.guard import (
    GuardedCall,
    RefusedError,
    Rename,
    ToolGuard,
    exported_tools,
    framework_tool,
    packages_of,
)
from remit.python_tools import DefinedTool, ToolRegistry, error_text, result_text, run_tool

with packages_of("openai-agents"):
    from agents import (
        FunctionTool,
        RunContextWrapper,
        Tool,
        ToolErrorFormatterArgs,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailData,
    )
    from agents.agent import AgentBase
    from agents.mcp import MCPServer, ToolFilterContext
    from agents.tool import (
        maybe_invoke_function_tool_failure_error_function,
        set_function_tool_failure_error_function,
    )
    from agents.tool_context import ToolContext
    from mcp import types
    from mcp.types import Tool as McpTool

_FRAMEWORK = "openai-agents"
AnyServer = TypeVar("AnyServer", bound=MCPServer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """The tools chosen for a run: its context, or the field `remit_tools` of your own context."""

    remit_tools: frozenset[str]


class GuardedTools:
    """Copies of function tools that follow a registry's decisions, in the list and at each call.

    A hidden tool is disabled, and a guardrail rejects its calls with the reason. A call that needs approval
    interrupts the run: answer with `state.approve(...)` or `state.reject(...)`. A hosted tool runs elsewhere,
    so only `tools` decides about it.

    Raises:
        TypeError: an object is not a tool of the SDK.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        tools: Sequence[Tool],
        *,
        names: Rename | None = None,
        top_k: int | None = None,
        min_score: float | None = 0.0,
        always_include: str | Iterable[str] = (),
    ) -> None:
        self._guard = ToolGuard(
            registry,
            caller=_FRAMEWORK,
            names=names,
            top_k=top_k,
            min_score=min_score,
            always_include=always_include,
        )
        self._running: dict[str, GuardedCall] = {}  # by the ids of calls
        self._asked: dict[str, tuple[DefinedTool, dict[str, Any]]] = {}  # calls that wait for a person
        self._given = [self._read(at, tool) for at, tool in enumerate(tools)]
        self._functions = [tool for tool in self._given if isinstance(tool, FunctionTool)]
        self._guard.know([_described(tool) for tool in self._functions])

    @property
    def tools(self) -> list[Tool]:
        """The tools for an agent, in their order: hidden function tools are disabled.

        Hosted tools are decided by name now: one that is hidden or needs approval is left out.
        """
        return [tool for tool in self._given if isinstance(tool, FunctionTool) or self._is_visible(tool)]

    async def tool_error(self, asked: ToolErrorFormatterArgs[Any]) -> str | None:
        """Say why a tool is hidden, as `RunConfig.tool_error_formatter`; None for other errors.

        It needs `tool_not_found_behavior="return_error_to_model"`, without which the SDK ends the run.
        """
        tool = next((each for each in self._functions if each.name == asked.tool_name), None)
        if asked.kind != "tool_not_found" or tool is None:
            return None
        return await asyncio.to_thread(self._guard.hidden_reason, _described(tool))

    def choose(self, messages: str | Iterable[object]) -> ToolChoice:
        """Choose the tools that match a request or a conversation, for the context of its run.

        Hidden tools can be among them: each turn decides whether they are enabled.
        """
        said = [messages] if isinstance(messages, str) else messages
        chosen = self._guard.relevant(self._functions, _described, said)
        return ToolChoice(remit_tools=frozenset(tool.name for tool in chosen))

    def _read(self, at: int, tool: Tool) -> Tool:
        if isinstance(tool, FunctionTool):
            return self._guarded(tool)
        if not isinstance(getattr(tool, "name", None), str):
            hint = "; wrap it in `function_tool`" if callable(tool) else ""
            raise TypeError(f"tools[{at}] is of type `{type(tool).__name__}`, not a tool of the SDK{hint}")
        return tool

    def _is_visible(self, tool: Tool) -> bool:
        """Decide about a hosted tool: nobody can be asked about its calls."""
        hosted = framework_tool(tool.name, None, {}, _FRAMEWORK)
        return self._guard.decision(hosted).verdict is Verdict.VISIBLE

    async def _record_denials(self, context: RunContextWrapper[Any]) -> None:
        """Record calls that a person rejected: the SDK does not run them, so nothing else sees them."""
        for id, (tool, arguments) in list(self._asked.items()):
            if context.is_tool_approved(tool.name, id) is False and self._asked.pop(id, None):
                call = await asyncio.to_thread(self._guard.call, tool, arguments)
                await asyncio.to_thread(call.deny)

    def _guarded(self, tool: FunctionTool) -> FunctionTool:
        described = _described(tool)
        offers = WeakKeyDictionary[RunContextWrapper[Any], _Offer]()
        raising = set_function_tool_failure_error_function(replace(tool), None)

        async def verdict() -> Verdict:
            return (await asyncio.to_thread(self._guard.decision, described)).verdict

        async def is_enabled(context: RunContextWrapper[Any], agent: AgentBase) -> bool:
            await self._record_denials(context)
            chosen = getattr(context.context, "remit_tools", None)
            if chosen is not None and tool.name not in chosen:
                return False
            offer = offers.get(context)
            # The SDK asks for the list, and again when the model has called something. There, a tool that was
            # disabled meanwhile ends the run. It stays enabled instead, and the guardrail rejects the call.
            if offer is not None and offer.is_enabled and offer.requests < context.usage.requests:
                offers[context] = offer._replace(requests=context.usage.requests)
                return True
            now = await verdict()
            # Where this is a function, the SDK asks a person about arguments that are not JSON.
            asks = now is Verdict.ASK or tool.needs_approval is not False
            guarded.needs_approval = needs_approval if asks else False
            enabled = now is not Verdict.HIDDEN and await _is_enabled(tool, context, agent)
            offers[context] = _Offer(context.usage.requests, enabled)
            return enabled

        async def needs_approval(context: RunContextWrapper[Any], given: dict[str, Any], call: str) -> bool:
            if await asyncio.to_thread(self._guard.needs_approval, described, given):
                self._asked[call] = described, given
                return True
            return await _needs_approval(tool, context, given, call)

        async def invoke(context: ToolContext[Any], given: str) -> Any:
            call = self._running.pop(context.tool_call_id, None)
            try:
                async with call.running_async() if call is not None else nullcontext():
                    result = await raising.on_invoke_tool(context, given)
                    if call is not None:  # else another guardrail took the place of ours
                        call.answer = str(result)
            except Exception as error:
                told = await maybe_invoke_function_tool_failure_error_function(
                    function_tool=tool, context=context, error=error
                )
                if told is None:
                    raise
                return told
            return result

        guarded = replace(
            tool,
            on_invoke_tool=invoke,
            is_enabled=is_enabled,
            needs_approval=needs_approval,
            tool_input_guardrails=[self._guardrail(described), *(tool.tool_input_guardrails or ())],
        )
        return guarded

    def _guardrail(self, tool: DefinedTool) -> ToolInputGuardrail[Any]:
        async def decide(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
            context = data.context
            try:
                arguments = json.loads(context.tool_arguments or "{}")
            except ValueError:
                arguments = None
            if not isinstance(arguments, dict):
                return ToolGuardrailFunctionOutput.reject_content("the arguments must be a JSON object")
            self._asked.pop(context.tool_call_id, None)
            call = await asyncio.to_thread(self._guard.call, tool, cast("dict[str, object]", arguments))
            if call.pending is not None and context.is_tool_approved(tool.name, context.tool_call_id):
                await asyncio.to_thread(call.settle, approve=True)
            refusal = await asyncio.to_thread(call.refuse)
            if refusal is not None:
                return ToolGuardrailFunctionOutput.reject_content(refusal)
            self._running[context.tool_call_id] = call
            return ToolGuardrailFunctionOutput.allow()

        return ToolInputGuardrail(decide, name="remit")


class _Offer(NamedTuple):
    """Whether a run offered a tool, and after how many requests to the model."""

    requests: int
    is_enabled: bool


def tool_filter(
    registry: ToolRegistry, *, names: Rename | None = None
) -> Callable[[ToolFilterContext, McpTool], Awaitable[bool]]:
    """Make a filter for the tools of an MCP server that an agent connects to itself.

    A tool follows the project's declaration of the server with the same name, and a choice in the run's
    context. A filter sees no calls, so tools that need approval are left out. `guard_server` also decides
    about each call.
    """
    guard = ToolGuard(registry, caller=_FRAMEWORK, names=names)

    async def keep(context: ToolFilterContext, tool: McpTool) -> bool:
        if not _is_chosen(tool.name, context.run_context):
            return False
        ruled = tool.name if names is not None else tool_name(context.server_name, tool.name)
        described = framework_tool(ruled, tool.description, _schema(tool), _FRAMEWORK)
        return (await asyncio.to_thread(guard.decision, described)).verdict is Verdict.VISIBLE

    return keep


def guard_server(registry: ToolRegistry, server: AnyServer, *, names: Rename | None = None) -> AnyServer:
    """Hold an MCP server that an agent connects to itself to the decisions, in its list and at each call.

    Returns the same server. Its tools follow the project's declaration of the server with the same name, and
    a choice in the run's context. A call that may not run is answered with the reason. One that needs
    approval waits for `remit approve`; then the model can repeat it.
    """

    def rename(name: str) -> str | None:
        return tool_name(server.name, name) if names is None else names(name)

    guard = ToolGuard(registry, caller=_FRAMEWORK, names=rename)
    list_all, call_any = server.list_tools, server.call_tool

    def described(tool: McpTool) -> DefinedTool:
        return framework_tool(tool.name, tool.description, _schema(tool), _FRAMEWORK)

    async def list_tools(
        run_context: RunContextWrapper[Any] | None = None, agent: AgentBase | None = None
    ) -> list[McpTool]:
        tools = await list_all(run_context, agent)
        chosen = [each for each in tools if _is_chosen(each.name, run_context)]
        return await asyncio.to_thread(guard.available, chosen, described)

    async def call_tool(
        tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> types.CallToolResult:
        known = next((item for item in server.cached_tools or () if item.name == tool_name), None)
        tool = known or McpTool.model_validate({"name": tool_name, "inputSchema": {}})
        try:
            async with guard.running(described(tool), arguments or {}) as call:
                result = await call_any(tool_name, arguments, meta)
                call.answer, call.is_error = _texts(result)
        except RefusedError as refused:
            content = [{"type": "text", "text": str(refused)}]
            return types.CallToolResult.model_validate({"content": content, "isError": True})
        return result

    server.list_tools, server.call_tool = list_tools, call_tool
    return server


def _texts(result: types.CallToolResult) -> tuple[str, bool]:
    text = "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))
    return text, bool(result.model_dump(by_alias=True)["isError"])


def _schema(tool: McpTool) -> dict[str, Any]:
    return tool.model_dump(by_alias=True)["inputSchema"]  # the field has another name in `mcp` 1


def _is_chosen(name: str, context: RunContextWrapper[Any] | None) -> bool:
    chosen = getattr(None if context is None else context.context, "remit_tools", None)
    return chosen is None or name in chosen


def as_openai_agents(registry: ToolRegistry) -> list[FunctionTool]:
    """Return the tools of a registry as function tools, each held to the registry's decisions."""
    exported = exported_tools(registry).items()
    guarded = GuardedTools(registry, [_function_tool(name, tool) for name, tool in exported])
    return [tool for tool in guarded.tools if isinstance(tool, FunctionTool)]


def _function_tool(name: str, tool: DefinedTool) -> FunctionTool:
    async def invoke(_: ToolContext[Any], given: str) -> str:
        return result_text(await run_tool(tool, json.loads(given or "{}")))

    made = FunctionTool(
        name=name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
    return set_function_tool_failure_error_function(made, lambda _, error: error_text(error))


def _described(tool: FunctionTool) -> DefinedTool:
    return framework_tool(tool.name, tool.description, tool.params_json_schema, _FRAMEWORK)


async def _is_enabled(tool: FunctionTool, context: RunContextWrapper[Any], agent: AgentBase) -> bool:
    if isinstance(tool.is_enabled, bool):
        return tool.is_enabled
    enabled = tool.is_enabled(context, agent)
    return enabled if isinstance(enabled, bool) else await enabled


async def _needs_approval(
    tool: FunctionTool, context: RunContextWrapper[Any], given: dict[str, Any], call: str
) -> bool:
    if isinstance(tool.needs_approval, bool):
        return tool.needs_approval
    return await tool.needs_approval(context, given, call)
