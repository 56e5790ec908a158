"""Writes conditions as text that parses to the same tree."""

import re

from remit.conditions.cel_values import written
from remit.conditions.syntax import (
    And,
    Compare,
    Has,
    ListLiteral,
    Literal,
    MatchAny,
    MatchPath,
    Node,
    Not,
    Or,
    Size,
    State,
    TextTest,
    Variable,
)

_WORD = re.compile(r"(?!(?:in|true|false|null)$)[A-Za-z_][A-Za-z0-9_]*")
# Parts that bind more loosely than their parent get parentheses.
_LOOSE = (Or, And, Compare)


def path_of(path: tuple[str, ...]) -> str:
    """Write a variable or a member of a variable."""
    return path[0] + "".join(
        f".{name}" if _WORD.fullmatch(name) else f"[{written(name)}]" for name in path[1:]
    )


def write(node: Node) -> str:
    """Write a node as text."""
    match node:
        case Or(parts):
            return " || ".join(_inside(part, (Or,)) for part in parts)
        case And(parts):
            return " && ".join(_inside(part, (Or, And)) for part in parts)
        case Compare(operator, left, right):
            return f"{write_operand(left)} {operator} {write_operand(right)}"
        case Not(operand):
            return f"!{_inside(operand, (*_LOOSE, Not))}"
        case TextTest(method, operand, argument):
            return f"{_inside(operand, (*_LOOSE, Not))}.{method}({write(argument)})"
        case ListLiteral(items):
            return f"[{', '.join(map(write, items))}]"
        case _:
            return _simple(node)


def write_operand(node: Node) -> str:
    """Write a node as an operand of a comparison."""
    return _inside(node, _LOOSE)


def _simple(node: Literal | Variable | State | Has | Size | MatchPath | MatchAny) -> str:
    match node:
        case Literal(value):
            return written(value)
        case Variable(path):
            return path_of(path)
        case State(name):
            return f"state({written(name)})"
        case Has(variable):
            return f"has({path_of(variable.path)})"
        case Size(operand):
            return f"size({write(operand)})"
        case _:
            return f"matchPath({write(node.operand)}, {written(node.pattern.text)})"


def _inside(node: Node, looser: tuple[type[Node], ...]) -> str:
    return f"({write(node)})" if isinstance(node, looser) else write(node)
