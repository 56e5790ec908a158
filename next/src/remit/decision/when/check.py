"""Checks conditions when they are loaded: unreadable parts, unknown names, and types that never compare.

Types follow CEL's rules. It compares an int with a double only if a type is unknown, so `size(x) > 1.5` is a
mistake.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from remit.decision.when.condition import Condition
from remit.decision.when.evaluate import path_text
from remit.decision.when.syntax import (
    METHODS,
    NOWHERE,
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
    position,
)
from remit.errors import ConditionError


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


Schema: TypeAlias = "Mapping[str, CelType | Schema]"

LOCATION: Schema = {
    "page": CelType.STRING,
    "route": CelType.STRING,
    "modal": CelType.STRING,
    "selected": CelType.DYN,
    "depth": CelType.INT,
    "components": CelType.LIST,
    "elements": CelType.LIST,
}

_SCALARS: dict[type, CelType] = {
    str: CelType.STRING,
    int: CelType.INT,
    float: CelType.DOUBLE,
    bool: CelType.BOOL,
}
_TYPES = {**_SCALARS, type(None): CelType.NULL}
_ORDERED = frozenset({*_SCALARS.values(), CelType.DYN})
_SIZED = frozenset({CelType.STRING, CelType.LIST, CelType.MAP, CelType.DYN})


class Vocabulary(NamedTuple):
    """The states and typed variables that conditions may use."""

    states: Collection[str] = ()
    variables: Schema = {"location": LOCATION}  # noqa: RUF012 - never changed


class ConditionMistake(NamedTuple):
    """A mistake in a condition, with its position if it was written as text."""

    key: str  # `states`, `when` or `location`
    message: str
    hint: str | None = None
    line: int = 0  # 0: unknown
    column: int = 0
    is_unknown_name: bool = False  # another file may declare it

    def as_error(self) -> ConditionError:
        """Return the mistake as an exception."""
        return ConditionError(self.message, hint=self.hint, line=self.line or 1, column=self.column or 1)


def mistakes_in(condition: Condition, vocabulary: Vocabulary) -> list[ConditionMistake]:
    """List the mistakes in a condition, in text order."""
    mistakes: list[ConditionMistake] = []
    for key, part in condition.parts:
        checker = _TypeChecker(key, condition.when or "", vocabulary)
        if isinstance(part, ConditionError):
            at = (part.line, part.column) if key == "when" else (0, 0)
            mistakes.append(ConditionMistake(key, str(part), part.hint, *at))
        else:
            checker.expect(part, CelType.BOOL)
            mistakes += sorted(checker.mistakes, key=lambda mistake: (mistake.line, mistake.column))
    return mistakes


class _TypeChecker:
    """Infers types and collects mistakes; after a mistake the type is dynamic."""

    def __init__(self, key: str, text: str, vocabulary: Vocabulary) -> None:
        self._key = key
        self._text = text
        self._vocabulary = vocabulary
        self.mistakes: list[ConditionMistake] = []

    def expect(self, node: Node, wanted: CelType) -> None:
        actual = self._type(node)
        if actual not in (wanted, CelType.DYN):
            words = "true or false" if wanted is CelType.BOOL else _article(wanted)
            self._complain(node, f"`{node.text}` is {_article(actual)}, not {words}")

    def _type(self, node: Node) -> CelType:
        match node:
            case Literal(value):
                return _TYPES[type(value)]
            case ListLiteral(items):
                for item in items:
                    self._type(item)
                return CelType.LIST
            case Variable(path):
                return self._variable(node, path)
            case Size(operand):
                if (actual := self._type(operand)) not in _SIZED:
                    self._complain(operand, f"`{operand.text}` is {_article(actual)}, which has no size")
                return CelType.INT
            case _:
                self._truth(node)
                return CelType.BOOL

    def _truth(self, node: State | Has | MatchPath | MatchAny | Compare | Not | Junction) -> None:
        match node:
            case Junction(_, parts):
                for part in parts:
                    self.expect(part, CelType.BOOL)
            case Not(operand):
                self.expect(operand, CelType.BOOL)
            case Compare(operator, left, right) if operator in METHODS:
                self.expect(left, CelType.STRING)
                self.expect(right, CelType.STRING)
            case Compare():
                self._compare(node, self._type(node.left), self._type(node.right))
            case State(name):
                if name not in self._vocabulary.states:
                    hint = "declare it, or use one that `remit states` lists"
                    self._unknown(node, "state", name, self._vocabulary.states, hint)
            case Has(variable):
                self._variable(variable, variable.path)
            case MatchPath(operand):
                self.expect(operand, CelType.STRING)
            case MatchAny(operand):
                self.expect(operand, CelType.LIST)

    def _variable(self, node: Variable, path: tuple[str, ...]) -> CelType:
        known: CelType | Schema = self._vocabulary.variables
        for depth, name in enumerate(path):
            if isinstance(known, CelType):
                if known not in (CelType.MAP, CelType.DYN):
                    message = f"`{path_text(path[:depth])}` is {_article(known)}, which has no members"
                    self._complain(node, message)
                return CelType.DYN
            if name not in known:
                names = sorted(path_text((*path[:depth], other)) for other in known)
                hint = f"expected one of {', '.join(f'`{other}`' for other in names)}" if names else None
                self._unknown(node, "variable", path_text(path[: depth + 1]), names, hint)
                return CelType.DYN
            known = known[name]
        return known if isinstance(known, CelType) else CelType.MAP

    def _compare(self, node: Compare, left: CelType, right: CelType) -> None:
        if node.operator == "in":
            if right not in (CelType.LIST, CelType.MAP, CelType.DYN):
                hint = "write `.contains(...)` to look inside a text" if right is CelType.STRING else None
                self._complain(node, f"`in` does not work on {_article(right)}", hint)
        elif left is not right and CelType.DYN not in (left, right):
            message = f"`{node.text}` compares {_article(left)} with {_article(right)}"
            self._complain(node, message, _hint(node, {left, right}))
        elif node.operator not in ("==", "!="):
            for type_ in {left, right} - _ORDERED:
                self._complain(node, f"`{node.text}` orders {_article(type_)}, which has no order")

    def _unknown(self, node: Node, what: str, name: str, known: Iterable[str], hint: str | None) -> None:
        from remit.text import did_you_mean  # only mistakes need it, and it compiles patterns

        self._complain(node, f"unknown {what} `{name}`", did_you_mean(name, known) or hint, is_name=True)

    def _complain(self, node: Node, message: str, hint: str | None = None, *, is_name: bool = False) -> None:
        at = (0, 0) if node.at == NOWHERE else position(self._text, node.at)
        self.mistakes.append(ConditionMistake(self._key, message, hint, *at, is_unknown_name=is_name))


def _hint(node: Compare, types: set[CelType]) -> str | None:
    if types == {CelType.INT, CelType.DOUBLE}:
        return "write whole numbers with `.0` to compare them with doubles, and without for ints"
    for side in (node.left, node.right):
        if isinstance(side, Literal) and isinstance(side.value, str):
            text = side.value
            if text in ("true", "false") or text.removeprefix("-").replace(".", "", 1).isdecimal():
                return f"write `{text}` without quotes"
    return None


def _article(type_: CelType) -> str:
    return "null" if type_ is CelType.NULL else f"an {type_}" if type_ is CelType.INT else f"a {type_}"
