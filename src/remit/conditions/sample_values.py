"""Chooses representative values for the questions in a condition.

Questions about the same variable, or its size, are answered together: one value represents all values for
which every question has the same answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple, cast

from remit.conditions.cel_values import FailedError
from remit.conditions.evaluator import truth
from remit.conditions.syntax import (
    TYPES,
    CelType,
    Compare,
    Has,
    ListLiteral,
    Literal,
    MatchPath,
    Node,
    Operator,
    Size,
    State,
    TextTest,
    Variable,
    walk,
)
from remit.decision.state_snapshot import JsonValue, Snapshot

TRUE, FALSE, FAILED = 1, 2, 4  # bit flags of possible answers
OPEN = TRUE | FALSE | FAILED
_LARGEST = 2**53  # larger ints and doubles may compare as equal although they differ
_MOST_QUESTIONS = 24  # per subject, because the work is quadratic
_NOTHING = Snapshot()

Answers = tuple[int, ...]  # one per question


class _Value(NamedTuple):
    """A value that represents a class of values."""

    value: JsonValue
    is_alone: bool  # the only value in its class, so every question about it has an answer


def subject(question: Node) -> Node:
    """Return the subject of a question; an unsupported question is its own subject."""
    match question:
        case Compare(Operator.IN, asked, ListLiteral(items)) if all(map(_is_known, items)):
            about = asked
        case Compare(operator, asked, other) if _is_known(other) and operator is not Operator.IN:
            about = asked
        case Compare(operator, other, asked) if _is_known(other) and operator is not Operator.IN:
            about = asked
        case TextTest(_, Variable() as asked, Literal(str())) | MatchPath(Variable() as asked):
            about = asked
        case Has(asked):
            about = asked
        case _:
            about = question
    is_subject = isinstance(about, Variable) or (
        isinstance(about, Size) and isinstance(about.operand, Variable)
    )
    return about if is_subject else question


def cases(about: Node, questions: Sequence[Node]) -> list[Answers]:
    """List the possible combinations of answers to questions about a subject."""
    if len(questions) > _MOST_QUESTIONS:
        found = [(OPEN,) * len(questions)]
    elif isinstance(about, Variable):
        found = [_answers(questions, about, value) for value in _values(questions)]
        found.append(tuple(FALSE | FAILED if isinstance(each, Has) else FAILED for each in questions))
    elif isinstance(about, Size):
        found = [_answers(questions, about, _Value(size, True)) for size in _sizes(questions)]
    elif any(isinstance(node, Variable | State) for node, _ in walk(about)):
        found = [(TRUE,), (FALSE,)]
    else:
        found = [(_answer(about),)]
    return [*dict.fromkeys(found)]


def _answers(questions: Sequence[Node], about: Node, given: _Value) -> Answers:
    literal = Literal(given.value, TYPES[type(given.value)])
    return tuple(_answer_to(question, about, literal, given.is_alone) for question in questions)


def _answer_to(question: Node, about: Node, literal: Literal, is_alone: bool) -> int:
    match question:
        case Compare(operator, left, right):
            return _answer(
                Compare(operator, literal if left == about else left, literal if right == about else right)
            )
        case TextTest() | MatchPath():
            return _answer(replace(question, operand=literal)) if is_alone else OPEN
        case Has():
            return TRUE
        case _:
            return _answer(literal)


def _answer(question: Node) -> int:
    try:
        return TRUE if truth(question, _NOTHING) else FALSE
    except FailedError:
        return FAILED


def _values(questions: Sequence[Node]) -> Iterator[_Value]:
    literals = [*_literals(questions)]
    for word in (True, False, None):
        yield _Value(word, True)
    yield _Value([], True)
    yield _Value({}, True)
    yield _Value(float("nan"), True)
    for number in _between(sorted(_numbers(literals))):
        yield _Value(number, True)
    texts = {value for value in literals if isinstance(value, str)}
    for text in sorted(
        {"", *texts, *(f"{text}\0" for text in texts)}
    ):  # appending `\0` gives the next text in order
        yield _Value(text, text in texts)


def _between(numbers: list[float]) -> list[float]:
    if not numbers:
        return [0.5]
    middle = [(one + other) / 2 for one, other in pairwise(numbers)]
    return [numbers[0] - 1, *numbers, *middle, numbers[-1] + 1]


def _sizes(questions: Sequence[Node]) -> list[int]:
    near = {
        at for number in _numbers(_literals(questions)) for at in range(floor(number) - 1, ceil(number) + 2)
    }
    return sorted({0, 1, *(size for size in near if size >= 0)})


def _numbers(values: Iterable[JsonValue]) -> Iterator[float]:
    return (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))


def _literals(questions: Sequence[Node]) -> Iterator[JsonValue]:
    for question in questions:
        if isinstance(question, Compare):
            yield from (node.value for node, _ in walk(question) if isinstance(node, Literal))


def _is_known(node: Node) -> bool:
    """Return whether comparisons with a literal are exact."""
    if not isinstance(node, Literal):
        return False
    return node.type not in (CelType.INT, CelType.DOUBLE) or abs(cast(float, node.value)) < _LARGEST
