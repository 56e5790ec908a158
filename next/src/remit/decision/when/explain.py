"""Explains which parts of a condition failed, and what would make it hold."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remit.decision.snapshot import Snapshot
from remit.decision.when.evaluate import FailedError, evaluate, shown, truth, written
from remit.decision.when.syntax import (
    METHODS,
    Compare,
    Has,
    Junction,
    Literal,
    MatchAny,
    MatchPath,
    Node,
    Not,
    Size,
    State,
    Variable,
    children,
)

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in"}
_HOLDS = {True: "holds", False: "does not hold", None: "is unknown"}
_MOST_WAYS = 4  # listed; the rest are only counted


class _Need(NamedTuple):
    """The smallest part that must change, or several ways of which one is enough."""

    words: str  # what it should be, and what it is
    summary: str = "its condition does not hold"  # without values, files and detectors
    is_choice: bool = False


def explain(root: Node, snapshot: Snapshot) -> str:
    """Explain what an unsatisfied condition needs."""
    return f"needs {_joined(_needs(root, True, snapshot))}"


def summarize(root: Node, snapshot: Snapshot) -> str:
    """Name the states for which a condition does not hold, without what they depend on."""
    return _summary(_needs(root, True, snapshot))


def required_states(node: Node, wanted: bool = True) -> Iterator[str]:
    """Yield the states that a condition wants to be true."""
    if isinstance(node, State) and wanted:
        yield node.name
    elif isinstance(node, Not | Junction):
        for child in children(node):
            yield from required_states(child, wanted is isinstance(node, Junction))


def _needs(node: Node, wanted: bool, snapshot: Snapshot) -> tuple[_Need, ...]:
    """List everything that must change for a part to be as wanted; empty if it is."""
    failure = None
    try:
        if truth(node, snapshot) is wanted:
            return ()
    except FailedError as error:
        failure = str(error)
    if isinstance(node, Not):
        return _needs(node.operand, not wanted, snapshot)
    if isinstance(node, Junction):
        ways = [*dict.fromkeys(_needs(part, wanted, snapshot) for part in node.parts)]
        if node.decisive is not wanted:
            return tuple(dict.fromkeys(need for way in ways for need in way))
        return ways[0] if len(ways) == 1 else (_choice(ways),)
    if isinstance(node, State):
        value = snapshot.state(node.name)
        words = f"state {node.name}{'' if wanted else ' to be false'} ({value.in_words})"
        return (_Need(words, f"state `{node.name}` {_HOLDS[value.truth]}"),)
    return (_Need(f"{_wish(node, wanted)} ({failure or _fact(node, snapshot)})"),)


def _choice(ways: Sequence[tuple[_Need, ...]]) -> _Need:
    listed = ways[:_MOST_WAYS]
    texts = [*map(_joined, listed), *([f"{len(ways) - _MOST_WAYS} more ways"] if ways[_MOST_WAYS:] else [])]
    return _Need(", or ".join(texts), " or ".join(dict.fromkeys(map(_summary, listed))), is_choice=True)


def _joined(needs: Sequence[_Need]) -> str:
    if len(needs) == 1:
        return needs[0].words
    simple_first = sorted(needs, key=lambda need: need.is_choice)
    return " and ".join(f"either {need.words}" if need.is_choice else need.words for need in simple_first)


def _summary(needs: Sequence[_Need]) -> str:
    return " and ".join(dict.fromkeys(need.summary for need in needs))


def _wish(node: Node, wanted: bool) -> str:
    match node:
        case Compare(operator, left, right) if operator not in METHODS:
            return f"{left.text} {operator if wanted else _OPPOSITE[operator]} {right.text}"
        case MatchPath(operand, pattern):
            return f"{operand.text} {'' if wanted else 'not '}to match {written(pattern.text)}"
        case MatchAny(operand, pattern):
            return f"{'one' if wanted else 'none'} of {operand.text} to match {written(pattern.text)}"
        case Variable() | Literal():
            return f"{node.text} to be {written(wanted)}"
        case _:
            return node.text if wanted else f"!{node.text}"


def _fact(node: Node, snapshot: Snapshot) -> str:
    if isinstance(node, Has):
        return "there is one" if truth(node, snapshot) else "there is none"
    subjects = {subject.text: subject for subject in _subjects(node)}
    names = ["it"] if len(subjects) == 1 else [*subjects]
    facts = (_value(name, subject, snapshot) for name, subject in zip(names, subjects.values(), strict=True))
    return ", ".join(facts) or "that never changes"


def _value(name: str, subject: Node, snapshot: Snapshot) -> str:
    try:
        return f"{name} is {shown(evaluate(subject, snapshot))}"
    except FailedError as error:  # the other parts settled the result
        return str(error)


def _subjects(node: Node) -> Iterator[Node]:
    """Yield the variables, sizes and states that a part reads."""
    if isinstance(node, Variable | Size | State):
        yield node
    else:
        for child in children(node):
            yield from _subjects(child)
