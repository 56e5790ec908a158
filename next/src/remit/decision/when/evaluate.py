"""The value of a condition, with CEL's rules for equality, order and parts that fail.

A failed part of `&&` or `||` counts only if the other parts do not settle the result: `false && failed` is
false, `failed || true` is true. Numbers of different types are compared as doubles, as in cel-cpp.
"""

from collections.abc import Callable, Sequence
from operator import ge, gt, le, lt
from typing import Any, cast

from remit.decision.snapshot import JsonValue, Snapshot
from remit.decision.when.paths import PathError, matches, matches_name
from remit.decision.when.syntax import (
    Compare,
    Has,
    Junction,
    ListLiteral,
    Literal,
    MatchAny,
    MatchPath,
    Node,
    Not,
    Size,
    State,
    Variable,
)

ARGUMENTS = "args"  # the variable that holds the arguments of a call

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_NUMBERS = frozenset({int, float})
_ORDERED = frozenset({str, int, float, bool})
_SHOWN = 60  # characters shown of a value
_KINDS = {
    str: "a string",
    int: "an int",
    float: "a double",
    bool: "a bool",
    type(None): "null",
    list: "a list",
    dict: "a map",
}


class FailedError(Exception):
    """A part of a condition has no value; the message is the reason."""


def evaluate(node: Node, snapshot: Snapshot) -> JsonValue:
    """Return the value of a node.

    Raises:
        FailedError: the node has no value; the message is the reason.
    """
    return _EVALUATORS[type(node)](node, snapshot)


def truth(node: Node, snapshot: Snapshot) -> bool:
    """Return whether a node is true.

    Raises:
        FailedError: the node has no value, or it is not a boolean.
    """
    value = _EVALUATORS[type(node)](node, snapshot)
    if value is True or value is False:
        return value
    raise FailedError(f"{_kind(value)} is neither true nor false")


def written(value: JsonValue) -> str:
    """Write a value as conditions do."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return "'" + "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in escaped) + "'"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{written(name)}: {written(value[name])}' for name in value)}}}"
    return "null" if value is None else str(value).lower()


def shown(value: JsonValue) -> str:
    """Write a value for a message, shortened if long."""
    text = written(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def path_text(path: Sequence[str]) -> str:
    """Write a variable or a member of a variable as conditions do."""
    return path[0] + "".join(f".{name}" if _is_word(name) else f"[{written(name)}]" for name in path[1:])


def _is_word(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name not in ("in", "true", "false", "null")


def _kind(value: JsonValue) -> str:
    return _KINDS[type(value)]


def _junction(node: Junction, snapshot: Snapshot) -> bool:
    failed: FailedError | None = None
    for part in node.parts:
        try:
            if truth(part, snapshot) is node.decisive:
                return node.decisive
        except FailedError as error:
            failed = failed or error
    if failed:
        raise failed
    return not node.decisive


def _state(node: State, snapshot: Snapshot) -> bool:
    known = snapshot.known.get(node.name)
    if known is None:
        raise FailedError(f"state {node.name} is {snapshot.state(node.name).in_words}")
    return known


def _compare(node: Compare, snapshot: Snapshot) -> bool:
    operator, left, right = node.operator, evaluate(node.left, snapshot), evaluate(node.right, snapshot)
    if operator in _ORDERS:
        return _ordered(operator, left, right)
    if operator == "in":
        return _within(left, right)
    if operator == "==" or operator == "!=":
        return _equal(left, right) is (operator == "==")
    if not isinstance(left, str) or not isinstance(right, str):
        raise FailedError(f"`{operator}` cannot compare {_kind(left)} with {_kind(right)}")
    if operator == "contains":
        return right in left
    return left.startswith(right) if operator == "startsWith" else left.endswith(right)


def _equal(one: JsonValue, other: JsonValue) -> bool:
    """Return whether two values are equal; values of different types never are, except numbers."""
    if type(one) is not type(other):
        both = type(one) in _NUMBERS and type(other) in _NUMBERS
        return both and float(cast("float", one)) == float(cast("float", other))
    if isinstance(one, list):
        others = cast("list[JsonValue]", other)
        return len(one) == len(others) and all(map(_equal, one, others))
    if isinstance(one, dict):
        entries = cast("dict[str, JsonValue]", other)
        return one.keys() == entries.keys() and all(_equal(one[key], entries[key]) for key in one)
    return one == other


def _ordered(operator: str, one: JsonValue, other: JsonValue) -> bool:
    if type(one) is type(other) and type(one) in _ORDERED:
        return _ORDERS[operator](one, other)
    if type(one) in _NUMBERS and type(other) in _NUMBERS:
        return _ORDERS[operator](float(cast("float", one)), float(cast("float", other)))
    raise FailedError(f"{_kind(one)} and {_kind(other)} have no order")


def _within(item: JsonValue, container: JsonValue) -> bool:
    """Return whether a value is an item of a list or a key of a map."""
    if type(container) is list:
        return any(_equal(item, other) for other in container)
    if type(container) is not dict:
        raise FailedError(f"`in` does not work on {_kind(container)}")
    if item is None or isinstance(item, list | dict):
        raise FailedError(f"{_kind(item)} cannot be a key of a map")
    return type(item) is str and item in container


def _member(path: tuple[str, ...], snapshot: Snapshot) -> JsonValue:
    value: JsonValue = snapshot.values
    for depth, name in enumerate(path, start=1):
        if not isinstance(value, dict) or name not in value:
            lack = "given" if path[0] == ARGUMENTS else "known"
            raise FailedError(f"{path_text(path[:depth])} is not {lack}")
        value = value[name]
    return value


def _has(node: Has, snapshot: Snapshot) -> bool:
    *path, name = node.variable.path
    container = _member(tuple(path), snapshot)
    if type(container) is not dict:
        raise FailedError(f"{_kind(container)} has no members")
    return name in container


def _size(node: Size, snapshot: Snapshot) -> int:
    value = evaluate(node.operand, snapshot)
    if not isinstance(value, str | list | dict):
        raise FailedError(f"{_kind(value)} has no size")
    return len(value)


def _match_path(node: MatchPath, snapshot: Snapshot) -> bool:
    path = evaluate(node.operand, snapshot)
    if not isinstance(path, str):
        raise FailedError(f"{_kind(path)} is not a path")
    try:
        return matches(node.pattern, path)
    except PathError as error:
        raise FailedError(f"{shown(path)} {error}") from None


def _match_any(node: MatchAny, snapshot: Snapshot) -> bool:
    names = evaluate(node.operand, snapshot)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FailedError(f"{_kind(names)} is not a list of names")
    return any(matches_name(node.pattern, cast("str", name)) for name in names)


# A table, because `match` on classes takes four times as long.
_EVALUATORS: dict[type[Node], Callable[[Any, Snapshot], JsonValue]] = {
    Junction: _junction,
    Not: lambda node, snapshot: not truth(node.operand, snapshot),
    State: _state,
    Compare: _compare,
    Literal: lambda node, _snapshot: node.value,
    ListLiteral: lambda node, snapshot: [evaluate(item, snapshot) for item in node.items],
    Variable: lambda node, snapshot: _member(node.path, snapshot),
    Has: _has,
    Size: _size,
    MatchPath: _match_path,
    MatchAny: _match_any,
}
