"""Checks conditions when they are loaded: unknown names, type errors, and conditions that can never hold.

Types follow CEL's rules. It compares an int with a double only if a type is unknown, so `size(x) > 1.5` is a
mistake.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import TypeAlias

from remit.conditions.cel_values import article
from remit.conditions.condition import Condition
from remit.conditions.printer import path_of, write
from remit.conditions.satisfiability import contradiction
from remit.conditions.syntax import (
    NOWHERE,
    And,
    CelType,
    Compare,
    Has,
    ListLiteral,
    Literal,
    MatchAny,
    MatchPath,
    Node,
    Not,
    Operator,
    Or,
    Size,
    State,
    TextTest,
    Variable,
)
from remit.errors import ConditionError
from remit.files.json_positions import position
from remit.text.spelling import did_you_mean

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


class Flaw(StrEnum):
    """The kind of mistake."""

    NAME = "name"  # unknown state or variable
    TYPE = "type"  # the types cannot be compared
    NEVER = "never"  # can never hold


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionMistake:
    """A mistake in a condition; it has no position if the condition was not written as text."""

    flaw: Flaw
    message: str
    hint: str | None = None
    line: int | None = None
    column: int | None = None

    def as_error(self) -> ConditionError:
        """Return the mistake as an exception."""
        at = {"line": self.line, "column": self.column} if self.line and self.column else {}
        prefix = "it can never be available: " if self.flaw is Flaw.NEVER else ""
        return ConditionError(f"{prefix}{self.message}", hint=self.hint, **at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The states and typed variables that conditions may use."""

    states: Collection[str] = ()
    variables: Schema = field(default_factory=lambda: {"location": LOCATION})


def check(read: Condition, vocabulary: Vocabulary) -> list[ConditionMistake]:
    """List the mistakes in a parsed condition."""
    return type_mistakes(read, vocabulary) or [*_never(read)]


def type_mistakes(read: Condition, vocabulary: Vocabulary) -> list[ConditionMistake]:
    """List the mistakes in names and types, in text order."""
    checker = _TypeChecker(read.when, vocabulary)
    checker.expect(read.root, CelType.BOOL)
    return sorted(checker.found, key=lambda each: (each.line or 0, each.column or 0))


def _never(read: Condition) -> Iterator[ConditionMistake]:
    match contradiction(read.root):
        case (one, other):
            message = f"`{write(one)}` and `{write(other)}` can never both hold"
            yield _mistake(Flaw.NEVER, message, None, other if other.at != NOWHERE else one, read.when)
        case (node,):
            yield _mistake(Flaw.NEVER, f"`{write(node)}` can never hold", None, node, read.when)
        case _:
            pass


def _mistake(flaw: Flaw, message: str, hint: str | None, node: Node, text: str) -> ConditionMistake:
    if node.at == NOWHERE:
        return ConditionMistake(flaw=flaw, message=message, hint=hint)
    line, column = position(text, node.at)
    return ConditionMistake(flaw=flaw, message=message, hint=hint, line=line, column=column)


@dataclass(frozen=True, slots=True)
class _StaticType:
    """A type, with the item type of a list."""

    type: CelType
    items: "_StaticType | None" = None  # None: unknown, or not a list


_DYN, _BOOL, _INT = _StaticType(CelType.DYN), _StaticType(CelType.BOOL), _StaticType(CelType.INT)
_ORDERED = frozenset({CelType.STRING, CelType.INT, CelType.DOUBLE, CelType.BOOL, CelType.DYN})
_UNQUOTED = re.compile(r"true|false|-?[0-9]+(\.[0-9]+)?")
_SIZED = frozenset({CelType.STRING, CelType.LIST, CelType.MAP, CelType.DYN})


class _TypeChecker:
    """Infers types and collects complaints; after a complaint the type is dynamic."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._text = text
        self._states = vocabulary.states
        self._variables = vocabulary.variables
        self.found: list[ConditionMistake] = []

    def expect(self, node: Node, wanted: CelType) -> None:
        kind = self._kind(node)
        if kind.type not in (wanted, CelType.DYN):
            words = "true or false" if wanted is CelType.BOOL else article(wanted)
            self._complain(node, f"`{write(node)}` is {article(kind.type)}, not {words}")

    def _kind(self, node: Node) -> _StaticType:
        match node:
            case And(parts) | Or(parts):
                for part in parts:
                    self.expect(part, CelType.BOOL)
                return _BOOL
            case Not(operand):
                self.expect(operand, CelType.BOOL)
                return _BOOL
            case Compare():
                self._compare(node)
                return _BOOL
            case Literal(_, type_):
                return _StaticType(type_)
            case ListLiteral(items):
                return _StaticType(CelType.LIST, _common([self._kind(item) for item in items]))
            case Variable(path):
                return self._variable(node, path)
            case _:
                return self._called(node)

    def _called(self, node: State | Has | Size | TextTest | MatchPath | MatchAny) -> _StaticType:
        match node:
            case State(name):
                self._state(node, name)
            case Has(variable):
                self._variable(variable, variable.path)
            case TextTest(_, operand, argument):
                self.expect(operand, CelType.STRING)
                self.expect(argument, CelType.STRING)
            case MatchPath(operand):
                self.expect(operand, CelType.STRING)
            case MatchAny(operand):
                self.expect(operand, CelType.LIST)
            case _:
                self._sized(node.operand)
                return _INT
        return _BOOL

    def _state(self, node: State, name: str) -> None:
        if name not in self._states:
            hint = did_you_mean(name, self._states) or "declare it, or use one that `remit states` lists"
            self._complain(node, f"unknown state `{name}`", hint, Flaw.NAME)

    def _variable(self, node: Variable, path: tuple[str, ...]) -> _StaticType:
        known: CelType | Schema = self._variables
        for depth, name in enumerate(path):
            if isinstance(known, CelType):
                return self._inside(node, known, path[:depth])
            if name not in known:
                before = path[:depth]
                known_paths = [path_of((*before, each)) for each in known]
                hint = did_you_mean(path_of(path[: depth + 1]), known_paths) or _there_are(known_paths)
                self._complain(node, f"unknown variable `{path_of(path[: depth + 1])}`", hint, Flaw.NAME)
                return _DYN
            known = known[name]
        return _StaticType(known if isinstance(known, CelType) else CelType.MAP)

    def _inside(self, node: Variable, known: CelType, path: tuple[str, ...]) -> _StaticType:
        if known not in (CelType.MAP, CelType.DYN):
            self._complain(node, f"`{path_of(path)}` is {article(known)}, which has no members")
        return _DYN

    def _sized(self, operand: Node) -> None:
        kind = self._kind(operand)
        if kind.type not in _SIZED:
            self._complain(operand, f"`{write(operand)}` is {article(kind.type)}, which has no size")

    def _compare(self, node: Compare) -> None:
        left, right = self._kind(node.left), self._kind(node.right)
        if node.operator is Operator.IN:
            self._within(node, left, right)
        elif not _agree(left, right):
            self._complain(
                node,
                f"`{write(node)}` compares {article(left.type)} with {_other(left, right)}",
                _hint(node, left, right),
            )
        elif node.operator not in (Operator.EQUAL, Operator.DIFFERENT):
            self._ordered(node, left, right)

    def _ordered(self, node: Compare, left: _StaticType, right: _StaticType) -> None:
        for type_ in {left.type, right.type} - _ORDERED:
            self._complain(node, f"`{write(node)}` orders {article(type_)}, which has no order")

    def _within(self, node: Compare, left: _StaticType, right: _StaticType) -> None:
        if right.type not in (CelType.LIST, CelType.MAP, CelType.DYN):
            hint = "write `.contains(...)` to look inside a text" if right.type is CelType.STRING else None
            self._complain(node, f"`in` does not work on {article(right.type)}", hint)
        elif right.items is not None and not _agree(left, right.items):
            items = article(right.items.type)
            self._complain(node, f"`{write(node)}` looks for {article(left.type)} where each is {items}")

    def _complain(self, node: Node, message: str, hint: str | None = None, flaw: Flaw = Flaw.TYPE) -> None:
        self.found.append(_mistake(flaw, message, hint, node, self._text))


def _common(kinds: list[_StaticType]) -> _StaticType | None:
    if not kinds:
        return None
    return reduce(lambda one, other: one if one == other else _DYN, kinds)


def _agree(one: _StaticType, other: _StaticType) -> bool:
    if CelType.DYN in (one.type, other.type):
        return True
    if one.items is not None and other.items is not None:
        return _agree(one.items, other.items)
    return one.type is other.type


def _other(left: _StaticType, right: _StaticType) -> str:
    return "a list of others" if left.type is right.type else article(right.type)


def _hint(node: Compare, left: _StaticType, right: _StaticType) -> str | None:
    if {left.type, right.type} == {CelType.INT, CelType.DOUBLE}:
        return "write whole numbers with `.0` to compare them with doubles, and without for ints"
    for side in (node.left, node.right):
        if isinstance(side, Literal) and isinstance(side.value, str) and _UNQUOTED.fullmatch(side.value):
            return f"write `{side.value}` without quotes"
    return None


def _there_are(paths: list[str]) -> str | None:
    return f"expected one of {', '.join(f'`{path}`' for path in sorted(paths))}" if paths else None
