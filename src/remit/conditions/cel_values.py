"""CEL's rules for equality, order and membership of values.

Numbers of different types are compared as doubles, as in cel-cpp; booleans are not numbers.
"""

from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any, cast

from remit.conditions.syntax import TYPES, CelType, Operator
from remit.decision.state_snapshot import JsonValue

_ORDERS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.GREATER: gt,
    Operator.AT_LEAST: ge,
}
_NUMBERS = frozenset({int, float})
_ORDERED = frozenset({str, int, float, bool})
_SHOWN = 60  # characters shown of a value


class FailedError(Exception):
    """A part of a condition has no value; the message is the reason."""


def written(value: JsonValue) -> str:
    """Write a value in the syntax of conditions."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return "'" + "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped) + "'"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{written(name)}: {written(value[name])}' for name in value)}}}"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return repr(value).replace("inf", "1e999")  # `1e999` parses as infinity


def shown(value: JsonValue) -> str:
    """Write a value for a message, shortened if long."""
    text = written(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def equal(one: JsonValue, other: JsonValue) -> bool:
    """Return whether two values are equal; values of different types never are, except numbers."""
    if type(one) in _NUMBERS and type(other) in _NUMBERS:
        return (
            one == other if type(one) is type(other) else float(cast(float, one)) == float(cast(float, other))
        )
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        others = cast("list[JsonValue]", other)
        return len(one) == len(others) and all(map(equal, one, others))
    if isinstance(one, dict):
        entries = cast("dict[str, JsonValue]", other)
        return one.keys() == entries.keys() and all(equal(one[key], entries[key]) for key in one)
    return one == other


def order(operator: Operator, one: JsonValue, other: JsonValue) -> bool:
    """Compare two values with an ordering operator.

    Raises:
        FailedError: the values have no order, or different types.
    """
    compare = _ORDERS[operator]
    if type(one) is type(other) and type(one) in _ORDERED:
        return compare(one, other)
    if type(one) in _NUMBERS and type(other) in _NUMBERS:
        return compare(float(cast(float, one)), float(cast(float, other)))
    raise FailedError(f"{kind(one)} and {kind(other)} have no order")


def within(item: JsonValue, container: JsonValue) -> bool:
    """Return whether a value is an item of a list or a key of a map.

    Raises:
        FailedError: the container is not a list or map, or the value cannot be a key.
    """
    if type(container) is list:
        return any(equal(item, each) for each in container)
    if type(container) is not dict:
        raise FailedError(f"`in` does not work on {kind(container)}")
    if item is None or isinstance(item, list | dict):
        raise FailedError(f"{kind(item)} cannot be a key of a map")
    return type(item) is str and item in container


def kind(value: JsonValue) -> str:
    """Name the type of a value."""
    return article(TYPES[type(value)])


def article(type_: CelType) -> str:
    """Write a type with its article."""
    return "null" if type_ is CelType.NULL else f"an {type_}" if type_ is CelType.INT else f"a {type_}"
