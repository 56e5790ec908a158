"""The parts that a condition is made of.

Two parts are equal when they say the same, wherever they stand.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from remit.conditions.path_patterns import PathPattern
from remit.decision.snapshot import JsonValue

NOWHERE = -1  # the place of a part that no text was written for


class CelType(StrEnum):
    """What a value is."""

    STRING = "string"
    INT = "int"
    DOUBLE = "double"
    BOOL = "bool"
    NULL = "null"
    LIST = "list"
    MAP = "map"
    DYN = "dyn"  # any of them


TYPES = {
    str: CelType.STRING,
    int: CelType.INT,
    float: CelType.DOUBLE,
    bool: CelType.BOOL,
    type(None): CelType.NULL,
    list: CelType.LIST,
    dict: CelType.MAP,
}


class Operator(StrEnum):
    """How two values are compared."""

    EQUAL = "=="
    DIFFERENT = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    IN = "in"


class Method(StrEnum):
    """What can be asked of a text."""

    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written down."""

    value: JsonValue
    type: CelType  # because to Python `1`, `1.0` and `true` are equal
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list of values."""

    items: "tuple[Node, ...]"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, or a member of one."""

    path: tuple[str, ...]
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class State:
    """Whether a state holds."""

    name: str
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Has:
    """Whether a variable has a member."""

    variable: Variable  # the member
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Size:
    """How long a text, a list or a map is."""

    operand: "Node"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class TextTest:
    """Whether a text starts with, ends with or contains another."""

    method: Method
    operand: "Node"
    argument: "Node"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class MatchPath:
    """Whether a path matches a pattern."""

    operand: "Node"
    pattern: PathPattern
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class MatchAny:
    """Whether one of a list of paths matches a pattern; only a location scope says this."""

    operand: Variable
    pattern: PathPattern
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """How two values stand to each other."""

    operator: Operator
    left: "Node"
    right: "Node"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """Whether something does not hold."""

    operand: "Node"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    """Whether all parts hold."""

    parts: "tuple[Node, ...]"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    """Whether one of the parts holds."""

    parts: "tuple[Node, ...]"
    at: int = field(default=NOWHERE, compare=False)


Node: TypeAlias = (
    Literal
    | ListLiteral
    | Variable
    | State
    | Has
    | Size
    | TextTest
    | MatchPath
    | MatchAny
    | Compare
    | Not
    | And
    | Or
)


def children(node: Node) -> "tuple[Node, ...]":
    """List the parts that a part is made of."""
    match node:
        case And(parts) | Or(parts) | ListLiteral(parts):
            return parts
        case Compare(_, left, right) | TextTest(_, left, right):
            return left, right
        case Not(operand) | Size(operand) | MatchPath(operand) | MatchAny(operand):
            return (operand,)
        case Has(variable):
            return (variable,)
        case _:
            return ()


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """List a part and all that it is made of, each with its depth, in the order of the text."""
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in reversed(children(node)))
