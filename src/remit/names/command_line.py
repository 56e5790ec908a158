"""Turns the arguments of a call into a command line, and keeps values from being parsed as options."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from remit.errors import ArgumentsError
from remit.names.name_tree import Form, Parameter
from remit.text.spelling import did_you_mean

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_WORDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}


def schema_of(parameters: Sequence[Parameter]) -> dict[str, object]:
    """Return the JSON schema of a command's parameters."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {each.name: _described(each) for each in parameters},
    }
    if required := [each.name for each in parameters if each.is_required]:
        schema["required"] = required
    return schema | {"additionalProperties": False}


def check(given: Mapping[str, object], parameters: Sequence[Parameter]) -> None:
    """Check the arguments of a call.

    Raises:
        ArgumentsError: an argument is missing, unknown, or of another type.
    """
    known = {each.name: each for each in parameters}
    for name, value in given.items():
        if name not in known:
            raise ArgumentsError(f"there is no parameter `{name}`", hint=did_you_mean(name, known))
        _check(value, known[name])
    for each in parameters:
        if each.is_required and given.get(each.name) is None:
            raise ArgumentsError(f"the parameter `{each.name}` is missing")


def words_of(given: Mapping[str, object], parameters: Sequence[Parameter]) -> list[str]:
    """Write arguments as a command line: options first, then positional arguments after `--`.

    Raises:
        ArgumentsError: an argument is missing, unknown, or of another type.
    """
    check(given, parameters)
    said = [(each, given[each.name]) for each in parameters if given.get(each.name) is not None]
    options = [word for each, value in said for word in _option(each, value)]
    places = [word for each, value in said if each.form is Form.ARGUMENT for word in _texts(value)]
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
        case _:
            pass


def _assigned(flag: str, word: str) -> Sequence[str]:
    """Write an option and its value as one word, so the value is never parsed as an option."""
    if flag.startswith("--"):
        return (f"{flag}={word}",)
    return (f"{flag}{word}",) if word else (flag, word)


def _texts(value: object) -> list[str]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [each if isinstance(each, str) else _text(each) for each in values]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(value: object, parameter: Parameter) -> None:
    if value is None and not parameter.is_required:
        return
    if parameter.is_many and not isinstance(value, list):
        raise ArgumentsError(f"`{parameter.name}` must be a list")
    for each in cast("list[object]", value if parameter.is_many else [value]):
        is_known = isinstance(each, _TYPES[parameter.type]) and (
            parameter.type == "boolean" or not isinstance(each, bool)
        )
        if not parameter.choices and not is_known:
            raise ArgumentsError(f"`{parameter.name}` must be {_WORDS[parameter.type]}")
        if parameter.choices and each not in parameter.choices:
            choices = ", ".join(f"`{choice}`" for choice in parameter.choices)
            raise ArgumentsError(f"`{parameter.name}` must be one of {choices}")
        if isinstance(each, str) and "\0" in each:
            raise ArgumentsError(f"`{parameter.name}` has a null character")
    if parameter.form is Form.COUNT and not 0 <= cast(int, value) <= 10:
        raise ArgumentsError(f"`{parameter.name}` must be a number from 0 to 10")


def _described(parameter: Parameter) -> dict[str, object]:
    one: dict[str, object] = (
        {"enum": list(parameter.choices)} if parameter.choices else {"type": parameter.type}
    )
    if parameter.form is Form.COUNT:
        one |= {"minimum": 0, "maximum": 10}
    schema: dict[str, object] = {"type": "array", "items": one} if parameter.is_many else one
    return schema | ({"description": parameter.help} if parameter.help else {})
