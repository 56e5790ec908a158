"""Evaluates conditions with CEL's rules for parts that fail.

A failed part of `&&` or `||` counts only if the other parts do not settle the result: `false && failed` is
false, `failed || true` is true.
"""

from collections.abc import Callable
from typing import Any, cast

from remit.conditions.cel_values import FailedError, equal, kind, order, shown, within
from remit.conditions.path_patterns import PathError, matches, matches_name
from remit.conditions.printer import path_of
from remit.conditions.syntax import (
    And,
    Compare,
    Has,
    ListLiteral,
    Literal,
    MatchAny,
    MatchPath,
    Method,
    Node,
    Not,
    Operator,
    Or,
    Size,
    State,
    TextTest,
    Variable,
)
from remit.decision.state_snapshot import JsonValue, Snapshot


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
    raise FailedError(f"{kind(value)} is neither true nor false")


def _settle(parts: tuple[Node, ...], settles: bool, snapshot: Snapshot) -> bool:
    failed: FailedError | None = None
    for part in parts:
        try:
            if truth(part, snapshot) is settles:
                return settles
        except FailedError as error:
            failed = failed or error
    if failed:
        raise failed
    return not settles


def _state(node: State, snapshot: Snapshot) -> bool:
    known = snapshot.known.get(node.name)
    if known is None:
        raise FailedError(f"state {node.name} is {snapshot.state(node.name).in_words}")
    return known


def _compare(node: Compare, snapshot: Snapshot) -> bool:
    operator, left, right = node.operator, evaluate(node.left, snapshot), evaluate(node.right, snapshot)
    if operator is Operator.IN:
        return within(left, right)
    if operator is Operator.EQUAL:
        return equal(left, right)
    if operator is Operator.DIFFERENT:
        return not equal(left, right)
    return order(operator, left, right)


def _member(path: tuple[str, ...], snapshot: Snapshot) -> JsonValue:
    value: JsonValue = snapshot.values
    for depth, name in enumerate(path, start=1):
        if not isinstance(value, dict) or name not in value:
            raise FailedError(f"{path_of(path[:depth])} is not known")
        value = value[name]
    return value


def _has(node: Has, snapshot: Snapshot) -> bool:
    *path, name = node.variable.path
    container = _member(tuple(path), snapshot)
    if type(container) is not dict:
        raise FailedError(f"{kind(container)} has no members")
    return name in container


def _size(node: Size, snapshot: Snapshot) -> int:
    value = evaluate(node.operand, snapshot)
    if not isinstance(value, str | list | dict):
        raise FailedError(f"{kind(value)} has no size")
    return len(value)


def _text_test(node: TextTest, snapshot: Snapshot) -> bool:
    text, other = evaluate(node.operand, snapshot), evaluate(node.argument, snapshot)
    if not isinstance(text, str) or not isinstance(other, str):
        raise FailedError(f"`{node.method}` cannot compare {kind(text)} with {kind(other)}")
    if node.method is Method.STARTS_WITH:
        return text.startswith(other)
    return text.endswith(other) if node.method is Method.ENDS_WITH else other in text


def _match_path(node: MatchPath, snapshot: Snapshot) -> bool:
    path = evaluate(node.operand, snapshot)
    if not isinstance(path, str):
        raise FailedError(f"{kind(path)} is not a path")
    try:
        return matches(node.pattern, path)
    except PathError as error:
        raise FailedError(f"{shown(path)} {error}") from None


def _match_any(node: MatchAny, snapshot: Snapshot) -> bool:
    names = evaluate(node.operand, snapshot)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FailedError(f"{kind(names)} is not a list of names")
    return any(matches_name(node.pattern, cast(str, name)) for name in names)


# A table, because `match` on classes takes four times as long.
_EVALUATORS: dict[type[Node], Callable[[Any, Snapshot], JsonValue]] = {
    And: lambda node, snapshot: _settle(node.parts, False, snapshot),
    Or: lambda node, snapshot: _settle(node.parts, True, snapshot),
    Not: lambda node, snapshot: not truth(node.operand, snapshot),
    State: _state,
    Compare: _compare,
    Literal: lambda node, _snapshot: node.value,
    ListLiteral: lambda node, snapshot: [evaluate(item, snapshot) for item in node.items],
    Variable: lambda node, snapshot: _member(node.path, snapshot),
    Has: _has,
    Size: _size,
    TextTest: _text_test,
    MatchPath: _match_path,
    MatchAny: _match_any,
}
