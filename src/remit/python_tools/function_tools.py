"""Defines a tool from a function and its decorators, runs it, and writes its answer as text."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from inspect import isasyncgen, isasyncgenfunction, isawaitable, iscoroutinefunction, isgenerator

from pydantic_core import PydanticSerializationError, to_json

from remit.approvals.argument_check import argument_mistake
from remit.errors import ArgumentsError, RemitError, ToolError
from remit.python_tools.decorators import DefinedTool, ToolOptions
from remit.python_tools.function_parameters import FunctionParameters, function_name, unwrapped

_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_LONGEST_NAME = 128  # the limit of the protocol


def define(function: Callable[..., object], marks: ToolOptions) -> DefinedTool:
    """Define a tool from a function.

    Raises:
        ToolError: the name is not a valid tool name, or a parameter cannot be passed as JSON.
    """
    inner, own = unwrapped(function), function_name(function)
    name = full_name(marks.name or own.rstrip("_"), marks.namespace)
    parameters = FunctionParameters(function)

    def run(given: Mapping[str, object]) -> object:
        arguments = parameters.read(given)
        made = function(*arguments.positional, **arguments.named)
        if isasyncgen(made):
            return _collected(made)
        return list(made) if isgenerator(made) else made

    return DefinedTool(
        name=name,
        description=marks.description if marks.description is not None else parameters.description,
        input_schema=parameters.input_schema,
        run=run,
        source=f"{getattr(inner, '__module__', '')}:{getattr(inner, '__qualname__', own)}",
        namespace=marks.namespace or name.rpartition(".")[0] or None,
        needs=tuple(need._replace(pattern=name) for need in marks.needs),
        danger=marks.danger,
        approval=marks.approval,
        ai_enabled=marks.ai_enabled,
        is_async=_is_async(inner),
        check=parameters.read,
    )


def check_arguments(tool: DefinedTool, arguments: Mapping[str, object]) -> None:
    """Check the arguments of a call before a person is asked about it.

    Raises:
        ArgumentsError: the call cannot run with these arguments.
    """
    if tool.check is not None:
        tool.check(arguments)
    elif (mistake := argument_mistake(tool.input_schema, arguments)) is not None:
        raise ArgumentsError(mistake)


async def run_defined(tool: DefinedTool, arguments: Mapping[str, object]) -> object:
    """Run a tool that may be called; a sync function runs in a worker thread."""
    made = tool.run(arguments) if tool.is_async else await asyncio.to_thread(tool.run, arguments)
    return await made if isawaitable(made) else made


def result_text(result: object) -> str:
    """Return a tool's result as text for a model."""
    if isinstance(result, str):
        return result
    try:
        return to_json(result, fallback=str).decode()
    except PydanticSerializationError:  # bytes that are not text
        return to_json(result, fallback=str, bytes_mode="base64").decode()


def error_text(error: Exception) -> str:
    """Return a tool's failure as text for a model."""
    if not isinstance(error, RemitError):
        return f"{type(error).__name__}: {error}"
    return f"{error}\nhint: {error.hint}" if error.hint else str(error)


def full_name(name: str, namespace: str | None) -> str:
    """Return the name of a tool with its namespace.

    Raises:
        ToolError: the name is not a valid tool name.
    """
    is_inside = namespace is None or name.startswith(f"{namespace}.")
    full = name if is_inside else f"{namespace}.{name}"
    if len(full) > _LONGEST_NAME or _NAME.fullmatch(full) is None:
        raise ToolError(
            f"`{full}` is not a valid tool name",
            hint=f"write letters, digits, `_` and `-`, joined by `.`, up to {_LONGEST_NAME} of them",
        )
    return full


async def _collected(items: AsyncIterator[object]) -> list[object]:
    return [each async for each in items]


def _is_async(function: Callable[..., object]) -> bool:
    called = (function, getattr(function, "__call__", None))  # noqa: B004 - callable objects count, too
    return any(iscoroutinefunction(each) or isasyncgenfunction(each) for each in called)
