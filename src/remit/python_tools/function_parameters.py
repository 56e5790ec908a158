"""Turns a function's signature into a JSON schema, and checked JSON into its arguments."""

import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, PydanticSerializationError

from remit.errors import ArgumentsError, ToolError
from remit.text.spelling import did_you_mean

Schema = dict[str, object]

# Do not convert between JSON types, and reject unknown fields, also in dataclasses.
_CONFIG = ConfigDict(extra="forbid", strict=True)
_COLLECTED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_MOST_REASONS = 3
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


class Arguments(NamedTuple):
    """The positional and named arguments of a function call."""

    positional: Sequence[object]
    named: Mapping[str, object]


class FunctionParameters:
    """The parameters of a function: describes them as JSON schema, and validates calls.

    Raises:
        ToolError: the function has variadic parameters, or a type hint is not supported.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        name = str(getattr(function, "__name__", type(function).__name__))
        hints, signature = _signature(function, name)
        self._parameters = [_checked(each, name) for each in signature.parameters.values()]
        self._model, self.input_schema = _model(self._parameters, hints, name)

    def read(self, given: Mapping[str, object]) -> Arguments:
        """Check the arguments of a call, and convert them to the hinted types.

        Raises:
            ArgumentsError: an argument is missing, unknown, or of another type.
        """
        try:
            read = self._model.model_validate_json(json.dumps(dict(given)))
        except ValidationError as error:
            raise self._refusal(error.errors(), given) from None
        except (TypeError, ValueError, RecursionError):
            raise ArgumentsError("the arguments cannot be written as JSON") from None
        values = {each.name: getattr(read, _field(at)) for at, each in enumerate(self._parameters)}
        positional = [each.name for each in self._parameters if each.kind is each.POSITIONAL_ONLY]
        named = {name: values[name] for name in given if name not in positional}
        return Arguments([values[name] for name in positional], named)

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


def _signature(function: Callable[..., object], name: str) -> tuple[Mapping[str, Any], inspect.Signature]:
    try:
        return typing.get_type_hints(function, include_extras=True), inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise ToolError(f"the type hints of `{name}` cannot be read: {error}") from error


def _checked(parameter: inspect.Parameter, function: str) -> inspect.Parameter:
    if parameter.kind in _COLLECTED:
        raise ToolError(
            f"`{function}` takes any number of arguments with `{parameter.name}`; a schema cannot",
            hint="name each parameter, or take a list or a dictionary",
        )
    return parameter


def _model(
    parameters: Sequence[inspect.Parameter], hints: Mapping[str, Any], function: str
) -> tuple[type[BaseModel], Schema]:
    # pydantic does not allow every parameter name as a field, so fields have numbers and aliases.
    fields: dict[str, Any] = {
        _field(at): _field_definition(each, hints.get(each.name, Any)) for at, each in enumerate(parameters)
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


def _field_definition(parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    words = [each for each in notes if isinstance(each, str)]
    about: dict[str, Any] = {"description": words[0]} if words else {}
    return hint, Field(default, alias=parameter.name, **about)


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


def _step(step: int | str) -> str:
    return f"[{step}]" if isinstance(step, int) else f".{step}"
