"""The syntax tree of conditions.

Nodes are equal if they mean the same, regardless of their positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from remit.conditions.path_patterns import PathPattern
from remit.decision.state_snapshot import JsonValue

NOWHERE = -1  # position of a node without text


class CelType(StrEnum):
    """The types of CEL."""

    STRING = "string"
    INT = "int"
    DOUBLE = "double"
    BOOL = "bool"
    NULL = "null"
    LIST = "list"
    MAP = "map"
    DYN = "dyn"  # any type


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
    """The comparison operators."""

    EQUAL = "=="
    DIFFERENT = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    IN = "in"


class Method(StrEnum):
    """The methods of strings."""

    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal value."""

    value: JsonValue
    type: CelType  # because in Python `1`, `1.0` and `True` are equal
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list."""

    items: "tuple[Node, ...]"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or a member of a variable."""

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
    """The size of a string, list or map."""

    operand: "Node"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class TextTest:
    """Whether a string starts with, ends with or contains another."""

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
    """Whether any name of a list matches a pattern; only location scopes use this."""

    operand: Variable
    pattern: PathPattern
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two values."""

    operator: Operator
    left: "Node"
    right: "Node"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    operand: "Node"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    """A conjunction."""

    parts: "tuple[Node, ...]"
    at: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    """A disjunction."""

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
    """Return the children of a node."""
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
    """Yield a node and its descendants with their depths, in text order."""
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in reversed(children(node)))
