"""Explains which part of a condition failed, and what would make it hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias, cast

from remit.conditions.cel_values import FailedError, shown, written
from remit.conditions.evaluator import evaluate, truth
from remit.conditions.printer import write, write_operand
from remit.conditions.syntax import (
    And,
    Compare,
    Has,
    Literal,
    MatchAny,
    MatchPath,
    Node,
    Not,
    Operator,
    Or,
    Size,
    State,
    Variable,
    children,
)
from remit.decision.state_snapshot import Snapshot

_OPPOSITE = {
    Operator.EQUAL: Operator.DIFFERENT,
    Operator.DIFFERENT: Operator.EQUAL,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.GREATER: Operator.AT_MOST,
    Operator.AT_MOST: Operator.GREATER,
}


_MOST_WAYS = 4  # listed; the rest are only counted
_UNMET = "its condition does not hold"


_HOLDS = {True: "holds", False: "does not hold", None: "is unknown"}


@dataclass(frozen=True, slots=True)
class UnmetPart:
    """The smallest part that must change: its required value and its current value."""

    subject: str
    wanted: str
    fact: str
    summary: str = _UNMET  # without values, files and detectors


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Alternative ways to satisfy a condition; each is a tuple of parts that must all change."""

    ways: "tuple[UnmetParts, ...]"


UnmetParts: TypeAlias = "tuple[UnmetPart | Alternatives, ...]"


def explain(root: Node, snapshot: Snapshot) -> str:
    """Explain what an unsatisfied condition needs."""
    return f"needs {_all_of(needs(root, snapshot))}"


def summarize(root: Node, snapshot: Snapshot) -> str:
    """Name the states for which a condition does not hold, without what they depend on."""
    return _summary(needs(root, snapshot))


def needs(root: Node, snapshot: Snapshot) -> UnmetParts:
    """List everything that must change for a condition to hold; empty if it already holds."""
    return tuple(dict.fromkeys(_unmet(root, True, snapshot)))


def _unmet(node: Node, wanted: bool, snapshot: Snapshot) -> "Iterator[UnmetPart | Alternatives]":
    failure = None
    try:
        if truth(node, snapshot) is wanted:
            return
    except FailedError as error:
        failure = str(error)
    match node:
        case Not(operand):
            yield from _unmet(operand, not wanted, snapshot)
        case And(parts) | Or(parts) if isinstance(node, And) is wanted:
            for part in parts:
                yield from _unmet(part, wanted, snapshot)
        case And(parts) | Or(parts):
            yield from _one_of([tuple(_unmet(part, wanted, snapshot)) for part in parts])
        case State(name):
            value = snapshot.state(name)
            yield UnmetPart(
                name,
                f"state {name}{'' if wanted else ' to be false'}",
                value.in_words,
                f"state `{name}` {_HOLDS[value.truth]}",
            )
        case _:
            subjects = tuple(dict.fromkeys(_subjects(node)))
            yield UnmetPart(
                ", ".join(map(write, subjects)),
                _wish(node, wanted),
                failure or _fact(node, subjects, snapshot),
            )


def _one_of(ways: list[UnmetParts]) -> UnmetParts:
    different = tuple(dict.fromkeys(ways))
    return different[0] if len(different) == 1 else (Alternatives(different),)


def _wish(node: Node, wanted: bool) -> str:
    negation = "" if wanted else "not "
    match node:
        case Compare(Operator.IN, left, right):
            return f"{write_operand(left)} {negation}in {write_operand(right)}"
        case Compare(operator, left, right):
            return write(Compare(operator if wanted else _OPPOSITE[operator], left, right))
        case MatchPath(operand, pattern):
            return f"{write(operand)} {negation}to match {written(pattern.text)}"
        case MatchAny(operand, pattern):
            return f"{'one' if wanted else 'none'} of {write(operand)} to match {written(pattern.text)}"
        case Variable() | Literal():
            return f"{write(node)} to be {str(wanted).lower()}"
        case _:
            return write(node if wanted else Not(node))


def _fact(node: Node, subjects: tuple[Node, ...], snapshot: Snapshot) -> str:
    if isinstance(node, Has):
        return "there is one" if truth(node, snapshot) else "there is none"
    names = ["it"] if len(subjects) == 1 else [*map(write, subjects)]
    told = (_told(name, subject, snapshot) for name, subject in zip(names, subjects, strict=True))
    return ", ".join(told) or "that never changes"


def _told(name: str, subject: Node, snapshot: Snapshot) -> str:
    try:
        return f"{name} is {shown(evaluate(subject, snapshot))}"
    except FailedError as error:  # the other parts settled the result
        return str(error)


def _subjects(node: Node) -> Iterator[Node]:
    """List the variables, sizes and states that a part reads."""
    match node:
        case Variable() | Size() | State():
            yield node
        case _:
            for child in children(node):
                yield from _subjects(child)


def _summary(unmet: UnmetParts) -> str:
    return " and ".join(dict.fromkeys(map(_summary_of, unmet)))


def _summary_of(need: UnmetPart | Alternatives) -> str:
    if isinstance(need, UnmetPart):
        return need.summary
    return " or ".join(dict.fromkeys(map(_summary, need.ways[:_MOST_WAYS])))


def _all_of(wanted: UnmetParts) -> str:
    if len(wanted) == 1:
        return _in_words(wanted[0])
    simple_first = sorted(wanted, key=lambda each: isinstance(each, Alternatives))
    return " and ".join(
        f"either {_in_words(each)}" if isinstance(each, Alternatives) else _in_words(each)
        for each in simple_first
    )


def _in_words(need: UnmetPart | Alternatives) -> str:
    if isinstance(need, UnmetPart):
        return f"{need.wanted} ({need.fact})"
    told = need.ways[:_MOST_WAYS]
    texts = [text for _, ways in groupby(told, key=_common) for text in _merged([*ways])]
    more = len(need.ways) - len(told)
    return ", or ".join([*texts, f"{more} more ways"] if more else texts)


def _common(way: UnmetParts) -> tuple[str, str] | None:
    """Return the subject and fact of an alternative with a single part, which alternatives are grouped by."""
    only = way[0] if len(way) == 1 else None
    return (only.subject, only.fact) if isinstance(only, UnmetPart) else None


def _merged(ways: list[UnmetParts]) -> list[str]:
    if _common(ways[0]) is None:
        return [*map(_all_of, ways)]
    single = [cast(UnmetPart, way[0]) for way in ways]
    return [f"{' or '.join(need.wanted for need in single)} ({single[0].fact})"]
