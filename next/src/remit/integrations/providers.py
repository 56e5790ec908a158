"""A registry's tools as definitions for OpenAI and Anthropic, and a dispatcher for the model's calls.

Needs no package of either: calls are read from dictionaries and from the objects of their SDKs.
"""

import json
from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from remit.errors import ArgumentsError
from remit.integrations.guard import RefusedError, ToolGuard, exported_tools, framework_tool
from remit.python_tools import Ask, DefinedTool, ToolRegistry, error_text, result_text, run_tool

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


class _Format(NamedTuple):
    """How a provider writes definitions, calls and answers."""

    define: Callable[[str, DefinedTool], Definition]
    read: Callable[[object], ProviderCall | None]
    write: Callable[[object, ProviderCall, ProviderAnswer], Definition]


class ProviderTools:
    """The available tools of a registry in a provider's format, and a dispatcher for the model's calls."""

    def __init__(self, registry: ToolRegistry, provider: str, form: _Format) -> None:
        self._guard = ToolGuard(registry, caller=provider)
        self._provider = provider
        self._form = form

    def definitions(self) -> list[Definition]:
        """Return the definitions of the tools that are available now; ask before each request."""
        exported = exported_tools(self._guard.registry)
        listed = self._guard.registry.listed(exported.values())
        items = zip(exported.items(), listed, strict=True)
        return [self._form.define(name, tool) for (name, tool), item in items if item.decision.is_available]

    async def dispatch(self, calls: Sequence[object], *, ask: Ask | None = None) -> list[Definition]:
        """Run a model's calls, and return the results to send back; other parts of its answer are skipped.

        A call that may not run, and one that fails, gets a result that says why. `ask` asks a person about a
        call that needs approval; without it, the model reads that a person must approve the call first.
        """
        read = [(part, call) for part in calls if (call := self._form.read(part)) is not None]
        return [self._form.write(part, call, await self._answer(call, ask)) for part, call in read]

    async def _answer(self, called: ProviderCall, ask: Ask | None) -> ProviderAnswer:
        tool = exported_tools(self._guard.registry).get(called.name)
        if tool is None:
            return ProviderAnswer(await to_thread(self._guard.unknown, called.name), True)
        try:
            arguments = _arguments(called.arguments)
            named = framework_tool(called.name, tool.description, tool.input_schema, self._provider)
            async with self._guard.running(named, arguments, ask) as call:
                call.answer = result_text(await run_tool(tool, arguments))
        except RefusedError as refused:
            return ProviderAnswer(str(refused), True)
        except Exception as error:  # a failing tool must not end the conversation
            return ProviderAnswer(error_text(error), True)
        return ProviderAnswer(call.answer, False)


def as_openai(registry: ToolRegistry) -> ProviderTools:
    """Return a registry's tools for OpenAI's Responses and Chat Completions.

    The definitions are those of the Responses API; `chat_definitions` converts them. The dispatcher reads
    the calls of both, and answers each in its own format.
    """
    return ProviderTools(registry, "openai", _Format(_define_openai, _read_openai, _write_openai))


def as_anthropic(registry: ToolRegistry) -> ProviderTools:
    """Return a registry's tools for Anthropic's Messages."""
    return ProviderTools(registry, "anthropic", _Format(_define_anthropic, _read_anthropic, _write_anthropic))


def chat_definitions(definitions: Sequence[Definition]) -> list[Definition]:
    """Convert definitions of the Responses API to those of Chat Completions."""
    inner = [{key: value for key, value in item.items() if key != "type"} for item in definitions]
    return [{"type": "function", "function": item} for item in inner]


def _define_openai(name: str, tool: DefinedTool) -> Definition:
    described = {"name": name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", **described, "strict": False}


def _define_anthropic(name: str, tool: DefinedTool) -> Definition:
    return {"name": name, "description": tool.description, "input_schema": tool.input_schema}


def _read_openai(call: object) -> ProviderCall | None:
    if _field(call, "type") == "function_call":
        return ProviderCall(_text(call, "call_id"), _text(call, "name"), _field(call, "arguments"))
    function = _field(call, "function")
    if _field(call, "type") != "function" or function is None:
        return None
    return ProviderCall(_text(call, "id"), _text(function, "name"), _field(function, "arguments"))


def _write_openai(call: object, read: ProviderCall, answer: ProviderAnswer) -> Definition:
    if _field(call, "type") == "function_call":
        return {"type": "function_call_output", "call_id": read.id, "output": answer.text}
    return {"role": "tool", "tool_call_id": read.id, "content": answer.text}


def _read_anthropic(call: object) -> ProviderCall | None:
    if _field(call, "type") != "tool_use":
        return None
    return ProviderCall(_text(call, "id"), _text(call, "name"), _field(call, "input"))


def _write_anthropic(_: object, read: ProviderCall, answer: ProviderAnswer) -> Definition:
    result = {"type": "tool_result", "tool_use_id": read.id, "content": answer.text}
    return {**result, "is_error": True} if answer.is_error else result


def _field(item: object, name: str) -> object:
    if isinstance(item, Mapping):
        return cast("Mapping[str, object]", item).get(name)
    return getattr(item, name, None)


def _text(call: object, name: str) -> str:
    return str(_field(call, name) or "")


def _arguments(given: object) -> Mapping[str, object]:
    """Read a call's arguments.

    Raises:
        ArgumentsError: they are not a JSON object.
    """
    try:
        read = json.loads(given or "{}") if isinstance(given, str) else given
    except ValueError:
        read = None
    if given is None:
        return {}
    if not isinstance(read, Mapping):
        raise ArgumentsError("the arguments must be a JSON object")
    return cast("Mapping[str, object]", read)
