"""Turns the arguments of a call into a command line, and keeps values from being parsed as options."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, cast

from remit.errors import ArgumentsError
from remit.text import did_you_mean

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_WORDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_MOST_REPEATS = 10


class Form(StrEnum):
    """How a parameter is written on a command line."""

    ARGUMENT = "argument"  # by position
    OPTION = "option"  # a flag with a value
    FLAG = "flag"  # a flag without a value
    COUNT = "count"  # a repeated flag


class Parameter(NamedTuple):
    """A parameter of a command."""

    name: str
    form: Form
    flag: str = ""  # `--title`
    off: str = ""  # `--no-title`, if there is one
    type: str = "string"  # a JSON type
    choices: tuple[str | int | float | bool | None, ...] = ()
    is_required: bool = False
    is_many: bool = False
    is_spread: bool = False  # one flag before all values instead of one before each
    help: str = ""


def schema_of(parameters: Sequence[Parameter]) -> dict[str, object]:
    """Return the JSON schema of a command's parameters."""
    properties = {parameter.name: _described(parameter) for parameter in parameters}
    schema: dict[str, object] = {"type": "object", "properties": properties}
    if required := [parameter.name for parameter in parameters if parameter.is_required]:
        schema["required"] = required
    return schema | {"additionalProperties": False}


def check(given: Mapping[str, object], parameters: Sequence[Parameter]) -> None:
    """Check the arguments of a call.

    Raises:
        ArgumentsError: an argument is missing, unknown, or of another type.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name, value in given.items():
        if name not in known:
            raise ArgumentsError(f"there is no parameter `{name}`", hint=did_you_mean(name, known))
        _check(value, known[name])
    for parameter in parameters:
        if parameter.is_required and given.get(parameter.name) is None:
            raise ArgumentsError(f"the parameter `{parameter.name}` is missing")


def words_of(given: Mapping[str, object], parameters: Sequence[Parameter]) -> list[str]:
    """Write arguments as a command line: options first, then positional arguments after `--`.

    Raises:
        ArgumentsError: an argument is missing, unknown, or of another type.
    """
    check(given, parameters)
    values = [(item, given[item.name]) for item in parameters if given.get(item.name) is not None]
    options = [word for item, value in values for word in _option(item, value)]
    places = [word for item, value in values if item.form is Form.ARGUMENT for word in _texts(value)]
    return [*options, *(["--"] if places else []), *places]


def _option(parameter: Parameter, value: object) -> Iterator[str]:
    match parameter.form:
        case Form.FLAG:
            yield from filter(None, [parameter.flag if value else parameter.off])
        case Form.COUNT:
            yield from [parameter.flag] * cast(int, value)
        case Form.OPTION if parameter.is_spread:
            words = _texts(value)
            if any(word.startswith("-") for word in words):
                raise ArgumentsError(f"`{parameter.name}` must not start with `-`")
            yield from (parameter.flag, *words)
        case Form.OPTION:
            for word in _texts(value):
                yield from _assigned(parameter.flag, word)
        case Form.ARGUMENT:
            pass


def _assigned(flag: str, word: str) -> Sequence[str]:
    """Write an option and its value as one word, so the value is never parsed as an option."""
    if flag.startswith("--"):
        return (f"{flag}={word}",)
    return (f"{flag}{word}",) if word else (flag, word)


def _texts(value: object) -> list[str]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [item if isinstance(item, str) else _text(item) for item in values]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(value: object, parameter: Parameter) -> None:
    if value is None and not parameter.is_required:
        return
    if parameter.is_many and not isinstance(value, list):
        raise ArgumentsError(f"`{parameter.name}` must be a list")
    for item in cast("list[object]", value if parameter.is_many else [value]):
        is_typed = isinstance(item, _TYPES[parameter.type]) and (
            parameter.type == "boolean" or not isinstance(item, bool)
        )
        if not parameter.choices and not is_typed:
            raise ArgumentsError(f"`{parameter.name}` must be {_WORDS[parameter.type]}")
        if parameter.choices and item not in parameter.choices:
            choices = ", ".join(f"`{choice}`" for choice in parameter.choices)
            raise ArgumentsError(f"`{parameter.name}` must be one of {choices}")
        if isinstance(item, str) and "\0" in item:
            raise ArgumentsError(f"`{parameter.name}` has a null character")
    if parameter.form is Form.COUNT and not 0 <= cast(int, value) <= _MOST_REPEATS:
        raise ArgumentsError(f"`{parameter.name}` must be a number from 0 to {_MOST_REPEATS}")


def _described(parameter: Parameter) -> dict[str, object]:
    one: dict[str, object] = (
        {"enum": list(parameter.choices)} if parameter.choices else {"type": parameter.type}
    )
    if parameter.form is Form.COUNT:
        one |= {"minimum": 0, "maximum": _MOST_REPEATS}
    schema: dict[str, object] = {"type": "array", "items": one} if parameter.is_many else one
    return schema | ({"description": parameter.help} if parameter.help else {})
