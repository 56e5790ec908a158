"""Turns a function's signature into a JSON schema, and checked JSON into its arguments."""

import inspect
import json
import re
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from textwrap import dedent
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, PydanticSerializationError

from remit.errors import ArgumentsError, ToolError
from remit.text.spelling import did_you_mean

Schema = dict[str, object]

# Do not convert between JSON types, and reject unknown fields, also in dataclasses.
_CONFIG = ConfigDict(extra="forbid", strict=True)
_COLLECTED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_MOST_REASONS = 3
_FRAMEWORKS = ("agents", "fastmcp", "langchain", "langchain_core", "langgraph", "mcp", "pydantic_ai")
_CONTEXTS = (  # the classes by which they pass a context to a tool
    *("Context", "InjectedState", "InjectedStore", "InjectedToolArg", "InjectedToolCallId", "RunContext"),
    *("RunContextWrapper", "ToolContext", "ToolRuntime"),
)
_RULES = {
    "bool_type": "must be true or false",
    "dataclass_type": "must be an object",
    "dict_type": "must be an object",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "none_required": "must be null",
    "set_item_not_hashable": "is in a set, which has only texts and numbers in it",
    "set_type": "must be a list",
    "string_type": "must be text",
    "tuple_type": "must be a list",
}
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters):[ \t]*\n((?:[ \t]+\S.*(?:\n|$)|[ \t]*\n)+)", re.MULTILINE
)
_ENTRY = re.compile(r"(\w+)(?: *\([^)]*\))?: *(.*)")


class Arguments(NamedTuple):
    """The positional and named arguments of a function call."""

    positional: Sequence[object]
    named: Mapping[str, object]


class FunctionParameters:
    """The parameters of a function: describes them as JSON schema, and validates calls.

    The `Args:` section of its docstring moves from its description to the parameters.

    Raises:
        ToolError: the function has variadic parameters, or a type hint is not supported.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        inner = unwrapped(function)
        name = function_name(function)
        hints, signature = _signature(function, name)
        # A value that a partial sets is not a model's to see or change.
        bound = function.keywords if isinstance(function, partial) else {}
        given = [each for each in signature.parameters.values() if each.name not in bound]
        self._parameters = [_checked(each, hints.get(each.name), name) for each in given]
        text = inspect.getdoc(inner) or inspect.getdoc(_called(inner)) or ""
        self.description, described = _read_docstring(text, [each.name for each in given])
        self._model, self.input_schema = _model(self._parameters, hints, described, name)

    def read(self, given: Mapping[str, object]) -> Arguments:
        """Check the arguments of a call, and convert them to the hinted types.

        Raises:
            ArgumentsError: an argument is missing, unknown, or of another type.
        """
        try:
            read = self._validated(dict(given))
        except ValidationError as error:
            raise self._refusal(error.errors(), given) from None
        except (TypeError, ValueError, RecursionError):
            raise ArgumentsError("the arguments cannot be written as JSON") from None
        values = {each.name: getattr(read, _field(at)) for at, each in enumerate(self._parameters)}
        positional = [each.name for each in self._parameters if each.kind is each.POSITIONAL_ONLY]
        # Python knows the default of a parameter, but not the one inside a `Field`.
        passed = {*given, *(each.name for each in self._parameters if not _has_own_default(each))}
        named = {name: value for name, value in values.items() if name in passed - {*positional}}
        return Arguments([values[name] for name in positional], named)

    def _validated(self, given: dict[str, object]) -> BaseModel:
        try:
            return self._model.model_validate_json(json.dumps(given))
        except ValidationError:  # in JSON, 3.0 is a whole number
            return self._model.model_validate_json(json.dumps(_with_whole_numbers(given)))

    def _refusal(self, errors: Sequence[ErrorDetails], given: Mapping[str, object]) -> ArgumentsError:
        names = [each.name for each in self._parameters]
        unknown = next((name for name in given if name not in names), None)
        if unknown is not None:
            listed = (
                f"its parameters are {', '.join(f'`{name}`' for name in names)}"
                if names
                else "it takes no parameters"
            )
            return ArgumentsError(
                f"there is no parameter `{unknown}`", hint=did_you_mean(unknown, names) or listed
            )
        reasons = dict.fromkeys(_reason(each, given) for each in errors)
        return ArgumentsError("; ".join(list(reasons)[:_MOST_REASONS]))


class _SchemaGenerator(GenerateJsonSchema):
    """Writes schemas without generated titles, and without defaults that JSON cannot represent."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - of the base class

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - of the base class
        return False

    def encode_default(self, dft: Any) -> Any:
        encoded = super().encode_default(dft)
        try:
            json.dumps(encoded, allow_nan=False)
        except ValueError:
            raise PydanticSerializationError("not a JSON number") from None
        return encoded


def unwrapped(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function or callable object inside partials."""
    while isinstance(function, partial):
        function = function.func
    return function


def function_name(function: Callable[..., object]) -> str:
    """Return the name of a function; of a callable object, the name of its class."""
    inner = unwrapped(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def _read_docstring(text: str, parameters: Collection[str]) -> tuple[str, dict[str, str]]:
    """Split a docstring into its text, and what its `Args:` section, in Google's style, says of parameters.

    One whose section has anything but these parameters stays as it is.
    """
    section = _SECTION.search(text)
    if section is None:
        return text, {}
    found: dict[str, str] = {}
    name = ""
    for line in dedent(section[1]).splitlines():
        entry = None if line.startswith((" ", "\t")) else _ENTRY.match(line)
        if entry is not None and entry[1] in parameters:
            name = entry[1]
            found[name] = entry[2]
        elif name and (line.startswith((" ", "\t")) or not line):
            found[name] = f"{found[name]} {line.strip()}".strip()
        elif line:
            return text, {}
    rest = f"{text[: section.start()].rstrip()}\n\n{text[section.end() :].lstrip()}".strip()
    return rest, found


def _called(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function that runs when a callable object is called."""
    is_object = not inspect.isroutine(function) and not inspect.isclass(function)
    return type(function).__call__ if is_object else function


def _signature(function: Callable[..., object], name: str) -> tuple[Mapping[str, Any], inspect.Signature]:
    try:
        hints = typing.get_type_hints(_called(unwrapped(function)), include_extras=True)
        return hints, inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise ToolError(f"the type hints of `{name}` cannot be read: {error}") from error


def _checked(parameter: inspect.Parameter, hint: Any, function: str) -> inspect.Parameter:
    if (context := _framework_context(hint)) is not None:
        raise ToolError(
            f"`{parameter.name}` of `{function}` is of the type `{context}`; "
            "a registry's tool gets no framework context",
            hint="remove the parameter, or give this function to the framework itself",
        )
    if parameter.kind in _COLLECTED:
        raise ToolError(
            f"`{function}` takes any number of arguments with `{parameter.name}`; a schema cannot",
            hint="name each parameter, or take a list or a dictionary",
        )
    return parameter


def _framework_context(hint: Any) -> str | None:
    """Return the name of the class in a type hint by which a framework passes its own context."""
    kind = cast("type[Any]", hint if inspect.isclass(hint) else type(hint))
    if kind.__name__ in _CONTEXTS and kind.__module__.partition(".")[0] in _FRAMEWORKS:
        return kind.__name__
    parts = (typing.get_origin(hint), *typing.get_args(hint))
    return next((found for part in parts if part and (found := _framework_context(part))), None)


def _model(
    parameters: Sequence[inspect.Parameter],
    hints: Mapping[str, Any],
    described: Mapping[str, str],
    function: str,
) -> tuple[type[BaseModel], Schema]:
    # pydantic does not allow every parameter name as a field, so fields have numbers and aliases.
    fields: dict[str, Any] = {
        _field(at): _field_definition(each, hints.get(each.name, Any), described.get(each.name))
        for at, each in enumerate(parameters)
    }
    try:
        model = create_model("Arguments", __config__=_CONFIG, **fields)
        schema: Schema = model.model_json_schema(schema_generator=_SchemaGenerator)
    except PydanticUserError as error:
        raise _unusable(parameters, hints, function) or ToolError(str(error)) from error
    del schema["title"]
    return model, schema


def _field(at: int) -> str:
    return f"parameter_{at}"


def _field_definition(parameter: inspect.Parameter, hint: Any, described: str | None) -> tuple[Any, Any]:
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    fields = [each for each in (*notes, parameter.default) if isinstance(each, FieldInfo)]
    if not any(each.description for each in fields):
        notes = (*notes, described)
    words = [each for each in notes if isinstance(each, str)]
    about: dict[str, Any] = {"description": words[0]} if words else {}
    if _has_own_default(parameter):
        about["default"] = parameter.default
    merged = typing.Annotated[hint, parameter.default] if isinstance(parameter.default, FieldInfo) else hint
    return merged, Field(alias=parameter.name, **about)


def _has_own_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not inspect.Parameter.empty and not isinstance(parameter.default, FieldInfo)


def _unusable(
    parameters: Iterable[inspect.Parameter], hints: Mapping[str, Any], function: str
) -> ToolError | None:
    """Return an error for the parameter whose type has no JSON schema."""
    for each in parameters:
        hint = hints.get(each.name, Any)
        try:
            TypeAdapter(hint).json_schema()
        except PydanticUserError as error:
            written = str(hint) if typing.get_origin(hint) else getattr(hint, "__name__", str(hint))
            return ToolError(
                f"`{each.name}` of `{function}` is of the type `{written}`, which JSON cannot represent: "
                f"{error.message.splitlines()[0].partition('. ')[0]}",
                hint="use texts, numbers, lists, dictionaries, dataclasses or pydantic models",
            )
    return None


def _reason(error: ErrorDetails, given: Mapping[str, object]) -> str:
    kind, location = error["type"], error["loc"]
    missing = _step(location[-1]) if kind == "missing" else ""
    place = f"{_path(location, given)}{missing}".removeprefix(".") or "arguments"
    if missing:
        return f"the parameter `{place}` is missing"
    if kind in _UNKNOWN:
        return f"there is no parameter `{place}`"
    if kind in ("enum", "literal_error"):
        choices = error.get("ctx", {})["expected"].replace("'", "`")
        return f"`{place}` must be one of {choices.replace(' or ', ', ')}"
    return f"`{place}` {_RULES[kind]}" if kind in _RULES else f"`{place}`: {error['msg']}"


def _path(location: Iterable[int | str], given: object) -> str:
    """Write the path of an error without pydantic's names for union members."""
    path, value = "", given
    for step in location:
        if isinstance(value, dict) and step in value:
            path, value = f"{path}{_step(step)}", cast("dict[object, object]", value)[step]
        elif isinstance(value, list) and step in range(len(cast("list[object]", value))):
            path, value = f"{path}{_step(step)}", cast("list[Any]", value)[int(step)]
    return path


def _with_whole_numbers(value: object) -> object:
    """Write each float without a fraction as an integer."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_with_whole_numbers(each) for each in cast("Sequence[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _step(step: int | str) -> str:
    return f"[{step}]" if isinstance(step, int) else f".{step}"
