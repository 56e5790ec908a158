"""Holds the tools of a Pydantic AI agent to Remit's decisions, and offers a registry as a toolset."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import takewhile
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from remit.errors import ArgumentsError
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
from remit.search import MAX_LIMIT, filter_tools
from remit.store import Approval

with packages_of("pydantic-ai"):
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.capabilities.abstract import WrapToolExecuteHandler
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

_FRAMEWORK = "pydantic-ai"
_EXPORTED = "remit"  # key in the metadata of an exported tool, which decides about its own calls
_MARK = object()  # its value: nothing that a server sends can be this object
_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))  # the tool checks them


class RemitTools(AbstractCapability[Any]):
    """Offers a model at each step only the tools that a registry allows, and decides again about each call.

    A call that needs approval is deferred: the run ends with `DeferredToolRequests`, or a
    `HandleDeferredToolCalls` capability answers. Without either, pass `defer_approvals=False`: then the model
    reads that a person must approve the call first.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        names: Rename | None = None,
        top_k: int | None = None,
        min_score: float | None = 0.0,
        always_include: str | Iterable[str] = (),
        defer_approvals: bool = True,
    ) -> None:
        self._defer_approvals = defer_approvals
        self._known: dict[str, ToolDefinition] = {}  # hidden tools, too
        self._guard = ToolGuard(
            registry,
            caller=_FRAMEWORK,
            names=names,
            top_k=top_k,
            min_score=min_score,
            always_include=always_include,
        )

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Return the tools that are available and relevant at this step."""

        def choose() -> list[ToolDefinition]:
            available = self._guard.available(tool_defs, _described)
            used = {call.tool_name for call in _calls(ctx.messages)}
            return self._guard.relevant(available, _described, [*_texts(ctx.messages)], used)

        self._known |= {tool.name: tool for tool in tool_defs}
        return await asyncio.to_thread(choose)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Say why a tool is hidden to a model that called it nonetheless, and record denied calls."""
        for part in _unanswered(ctx.messages):
            # What was not offered is answered with a plain part, never with one of a special kind.
            if type(part) is ToolReturnPart and part.retry is not None and part.retry.cause == "unknown_tool":
                known = self._known.get(part.tool_name)
                if known is not None:
                    reason = await asyncio.to_thread(self._guard.hidden_reason, _described(known))
                    part.content = reason or part.content
            elif isinstance(part, ToolReturnPart) and part.outcome == "denied":
                await self._deny(part, ctx.messages)
        return request_context

    async def _deny(self, answered: ToolReturnPart, messages: Sequence[ModelMessage]) -> None:
        """Record a call that a person denied: Pydantic AI does not run it, so nothing else sees it."""
        known = self._known.get(answered.tool_name)
        call = next((each for each in _calls(messages) if each.tool_call_id == answered.tool_call_id), None)
        if known is not None and call is not None:
            arguments = call.args_as_dict()
            guarded = await asyncio.to_thread(self._guard.call, _described(known), arguments)
            await asyncio.to_thread(guarded.deny)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,  # noqa: ARG002 - of the base class
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run a call if the decision allows it now."""
        if (tool_def.metadata or {}).get(_EXPORTED) is _MARK:
            return await handler(args)
        async with _running(self._guard, _described(tool_def), args, ctx, self._defer_approvals) as guarded:
            result = await handler(args)
            guarded.answer = str(result)
        return result


class RemitToolset(AbstractToolset[Any]):
    """The tools of a registry that are available at each step."""

    def __init__(
        self, registry: ToolRegistry, *, id: str | None = None, defer_approvals: bool = True
    ) -> None:
        self._id = id
        self._defer_approvals = defer_approvals
        self._guard = ToolGuard(registry, caller=_FRAMEWORK)

    @property
    def id(self) -> str | None:
        """The id that durable execution needs."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the available tools."""
        every = exported_tools(self._guard.registry)
        definitions = [_definition(name, tool) for name, tool in every.items()]
        available = await asyncio.to_thread(self._guard.available, definitions, _described)
        return {
            each.name: ToolsetTool(
                toolset=self, tool_def=each, max_retries=ctx.max_retries, args_validator=_ANY_ARGUMENTS
            )
            for each in available
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Run a call if the decision allows it now."""
        exported = exported_tools(self._guard.registry)[name]
        try:
            async with _running(
                self._guard, _described(tool.tool_def), tool_args, ctx, self._defer_approvals
            ) as guarded:
                result = await run_tool(exported, tool_args)
                guarded.answer = result_text(result)
        except ArgumentsError as error:
            raise ModelRetry(error_text(error)) from error
        return result


async def search_tools(
    _: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]
) -> list[str]:
    """Find tools by name, word and meaning; a strategy for Pydantic AI's `ToolSearch`."""
    asked = [query for query in queries if query.strip()]
    if not tools or not asked:
        return []
    found = await asyncio.to_thread(filter_tools, tools, asked, min(len(tools), MAX_LIMIT), None)
    return [tool.name for tool in found]


@asynccontextmanager
async def _running(
    guard: ToolGuard, tool: DefinedTool, arguments: dict[str, Any], ctx: RunContext[Any], defers: bool
) -> AsyncGenerator[GuardedCall]:
    """Decide about a call, and record how it ends; a deferral means that the tool did not run yet.

    Raises:
        ApprovalRequired: a person must approve the call first.
        ModelRetry: the arguments are wrong.
        ToolFailed: the call may not run.
    """

    async def ask(approval: Approval) -> bool | None:
        if ctx.tool_call_approved:
            return True
        if defers:
            raise ApprovalRequired({"reason": approval.reason, "approval": approval.id})
        return None

    try:
        async with guard.running(tool, arguments, ask, (ApprovalRequired, CallDeferred)) as call:
            yield call
    except RefusedError as refused:
        raise (ModelRetry if refused.is_mistake else ToolFailed)(str(refused)) from None


def _described(tool: ToolDefinition) -> DefinedTool:
    return framework_tool(tool.name, tool.description, tool.parameters_json_schema, _FRAMEWORK)


def _definition(name: str, tool: DefinedTool) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=tool.description or None,
        parameters_json_schema=tool.input_schema,
        metadata={_EXPORTED: _MARK},
    )


def _unanswered(messages: Sequence[ModelMessage]) -> list[ModelRequestPart]:
    """Return what the model reads next: with deferred results, there are several requests in a row."""
    requests = takewhile(lambda message: isinstance(message, ModelRequest), reversed(messages))
    return [part for request in requests if isinstance(request, ModelRequest) for part in request.parts]


def _texts(messages: Sequence[ModelMessage]) -> Iterator[dict[str, str]]:
    """Return what user and model wrote, to choose tools by."""
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, UserPromptPart):
            content = [part.content] if isinstance(part.content, str) else part.content
            text = "\n".join(item for item in content if isinstance(item, str))
            yield {"role": "user", "content": text}
        elif isinstance(part, TextPart):
            yield {"role": "assistant", "content": part.content}


def _calls(messages: Sequence[ModelMessage]) -> Iterator[ToolCallPart]:
    for message in messages:
        if isinstance(message, ModelResponse):
            yield from (part for part in message.parts if isinstance(part, ToolCallPart))
