"""Functions as tools: the decorators that mark them, their definitions, and how they run."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from inspect import isasyncgen, isasyncgenfunction, isawaitable, iscoroutinefunction, isgenerator
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack, overload

from pydantic_core import PydanticSerializationError, to_json

from remit.decision import (
    LEVELS,
    Kind,
    Origin,
    RuleStrength,
    Scope,
    Tool,
    ToolRule,
    tool_globs,
)
from remit.decision.when import Condition, LocationScope, StateScope
from remit.errors import ArgumentsError, RemitError, ToolError
from remit.python_tools.parameters import Parameters, function_name, unwrapped
from remit.text import as_question, did_you_mean
from remit.trust import argument_mistake

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., object])

CLIENT = "python"
_MARK = "__remit__"
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_LONGEST_NAME = 128  # the limit of the protocol
_WORDS = {  # as they are written elsewhere
    "requiredStates": "required_states",
    "states": "required_states",
    "dangerLevel": "danger",
    "requiresApproval": "approval",
    "aiEnabled": "ai_enabled",
}


class ToolOptions(TypedDict, total=False):
    """What may be said of a function."""

    name: str | None
    description: str | None
    namespace: str | None
    danger: str | None
    approval: bool | None
    ai_enabled: bool | None
    required_states: Sequence[str]
    when: str | None
    location: LocationScope | None


class Marks(NamedTuple):
    """What decorators say of a function."""

    is_tool: bool = False
    options: ToolOptions = {}  # noqa: RUF012 - never changed
    needs: tuple[Condition, ...] = ()  # all must hold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DefinedTool:
    """A tool defined in Python: its definition, its conditions and its function."""

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[Mapping[str, object]], object]  # the result may be awaitable
    source: str
    namespace: str | None = None
    needs: tuple[Condition, ...] = ()
    danger: str | None = None
    approval: bool | None = None
    ai_enabled: bool | None = None
    labels: tuple[ToolRule, ...] = ()  # what a file says of it; they only add
    is_async: bool = False
    check: Callable[[Mapping[str, object]], object] | None = None  # raises ArgumentsError; None: by schema

    @property
    def row(self) -> Tool:
        """The row of the catalog that it would be."""
        content = [self.name, self.source, self.description, self.input_schema]
        return Tool(
            client=CLIENT,
            kind=Kind.BUILTIN,
            scope=Scope.GLOBAL,
            project_hash=None,
            dir=None,
            agent=None,
            server=None,
            name=self.name,
            source=self.source,
            description=self.description or None,
            danger=None if self.danger is None else LEVELS[self.danger],
            definition=sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
        )

    @property
    def rules(self) -> list[ToolRule]:
        """What it requires, which files can only add to."""
        globs, narrowing = tool_globs(self.name), RuleStrength.NARROWING
        marks = ToolRule(
            self.name,
            globs,
            narrowing,
            Origin(self.source),
            approval=self.approval or None,
            ai_enabled=False if self.ai_enabled is False else None,
        )
        parts = [need.split() for need in self.needs]
        needs = [
            ToolRule(self.name, globs, narrowing, Origin(""), condition=before, call=call)
            for before, call in parts
        ]
        return [marks, *needs, *self.labels]


@overload
def tool(function: AnyFunction, /) -> AnyFunction: ...


@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[AnyFunction], AnyFunction]: ...


def tool(function: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Mark a sync or async function as a tool; the function itself stays unchanged.

    By default, the tool gets the name of the function, prefixed with the namespace if there is one. The
    docstring becomes its description and the type hints its schema; `Annotated[str, "..."]` describes a
    parameter.

    Raises:
        ToolError: the danger is unknown.
    """
    check_danger(options.get("danger"))

    def mark(marked: AnyFunction) -> AnyFunction:
        return _mark(marked, is_tool=True, options=options)

    return mark if function is None else mark(function)


def requires(
    *states: str, when: str | None = None, any: Sequence[str] | None = None, none: Sequence[str] = ()
) -> Callable[[AnyFunction], AnyFunction]:
    """Make a tool available only while these states and the condition hold; may be repeated."""
    scope = StateScope(states, None if any is None else tuple(any), tuple(none))
    return _needing(Condition(None if scope == StateScope() else scope, when))


def location_scope(
    *,
    pages: Sequence[str] | None = None,
    routes: Sequence[str] | None = None,
    components: Sequence[str] | None = None,
    elements: Sequence[str] | None = None,
) -> Callable[[AnyFunction], AnyFunction]:
    """Make a tool available only on some pages or routes, or while components or elements are shown."""
    parts = (None if part is None else tuple(part) for part in (pages, routes, components, elements))
    return _needing(Condition(location=LocationScope(*parts)))


def marks_of(function: object) -> Marks:
    """Return what decorators say of a function, also of one inside a partial or an object."""
    while not hasattr(_marked(function), _MARK) and isinstance(function, partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - may be of any type
    return getattr(_marked(function), _MARK, getattr(type(function).__call__, _MARK, Marks()))


def read_options(written: Mapping[str, object]) -> ToolOptions:
    """Read the options of a registration, also in the words that other documents use.

    Raises:
        ToolError: an option is unknown.
    """
    known = [*ToolOptions.__annotations__, *_WORDS]
    for key in written:
        if key not in known:
            raise ToolError(f"unknown option `{key}` of a tool", hint=did_you_mean(key, known))
    return ToolOptions(**{_WORDS.get(key, key): value for key, value in written.items()})  # type: ignore[typeddict-item]


def check_danger(danger: object) -> None:
    """Check the name of a danger level.

    Raises:
        ToolError: the danger is unknown.
    """
    if danger is not None and danger not in LEVELS:
        hint = did_you_mean(str(danger), LEVELS) or as_question(list(LEVELS))
        raise ToolError(f"`{danger}` is not a known danger", hint=hint)


def define(function: Callable[..., object], options: ToolOptions) -> DefinedTool:
    """Define a tool from a function, its decorators and the options of its registration.

    Raises:
        ToolError: the name or the danger is invalid, or a parameter cannot be passed as JSON.
    """
    check_danger(options.get("danger"))
    marks = marks_of(function)
    inner, own = unwrapped(function), function_name(function)
    given = {key: value for key, value in options.items() if value is not None}
    said: dict[str, Any] = {**marks.options, **given}
    name = full_name(said.get("name") or own.rstrip("_"), said.get("namespace"))
    parameters = Parameters(function)
    states, when, location = said.get("required_states"), said.get("when"), said.get("location")
    needs = marks.needs
    if states or when is not None or location is not None:
        needs = (*needs, Condition(StateScope(tuple(states)) if states else None, when, location))

    def run(arguments: Mapping[str, object]) -> object:
        positional, named = parameters.read(arguments)
        result = function(*positional, **named)
        if isasyncgen(result):
            return _collected(result)
        return list(result) if isgenerator(result) else result

    description = said.get("description")
    return DefinedTool(
        name=name,
        description=parameters.description if description is None else description,
        input_schema=parameters.schema,
        run=run,
        source=f"{getattr(inner, '__module__', '')}:{getattr(inner, '__qualname__', own)}",
        namespace=said.get("namespace") or name.rpartition(".")[0] or None,
        needs=needs,
        danger=said.get("danger"),
        approval=said.get("approval"),
        ai_enabled=said.get("ai_enabled"),
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


async def run_tool(tool: DefinedTool, arguments: Mapping[str, object]) -> object:
    """Run a tool that may be called; a sync function runs in a worker thread."""
    result = tool.run(arguments) if tool.is_async else await asyncio.to_thread(tool.run, arguments)
    return await result if isawaitable(result) else result


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
        hint = f"write letters, digits, `_` and `-`, joined by `.`, up to {_LONGEST_NAME} of them"
        raise ToolError(f"`{full}` is not a valid tool name", hint=hint)
    return full


def _needing(condition: Condition) -> Callable[[AnyFunction], AnyFunction]:
    def mark(function: AnyFunction) -> AnyFunction:
        return _mark(function, needs=(*marks_of(function).needs, condition))

    return mark


def _mark(function: AnyFunction, **said: Any) -> AnyFunction:
    try:
        setattr(_marked(function), _MARK, marks_of(function)._replace(**said))
    except AttributeError:
        hint = "decorate a function, not a bound method"
        raise ToolError(f"`{function!r}` cannot be decorated", hint=hint) from None
    return function


def _marked(function: object) -> object:
    """Return the function inside a static method or class method."""
    return function.__func__ if isinstance(function, staticmethod | classmethod) else function  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - may be of any type


async def _collected(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


def _is_async(function: Callable[..., object]) -> bool:
    called = (function, getattr(function, "__call__", None))  # noqa: B004 - callable objects count, too
    return any(iscoroutinefunction(each) or isasyncgenfunction(each) for each in called)
