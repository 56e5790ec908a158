"""Evaluates a condition part by part, with CEL's rules for what has no value.

What fails inside `&&` and `||` counts only where the other parts do not settle the answer: `false && failed`
is false, `failed || true` is true.
"""

from remit.conditions.cel_values import (
    FailedError,
    equal,
    has,
    kind,
    match_any,
    match_path,
    order,
    size,
    within,
)
from remit.conditions.printer import path_of
from remit.conditions.syntax import (
    And,
    Compare,
    Has,
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
from remit.decision.snapshot import JsonValue, Snapshot


def evaluate(node: Node, snapshot: Snapshot) -> JsonValue:
    """Give the value of a condition or of a part of one.

    Raises:
        FailedError: it has none, and the reason.
    """
    match node:
        case And(parts):
            return _settled(parts, False, snapshot)
        case Or(parts):
            return _settled(parts, True, snapshot)
        case Not(operand):
            return not truth(operand, snapshot)
        case State(name):
            return _state(name, snapshot)
        case Compare(operator, left, right):
            return _compared(operator, evaluate(left, snapshot), evaluate(right, snapshot))
        case Literal(value):
            return value
        case Variable(path):
            return _variable(path, snapshot)
        case Has(variable):
            return _has(variable.path, snapshot)
        case TextTest(method, operand, argument):
            return _tested(method, evaluate(operand, snapshot), evaluate(argument, snapshot))
        case MatchPath(operand, pattern):
            return match_path(pattern, evaluate(operand, snapshot))
        case MatchAny(operand, pattern):
            return match_any(pattern, evaluate(operand, snapshot))
        case Size(operand):
            return size(evaluate(operand, snapshot))
        case _:
            return [evaluate(item, snapshot) for item in node.items]


def truth(node: Node, snapshot: Snapshot) -> bool:
    """Tell whether a part holds.

    Raises:
        FailedError: it has no value, or one that is neither true nor false.
    """
    value = evaluate(node, snapshot)
    if value is True or value is False:
        return value
    raise FailedError(f"{kind(value)} is neither true nor false")


def _settled(parts: tuple[Node, ...], settles: bool, snapshot: Snapshot) -> bool:
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


def _state(name: str, snapshot: Snapshot) -> bool:
    value = snapshot.state(name)
    if value.truth is None:
        raise FailedError(f"state {name} is {value.in_words}")
    return value.truth


def _variable(path: tuple[str, ...], snapshot: Snapshot) -> JsonValue:
    value: JsonValue = snapshot.values
    for depth, name in enumerate(path, start=1):
        if not isinstance(value, dict) or name not in value:
            raise FailedError(f"{path_of(path[:depth])} is not known")
        value = value[name]
    return value


def _compared(operator: Operator, one: JsonValue, other: JsonValue) -> bool:
    if operator is Operator.IN:
        return within(one, other)
    if operator in (Operator.EQUAL, Operator.DIFFERENT):
        return equal(one, other) is (operator is Operator.EQUAL)
    return order(operator, one, other)


def _has(path: tuple[str, ...], snapshot: Snapshot) -> bool:
    return has(_variable(path[:-1], snapshot), path[-1])


def _tested(method: Method, text: JsonValue, other: JsonValue) -> bool:
    if not isinstance(text, str) or not isinstance(other, str):
        raise FailedError(f"`{method}` asks {kind(text)} about {kind(other)}")
    if method is Method.STARTS_WITH:
        return text.startswith(other)
    return text.endswith(other) if method is Method.ENDS_WITH else other in text
