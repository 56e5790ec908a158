"""The JSON schema of a function's parameters, from their type hints."""

import dataclasses
import datetime
import inspect
import json
import types
import typing
import uuid
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, NamedTuple

from remit.errors import ToolError

Schema = dict[str, object]

SIMPLE: dict[object, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
}
SETS = (set, frozenset)
ANYTHING = (Any, object, inspect.Parameter.empty)
_DEEPEST = 16
_COLLECTED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Parameter(NamedTuple):
    """One parameter of a tool."""

    name: str
    hint: Any
    is_required: bool
    is_positional: bool  # it cannot be given by name
    default: object = None


class Member(NamedTuple):
    """One member of a type that has some by name."""

    name: str
    hint: Any
    is_required: bool


def parameters(function: Callable[..., object]) -> list[Parameter]:
    """List what a function takes.

    Raises:
        ToolError: it takes any number of arguments, or a hint names nothing.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise ToolError(f"the type hints of `{_name(function)}` cannot be read: {error}") from error
    return [_parameter(each, hints.get(each.name, Any), function) for each in signature.parameters.values()]


def input_schema(function: Callable[..., object]) -> Schema:
    """Describe what a function takes, as a JSON schema.

    Raises:
        ToolError: a parameter is of a type that JSON cannot carry.
    """
    writer = _Writer()
    properties: Schema = {}
    taken = parameters(function)
    for each in taken:
        schema = writer.schema(each.hint, f"`{each.name}` of `{_name(function)}`")
        properties[each.name] = schema if each.is_required else _with_default(schema, each.default)
    schema: Schema = {"type": "object", "properties": properties}
    if required := [each.name for each in taken if each.is_required]:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema | ({"$defs": writer.definitions} if writer.definitions else {})


def members(hint: Any) -> list[Member] | None:
    """List the members of a dataclass, a typed dictionary or a named tuple; None of any other type."""
    if not isinstance(hint, type) or not _has_members(hint):
        return None
    hints = typing.get_type_hints(hint, include_extras=True)
    required: Collection[str] | None = getattr(hint, "__required_keys__", None)
    if required is not None:
        return [Member(name, _bare(each), name in required) for name, each in hints.items()]
    if dataclasses.is_dataclass(hint):
        fields = [each for each in dataclasses.fields(hint) if each.init]
        return [Member(each.name, hints[each.name], _is_missing(each)) for each in fields]
    return _of_named_tuple(hint, hints)


def is_model(hint: Any) -> bool:
    """Tell whether a type describes and checks itself, as the models of pydantic do."""
    return isinstance(hint, type) and hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate")


def is_choice(hint: Any) -> bool:
    """Tell whether a hint is a union."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def is_listing(origin: Any) -> bool:
    """Tell whether a generic type is a list or set of items."""
    return isinstance(origin, type) and issubclass(origin, Collection) and not issubclass(origin, Mapping)


def is_mapping(origin: Any) -> bool:
    """Tell whether a generic type maps keys to values."""
    return isinstance(origin, type) and issubclass(origin, Mapping)


class _Writer:
    """Writes schemas, and collects the definitions that they refer to."""

    def __init__(self) -> None:
        self.definitions: Schema = {}

    def schema(self, hint: Any, place: str, depth: int = 0) -> Schema:
        if depth > _DEEPEST:
            raise ToolError(f"{place} is of a type that goes round in a circle, or is nested too deeply")
        if typing.get_origin(hint) is typing.Annotated:  # first: what annotates it need not be hashable
            return self._annotated(hint, place, depth)
        if hint in ANYTHING:
            return {}
        if hint in SIMPLE:
            return dict(SIMPLE[hint])
        if is_model(hint):
            return self._model(hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return {"enum": [each.value for each in hint]}
        if isinstance(hint, type) and issubclass(hint, PurePath):
            return {"type": "string"}
        if (found := members(hint)) is not None:
            return self._members(found, place, depth)
        return self._generic(hint, place, depth)

    def _generic(self, hint: Any, place: str, depth: int) -> Schema:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if is_choice(hint):
            return {"anyOf": [self.schema(each, place, depth + 1) for each in arguments]}
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            items = [self.schema(each, place, depth + 1) for each in arguments]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if is_mapping(origin):
            return {"type": "object", "additionalProperties": self.schema(arguments[1], place, depth + 1)}
        if is_listing(origin):
            schema: Schema = {"type": "array", "items": self.schema(arguments[0], place, depth + 1)}
            return schema | ({"uniqueItems": True} if origin in SETS else {})
        raise ToolError(
            f"{place} is of the type `{_written(hint)}`, which JSON cannot carry",
            hint="use texts, numbers, lists, dictionaries, dataclasses or models of pydantic",
        )

    def _annotated(self, hint: Any, place: str, depth: int) -> Schema:
        bare, *notes = typing.get_args(hint)
        words = [each for each in notes if isinstance(each, str)]
        return self.schema(bare, place, depth + 1) | ({"description": words[0]} if words else {})

    def _members(self, found: list[Member], place: str, depth: int) -> Schema:
        properties = {each.name: self.schema(each.hint, place, depth + 1) for each in found}
        required = [each.name for each in found if each.is_required]
        schema: Schema = {"type": "object", "properties": properties}
        return schema | ({"required": required} if required else {}) | {"additionalProperties": False}

    def _model(self, hint: Any) -> Schema:
        schema = typing.cast("Schema", hint.model_json_schema())
        self.definitions |= typing.cast("Schema", schema.pop("$defs", {}))
        return schema


def _parameter(each: inspect.Parameter, hint: Any, function: Callable[..., object]) -> Parameter:
    if each.kind in _COLLECTED:
        raise ToolError(
            f"`{_name(function)}` takes any number of arguments with `{each.name}`, which no schema can say",
            hint="name each parameter, or take a list or a dictionary",
        )
    is_required = each.default is inspect.Parameter.empty
    is_positional = each.kind is inspect.Parameter.POSITIONAL_ONLY
    return Parameter(each.name, hint, is_required, is_positional, None if is_required else each.default)


def _with_default(schema: Schema, default: object) -> Schema:
    value = default.value if isinstance(default, Enum) else default
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return schema
    return schema | {"default": value}


def _has_members(hint: Any) -> bool:
    marks = ("__dataclass_fields__", "__required_keys__", "_fields")
    return any(hasattr(hint, mark) for mark in marks)


def _of_named_tuple(hint: Any, hints: Mapping[str, Any]) -> list[Member]:
    names: Collection[str] = hint._fields
    return [Member(name, hints.get(name, Any), name not in hint._field_defaults) for name in names]


def _is_missing(each: "dataclasses.Field[Any]") -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING


def _bare(hint: Any) -> Any:
    """Take off what says whether a key of a typed dictionary has to be there."""
    is_marked = typing.get_origin(hint) in (typing.Required, typing.NotRequired)
    return typing.get_args(hint)[0] if is_marked else hint


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _written(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)
