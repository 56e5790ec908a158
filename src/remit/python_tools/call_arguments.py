"""Reads the arguments of a call: JSON values, as the types that a function's hints name."""

import datetime
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any, NamedTuple, cast

from remit.errors import ArgumentsError
from remit.python_tools.schema import (
    ANYTHING,
    SETS,
    SIMPLE,
    Parameter,
    is_choice,
    is_listing,
    is_mapping,
    is_model,
    members,
)
from remit.text.spelling import did_you_mean

_WRITTEN: dict[object, Callable[[str], object]] = {  # types that JSON carries as text
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    uuid.UUID: uuid.UUID,
}
_WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", type(None): "null"}


class Arguments(NamedTuple):
    """What a function is called with."""

    positional: Sequence[object]
    named: Mapping[str, object]


def read(given: Mapping[str, object], taken: Sequence[Parameter]) -> Arguments:
    """Check arguments, and give them the types that a function expects.

    Raises:
        ArgumentsError: one is missing, is not known, or is of another type.
    """
    known = [each.name for each in taken]
    for name in given:
        if name not in known:
            raise ArgumentsError(
                f"there is no parameter `{name}`", hint=did_you_mean(name, known) or _there_are(known)
            )
    for each in taken:
        if each.is_required and each.name not in given:
            raise ArgumentsError(f"the parameter `{each.name}` is missing")
    positional = [
        _convert(given[each.name], each.hint, each.name) if each.name in given else each.default
        for each in taken
        if each.is_positional
    ]
    named = {
        each.name: _convert(given[each.name], each.hint, each.name)
        for each in taken
        if not each.is_positional and each.name in given
    }
    return Arguments(positional, named)


def _convert(value: object, hint: Any, place: str) -> object:
    if typing.get_origin(hint) is typing.Annotated:
        return _convert(value, typing.get_args(hint)[0], place)
    if hint in ANYTHING:
        return value
    if hint in _WRITTEN or (isinstance(hint, type) and issubclass(hint, PurePath)):
        return _from_text(value, _WRITTEN.get(hint, hint), hint, place)
    if hint in SIMPLE:
        return _simple(value, hint, place)
    if is_model(hint):
        return _model(value, hint, place)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _chosen(value, {each.value: each for each in hint}, place)
    if (found := members(hint)) is not None:
        given = _object(value, place)
        read_members = read(given, [Parameter(*each, is_positional=False) for each in found]).named
        return hint(**read_members)
    return _generic(value, hint, place)


def _generic(value: object, hint: Any, place: str) -> object:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return _chosen(value, {each: each for each in arguments}, place)
    if is_choice(hint):
        return _one_of(value, arguments, place)
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        items = _list(value, place)
        if len(items) != len(arguments):
            raise ArgumentsError(f"`{place}` has {len(items)} items, and not {len(arguments)}")
        return tuple(_convert(item, each, place) for item, each in zip(items, arguments, strict=True))
    if is_mapping(origin):
        return {name: _convert(each, arguments[1], place) for name, each in _object(value, place).items()}
    assert is_listing(origin)  # noqa: S101 - a schema was made of the same hint
    made = [_convert(item, arguments[0], f"{place}[{at}]") for at, item in enumerate(_list(value, place))]
    return _as(origin, made) if origin in (*SETS, tuple) else made


def _simple(value: object, hint: Any, place: str) -> object:
    if hint is float and type(value) in (int, float):
        return float(cast(float, value))
    if hint is dict:
        return dict(_object(value, place))
    if hint in (list, tuple, *SETS):
        return _as(hint, _list(value, place))
    if type(value) is not hint:  # true is no number, whatever Python says
        raise ArgumentsError(f"`{place}` is not {_WORDS[hint]}")
    return value


def _as(kind: Callable[[Sequence[object]], object], items: Sequence[object]) -> object:
    try:
        return kind(items)
    except TypeError:
        raise ArgumentsError("a set has only texts and numbers in it") from None


def _from_text(value: object, make: Callable[[str], object], hint: Any, place: str) -> object:
    try:
        if isinstance(value, str):
            return make(value)
    except ValueError:
        pass
    raise ArgumentsError(f"`{place}` is no text that a {hint.__name__} could be read from")


def _chosen(value: object, choices: Mapping[object, object], place: str) -> object:
    for known, chosen in choices.items():
        if value == known and type(value) is type(known):
            return chosen
    raise ArgumentsError(f"`{place}` is none of {', '.join(f'`{each}`' for each in choices)}")


def _one_of(value: object, hints: Sequence[Any], place: str) -> object:
    failures: list[str] = []
    for hint in hints:
        try:
            return _convert(value, hint, place)
        except ArgumentsError as error:
            failures.append(str(error))
    raise ArgumentsError("; ".join(dict.fromkeys(failures)))


def _model(value: object, hint: Any, place: str) -> object:
    try:
        return hint.model_validate(value)
    except ValueError as error:
        told = cast("list[dict[str, object]]", error.errors()) if hasattr(error, "errors") else []  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - pydantic's has it
        reasons = [
            f"{'.'.join(map(str, cast('tuple[object]', each['loc'])))}: {each['msg']}" for each in told
        ]
        raise ArgumentsError(f"`{place}`: {'; '.join(reasons) or 'is not what it should be'}") from None


def _object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ArgumentsError(f"`{place}` is no object")
    return cast("dict[str, object]", value)


def _list(value: object, place: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise ArgumentsError(f"`{place}` is no list")
    return cast("list[object]", value)


def _there_are(known: Sequence[str]) -> str:
    return f"there are {', '.join(f'`{name}`' for name in known)}" if known else "it takes none"
