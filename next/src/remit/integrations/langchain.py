"""Holds the tools of a LangChain agent to Remit's decisions, and exports a registry's tools to LangChain."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, cast

from pydantic import Discriminator

from remit.decision import Verdict
from remit.errors import ArgumentsError
from remit.integrations.guard import (
    GuardedCall,
    Rename,
    ToolGuard,
    exported_tools,
    framework_tool,
    packages_of,
)
from remit.python_tools import DefinedTool, ToolRegistry, error_text, run_tool
from remit.search import read_tool

with packages_of("langchain"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.agents.middleware.human_in_the_loop import (
        ApproveDecision,
        RejectDecision,
        ToolApprovalRequest,
    )
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
    from langchain_core.utils.function_calling import convert_to_openai_function
    from langgraph.config import get_config
    from langgraph.constants import CONFIG_KEY_CHECKPOINTER
    from langgraph.errors import GraphBubbleUp
    from langgraph.prebuilt.tool_node import INVALID_TOOL_NAME_ERROR_TEMPLATE
    from langgraph.types import Command, interrupt

_FRAMEWORK = "langchain"
_ANSWERS = cast("type[Any]", Annotated[ApproveDecision | RejectDecision, Discriminator("type")])

Handled = ToolMessage | Command[Any]


class RemitMiddleware(AgentMiddleware[Any, Any, Any]):
    """Shows a model only the tools that a registry allows, and decides again about each call.

    A call that needs approval interrupts the graph, like LangChain's own `HumanInTheLoopMiddleware` with
    `interrupt_mode="per_call"`: resume with `{"type": "approve"}` or `{"type": "reject", "message": "…"}`.
    Without a checkpointer, the model reads that a person must approve the call first.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        names: Rename | None = None,
        top_k: int | None = None,
        min_score: float | None = 0.0,
        always_include: str | Iterable[str] = (),
    ) -> None:
        super().__init__()
        self._guard = ToolGuard(
            registry,
            caller=_FRAMEWORK,
            names=names,
            top_k=top_k,
            min_score=min_score,
            always_include=always_include,
        )

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Offer the model the tools that are available and relevant now."""
        return handler(request.override(tools=self._choose(request)))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Offer the model the tools that are available and relevant now."""
        return await handler(request.override(tools=await asyncio.to_thread(self._choose, request)))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Handled]
    ) -> Handled:
        """Run a call if the decision allows it now."""
        if isinstance(request.tool, _ExportedTool):
            return handler(request)
        call = self._begin(request)
        if (refusal := call.refuse()) is not None:
            return _refused(request, refusal)
        with call.running(GraphBubbleUp):
            return _noted(call, request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Handled]]
    ) -> Handled:
        """Run a call if the decision allows it now."""
        if isinstance(request.tool, _ExportedTool):
            return await handler(request)
        call = await asyncio.to_thread(self._begin, request)
        if (refusal := await asyncio.to_thread(call.refuse)) is not None:
            return _refused(request, refusal)
        async with call.running_async(GraphBubbleUp):
            return _noted(call, request, await handler(request))

    def _choose(self, request: ModelRequest[Any]) -> list[BaseTool | dict[str, Any]]:
        decisions = self._guard.decide([_described(tool) for tool in request.tools])
        # The provider runs a tool that is a dictionary, so nobody could be asked about its calls.
        available = [
            tool
            for tool, decision in zip(request.tools, decisions, strict=True)
            if decision.verdict is Verdict.VISIBLE
            or (decision.verdict is Verdict.ASK and isinstance(tool, BaseTool))
        ]
        return self._guard.relevant(available, _described, request.messages, _used(request.messages))

    def _begin(self, request: ToolCallRequest) -> GuardedCall:
        called, tool = request.tool_call, request.tool
        described = framework_tool(called["name"], None, {}, _FRAMEWORK) if tool is None else _described(tool)
        return _settled(self._guard.call(described, called["args"]), called)


def as_langchain(registry: ToolRegistry) -> list[BaseTool]:
    """Return the tools of a registry as LangChain tools, hidden ones too: each call is decided when it runs.

    Add `RemitMiddleware(registry)` to the agent, so a model sees only the tools that are available.
    """
    guard = ToolGuard(registry, caller=_FRAMEWORK)
    return [_exported(name, tool, guard) for name, tool in exported_tools(registry).items()]


class _ExportedTool(StructuredTool):
    """A tool of a registry, which decides about its own calls."""


def _exported(name: str, tool: DefinedTool, guard: ToolGuard) -> BaseTool:
    named = framework_tool(name, tool.description, tool.input_schema, _FRAMEWORK)

    def begin(arguments: dict[str, Any]) -> GuardedCall:
        called = ToolCall(name=name, args=arguments, id=None)
        call = _settled(guard.call(named, arguments), called)
        if (refusal := call.refuse()) is not None:
            raise ToolException(refusal)
        return call

    def run(**arguments: Any) -> object:
        try:
            call = begin(arguments)
            with call.running(GraphBubbleUp):
                result = tool.run(arguments)
                call.answer = str(result)
        except ArgumentsError as error:  # a mistake is for the model to correct
            raise ToolException(error_text(error)) from error
        return result

    async def run_async(**arguments: Any) -> object:
        try:
            call = await asyncio.to_thread(begin, arguments)
            async with call.running_async(GraphBubbleUp):
                result = await run_tool(tool, arguments)
                call.answer = str(result)
        except ArgumentsError as error:
            raise ToolException(error_text(error)) from error
        return result

    return _ExportedTool(
        name=name,
        description=tool.description or name,
        args_schema=tool.input_schema,
        func=None if tool.is_async else run,
        coroutine=run_async,
        handle_tool_error=True,
    )


def _described(tool: BaseTool | dict[str, Any]) -> DefinedTool:
    if not isinstance(tool, BaseTool):
        return framework_tool(read_tool(tool).name, None, tool, _FRAMEWORK)
    parameters = convert_to_openai_function(tool).get("parameters", {})
    return framework_tool(tool.name, tool.description, parameters, _FRAMEWORK)


def _used(messages: Sequence[AnyMessage]) -> set[str]:
    return {
        call["name"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    }


def _settled(call: GuardedCall, called: ToolCall) -> GuardedCall:
    """Interrupt the graph if the call waits for approval, and record the answer when it resumes."""
    if call.pending is None or not _can_interrupt():
        return call
    value = ToolApprovalRequest(
        type="tool_approval",
        tool_call_id=called["id"] or "",
        name=called["name"],
        args=called["args"],
        description=call.pending.reason,
    )
    answer = interrupt(value, response_schema=_ANSWERS)
    call.settle(approve=answer["type"] == "approve", message=answer.get("message"))
    return call


def _can_interrupt() -> bool:
    """Tell whether the graph can be resumed later; outside of a graph, it cannot."""
    try:
        return bool(get_config().get("configurable", {}).get(CONFIG_KEY_CHECKPOINTER))
    except RuntimeError:
        return False


def _refused(request: ToolCallRequest, text: str) -> ToolMessage:
    called = request.tool_call
    return ToolMessage(text, name=called["name"], tool_call_id=called["id"] or "", status="error")


def _noted(call: GuardedCall, request: ToolCallRequest, result: Handled) -> Handled:
    """Note the answer of a call before it is recorded."""
    if isinstance(result, ToolMessage):
        if request.tool is None and _names_all_tools(result):
            return _refused(request, call.unknown())
        call.answer, call.is_error = str(result.content), result.status == "error"
    return result


def _names_all_tools(result: ToolMessage) -> bool:
    """Tell whether LangGraph answered for an unknown name, with the names of all tools, hidden ones too."""
    told = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(requested_tool=result.name, available_tools="\0")
    return str(result.content).startswith(told.partition("\0")[0])
