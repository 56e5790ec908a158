"""A registry's tools as definitions for OpenAI and Anthropic, and a dispatcher for the model's calls.

Needs no package of either: calls are read from dictionaries and from the objects of their SDKs.
"""

import json
from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from remit.errors import ArgumentsError
from remit.integrations.exported_tools import exported_tools
from remit.integrations.tool_guard import ToolGuard, framework_tool
from remit.python_tools.decorators import DefinedTool
from remit.python_tools.function_tools import error_text, result_text, run_defined
from remit.python_tools.tool_registry import Ask, ToolRegistry
from remit.search.given_tools import field_of, is_mapping

Definition = dict[str, Any]


class ProviderCall(NamedTuple):
    """A model's call of a tool."""

    id: str
    name: str
    arguments: object  # JSON text or an object


class ProviderAnswer(NamedTuple):
    """The answer to a call."""

    text: str
    is_error: bool


Read = Callable[[object], ProviderCall | None]
Write = Callable[[object, ProviderCall, ProviderAnswer], Definition]


class ProviderTools:
    """The available tools of a registry in a provider's format, and a dispatcher for the model's calls."""

    def __init__(
        self,
        registry: ToolRegistry,
        provider: str,
        *,
        define: Callable[[str, DefinedTool], Definition],
        read: Read,
        write: Write,
    ) -> None:
        self._guard = ToolGuard(registry, principal=provider)
        self._provider = provider
        self._define = define
        self._read = read
        self._write = write

    def definitions(self) -> list[Definition]:
        """Return the definitions of the tools that are available now; ask before each request."""
        return [self._define(name, tool) for name, tool in self._available().items()]

    async def dispatch(self, calls: Sequence[object], *, ask: Ask | None = None) -> list[Definition]:
        """Run a model's calls, and return the results to send back; other parts of its answer are skipped.

        A call that may not run, and one that fails, gets a result that says why. `ask` asks a person about a
        call that needs approval; without it, the model reads that a person must approve the call first.
        """
        read = [(call, found) for call in calls if (found := self._read(call)) is not None]
        return [self._write(call, found, await self._answer(found, ask)) for call, found in read]

    async def _answer(self, called: ProviderCall, ask: Ask | None) -> ProviderAnswer:
        tool = exported_tools(self._guard.registry).get(called.name)
        if tool is None:
            return ProviderAnswer(await to_thread(self._guard.unknown, called.name), True)
        try:
            return await self._run(tool, called, ask)
        except Exception as error:  # a failing tool must not end the conversation
            return ProviderAnswer(error_text(error), True)

    async def _run(self, tool: DefinedTool, called: ProviderCall, ask: Ask | None) -> ProviderAnswer:
        arguments = _arguments(called.arguments)
        named = framework_tool(called.name, tool.description, tool.input_schema, self._provider)
        call = await to_thread(self._guard.call, named, arguments)
        if call.pending is not None and ask is not None:
            await to_thread(call.settle, approve=await ask(call.pending))
        refusal = await to_thread(call.refuse)
        if refusal is not None:
            return ProviderAnswer(refusal, True)
        try:
            text = result_text(await run_defined(tool, arguments))
        except Exception as error:
            await to_thread(call.failed, error_text(error))
            raise
        await to_thread(call.succeeded, text)
        return ProviderAnswer(text, False)

    def _available(self) -> dict[str, DefinedTool]:
        every = exported_tools(self._guard.registry)
        decided = self._guard.registry.decided(every.values())
        return {
            name: tool for (name, tool), item in zip(every.items(), decided, strict=True) if item.is_there
        }


def as_openai(registry: ToolRegistry) -> ProviderTools:
    """Return a registry's tools for OpenAI's Responses and Chat Completions.

    The definitions are those of the Responses API; `chat_definitions` converts them. The dispatcher reads
    the calls of both, and answers each in its own format.
    """
    return ProviderTools(registry, "openai", define=_define_openai, read=_read_openai, write=_write_openai)


def as_anthropic(registry: ToolRegistry) -> ProviderTools:
    """Return a registry's tools for Anthropic's Messages."""
    return ProviderTools(
        registry, "anthropic", define=_define_anthropic, read=_read_anthropic, write=_write_anthropic
    )


def chat_definitions(definitions: Sequence[Definition]) -> list[Definition]:
    """Convert definitions of the Responses API to those of Chat Completions."""
    inner = [{key: value for key, value in each.items() if key != "type"} for each in definitions]
    return [{"type": "function", "function": each} for each in inner]


def _define_openai(name: str, tool: DefinedTool) -> Definition:
    described = {"name": name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", **described, "strict": False}


def _define_anthropic(name: str, tool: DefinedTool) -> Definition:
    return {"name": name, "description": tool.description, "input_schema": tool.input_schema}


def _read_openai(call: object) -> ProviderCall | None:
    if field_of(call, "type") == "function_call":
        return ProviderCall(_text(call, "call_id"), _text(call, "name"), field_of(call, "arguments"))
    function = field_of(call, "function")
    if field_of(call, "type") != "function" or function is None:
        return None
    return ProviderCall(_text(call, "id"), _text(function, "name"), field_of(function, "arguments"))


def _write_openai(call: object, found: ProviderCall, answer: ProviderAnswer) -> Definition:
    if field_of(call, "type") == "function_call":
        return {"type": "function_call_output", "call_id": found.id, "output": answer.text}
    return {"role": "tool", "tool_call_id": found.id, "content": answer.text}


def _read_anthropic(call: object) -> ProviderCall | None:
    if field_of(call, "type") != "tool_use":
        return None
    return ProviderCall(_text(call, "id"), _text(call, "name"), field_of(call, "input"))


def _write_anthropic(_: object, found: ProviderCall, answer: ProviderAnswer) -> Definition:
    result = {"type": "tool_result", "tool_use_id": found.id, "content": answer.text}
    return {**result, "is_error": True} if answer.is_error else result


def _text(call: object, name: str) -> str:
    return str(field_of(call, name) or "")


def _arguments(given: object) -> Mapping[str, object]:
    """Read a call's arguments.

    Raises:
        ArgumentsError: they are not a JSON object.
    """
    try:
        read = json.loads(given or "{}") if isinstance(given, str) else given
    except ValueError:
        read = None
    if read is None and given is None:
        return {}
    if not is_mapping(read):
        raise ArgumentsError("the arguments must be a JSON object")
    return read
