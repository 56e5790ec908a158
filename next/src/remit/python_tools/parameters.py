"""The parameters of a function: a JSON schema of them, and arguments checked by it."""

import inspect
import json
import re
import typing
from collections.abc import Callable, Collection, Mapping
from functools import partial
from textwrap import dedent
from typing import Any, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from remit.errors import ArgumentsError, ToolError
from remit.text import did_you_mean

# Do not convert between JSON types, and reject unknown fields, also in dataclasses.
_CONFIG = ConfigDict(extra="forbid", strict=True)
_MOST_REASONS = 3
_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters):[ \t]*\n((?:[ \t]+\S.*(?:\n|$)|[ \t]*\n)+)", re.MULTILINE
)
_ENTRY = re.compile(r"(\w+)(?: *\([^)]*\))?: *(.*)")


class Parameters:
    """The parameters of a function; the `Args:` section of its docstring describes them.

    Raises:
        ToolError: the function takes any number of arguments, or JSON cannot represent a type.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        inner = unwrapped(function)
        name = function_name(function)
        called = _called(inner)
        try:
            hints: Mapping[str, Any] = typing.get_type_hints(called, include_extras=True)
            signature = inspect.signature(function)
        except (NameError, TypeError, ValueError) as error:
            raise ToolError(f"the type hints of `{name}` cannot be read: {error}") from error
        # A value that a partial sets is not a model's to see or change.
        bound = function.keywords if isinstance(function, partial) else {}
        self._parameters = [each for each in signature.parameters.values() if each.name not in bound]
        for parameter in self._parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise ToolError(
                    f"`{name}` takes any number of arguments with `{parameter.name}`; a schema cannot",
                    hint="name each parameter, or take a list or a dictionary",
                )
        text = inspect.getdoc(inner) or inspect.getdoc(called) or ""
        self.description, described = _read_docstring(text, [each.name for each in self._parameters])
        annotations = {
            each.name: _annotated(hints.get(each.name, Any), each, described) for each in self._parameters
        }
        try:
            self._adapter = _adapter(self._parameters, annotations)
            self.schema: dict[str, Any] = self._adapter.json_schema(schema_generator=_SchemaGenerator)
        except PydanticUserError as error:
            problem = error.message.splitlines()[0].partition(". ")[0]
            raise ToolError(
                f"JSON cannot represent a parameter of `{name}`: {problem}",
                hint="use texts, numbers, lists, dictionaries, dataclasses or pydantic models",
            ) from error

    def read(self, given: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """Check the arguments of a call, and return them by position and by name in the hinted types.

        Raises:
            ArgumentsError: an argument is missing, unknown, or of another type.
        """
        try:
            values = self._validated(dict(given))
        except ValidationError as error:
            raise self._refusal(error, given) from None
        except (TypeError, ValueError, RecursionError):
            raise ArgumentsError("the arguments cannot be written as JSON") from None
        by_position = [each.name for each in self._parameters if each.kind is each.POSITIONAL_ONLY]
        named = {name: value for name, value in values.items() if name not in by_position}
        return [values[name] for name in by_position], named

    def _validated(self, given: dict[str, object]) -> dict[str, object]:
        try:
            return self._adapter.validate_json(json.dumps(given))
        except ValidationError:  # in JSON, 3.0 is a whole number
            return self._adapter.validate_json(json.dumps(_with_whole_numbers(given)))

    def _refusal(self, error: ValidationError, given: Mapping[str, object]) -> ArgumentsError:
        names = [each.name for each in self._parameters]
        for name in given:
            if name not in names:
                known = ", ".join(f"`{known}`" for known in names)
                hint = f"its parameters are {known}" if names else "it takes no parameters"
                return ArgumentsError(
                    f"there is no parameter `{name}`", hint=did_you_mean(name, names) or hint
                )
        reasons = {f"`{'.'.join(map(str, item['loc']))}`: {item['msg']}": None for item in error.errors()}
        return ArgumentsError("; ".join([*reasons][:_MOST_REASONS]))


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


def _adapter(
    parameters: Collection[inspect.Parameter], annotations: Mapping[str, Any]
) -> TypeAdapter[dict[str, object]]:
    """Check arguments by a function that takes each of them by name, and returns them."""

    def collect(**given: object) -> dict[str, object]:
        return given

    by_name = [
        inspect.Parameter(
            each.name, each.KEYWORD_ONLY, default=each.default, annotation=annotations[each.name]
        )
        for each in parameters
    ]
    collect.__annotations__ = dict(annotations)
    collect.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined] - read by `inspect`
    return TypeAdapter(cast("Any", collect), config=_CONFIG)


def _annotated(hint: Any, parameter: inspect.Parameter, described: Mapping[str, str]) -> Any:
    """Turn the texts of a hint, or else of the docstring, into a description that pydantic knows."""
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    fields = [note for note in (*notes, parameter.default) if isinstance(note, FieldInfo)]
    texts = [note for note in notes if isinstance(note, str)]
    if not any(field.description for field in fields):
        texts.append(described.get(parameter.name, ""))
    text = next(filter(None, texts), None)
    return hint if text is None else typing.Annotated[hint, Field(description=text)]


def _read_docstring(text: str, parameters: Collection[str]) -> tuple[str, dict[str, str]]:
    """Split a docstring into its text, and what its `Args:` section, in Google's style, says of parameters.

    One whose section has anything but these parameters stays as it is.
    """
    section = _SECTION.search(text)
    if section is None:
        return text, {}
    described: dict[str, str] = {}
    name = ""
    for line in dedent(section[1]).splitlines():
        is_continued = line.startswith((" ", "\t")) or not line
        entry = None if is_continued else _ENTRY.match(line)
        if entry is not None and entry[1] in parameters:
            name, described[entry[1]] = entry[1], entry[2]
        elif name and is_continued:
            described[name] = f"{described[name]} {line.strip()}".strip()
        elif line:
            return text, {}
    rest = f"{text[: section.start()].rstrip()}\n\n{text[section.end() :].lstrip()}".strip()
    return rest, described


def _called(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function that runs when a callable object is called."""
    is_object = not inspect.isroutine(function) and not inspect.isclass(function)
    return type(function).__call__ if is_object else function


def _with_whole_numbers(value: object) -> object:
    """Write each float without a fraction as an integer."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_with_whole_numbers(each) for each in cast("list[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
