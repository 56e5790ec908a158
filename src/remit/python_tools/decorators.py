"""Decorators that turn functions into tools, and declare when they are available."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, overload

from remit.configuration.config_model import ToolEntry
from remit.configuration.file_parser import DANGERS
from remit.decision.requirements import LocationScope, StateScope
from remit.errors import ToolError
from remit.text.spelling import did_you_mean

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., object])

_MARK = "__remit__"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """The options that decorators set on a function."""

    is_tool: bool = False
    name: str | None = None
    description: str | None = None
    namespace: str | None = None
    needs: tuple[ToolEntry, ...] = ()  # each with an empty pattern; all must hold
    danger: str | None = None
    approval: bool | None = None
    ai_enabled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DefinedTool:
    """A tool defined in Python: its definition, its conditions and its function."""

    name: str
    description: str
    input_schema: dict[str, object]
    run: Callable[[Mapping[str, object]], object]  # the result may be awaitable
    source: str
    namespace: str | None = None
    needs: tuple[ToolEntry, ...] = ()
    danger: str | None = None
    approval: bool | None = None
    ai_enabled: bool | None = None
    labelled_in: str | None = None  # where the labels are declared; None: in its source
    is_async: bool = False
    check: Callable[[Mapping[str, object]], object] | None = None  # raises ArgumentsError; None: by schema


@overload
def tool(function: AnyFunction, /) -> AnyFunction: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    namespace: str | None = None,
    danger: str | None = None,
    approval: bool | None = None,
    ai_enabled: bool | None = None,
) -> Callable[[AnyFunction], AnyFunction]: ...


def tool(function: Any = None, /, **said: Any) -> Any:
    """Mark a sync or async function as a tool; the function itself stays unchanged.

    By default, the tool gets the name of the function, prefixed with the namespace if there is one. The
    docstring becomes its description and the type hints its schema; `Annotated[str, "..."]` describes a
    parameter.

    Raises:
        ToolError: the danger is unknown.
    """
    danger = said.get("danger")
    if danger is not None and danger not in DANGERS:
        hint = (
            did_you_mean(str(danger), DANGERS) or f"expected one of {', '.join(f'`{it}`' for it in DANGERS)}"
        )
        raise ToolError(f"`{danger}` is not a known danger", hint=hint)

    def mark(each: AnyFunction) -> AnyFunction:
        return _mark(each, is_tool=True, **said)

    return mark if function is None else mark(function)


def requires(
    *states: str, when: str | None = None, any: Sequence[str] | None = None, none: Sequence[str] = ()
) -> Callable[[AnyFunction], AnyFunction]:
    """Make a tool available only while these states and the condition hold; may be repeated."""
    asked = StateScope(all=states, any=None if any is None else tuple(any), none=tuple(none))
    return _needing(ToolEntry("", states=None if asked == StateScope() else asked, when=when))


def location_scope(
    *,
    pages: Sequence[str] | None = None,
    routes: Sequence[str] | None = None,
    components: Sequence[str] | None = None,
    elements: Sequence[str] | None = None,
) -> Callable[[AnyFunction], AnyFunction]:
    """Make a tool available only on some pages or routes, or while components or elements are shown."""
    parts = (pages, routes, components, elements)
    return _needing(
        ToolEntry("", location=LocationScope(*(None if each is None else tuple(each) for each in parts)))
    )


def options_of(function: object) -> ToolOptions:
    """Return the options that decorators set on a function, also on one inside a partial or an object."""
    while not hasattr(_marked(function), _MARK) and isinstance(function, partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - may be of any type
    return getattr(_marked(function), _MARK, getattr(type(function).__call__, _MARK, ToolOptions()))


def _needing(entry: ToolEntry) -> Callable[[AnyFunction], AnyFunction]:
    def mark(function: AnyFunction) -> AnyFunction:
        return _mark(function, needs=(*options_of(function).needs, entry))

    return mark


def _mark(function: AnyFunction, **said: Any) -> AnyFunction:
    try:
        setattr(_marked(function), _MARK, replace(options_of(function), **said))
    except AttributeError:
        raise ToolError(
            f"`{function!r}` cannot be decorated", hint="decorate a function, not a bound method"
        ) from None
    return function


def _marked(function: object) -> object:
    """Return the function inside a static method or class method."""
    return function.__func__ if isinstance(function, staticmethod | classmethod) else function  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - may be of any type
