"""Finds conditions that can never hold.

It tries the possible answers to the questions in a condition. Parts that it does not understand may have any
answer, and it gives up when its budget is spent. So it may miss a condition that can never hold, but it never
reports one that can.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import combinations
from typing import TypeAlias

from remit.conditions.sample_values import FAILED, FALSE, OPEN, TRUE, cases, subject
from remit.conditions.syntax import And, Node, Not, Or, walk

_BUDGET = 20_000  # visited nodes, which take some tens of milliseconds
_BUDGET_OF_PARTS = 2_000
_FEW = 12  # try pairs of at most this many parts to name the two that conflict

_Shape: TypeAlias = (
    "int | tuple[type[And] | type[Or] | type[Not], tuple[_Shape, ...]]"  # a number identifies a question
)
_Tried: TypeAlias = (
    "tuple[tuple[int, ...], frozenset[Node]]"  # answers to all questions, and the settled subjects
)


def contradiction(root: Node) -> tuple[Node, ...]:
    """Find one or two parts that prevent a condition from ever holding; empty if it may hold."""
    return _smallest(root) if _never_holds(root, _BUDGET) else ()


def _smallest(root: Node) -> tuple[Node, ...]:
    parts = root.parts if isinstance(root, And) and len(root.parts) <= _FEW else ()
    for part in parts:
        if _never_holds(part, _BUDGET_OF_PARTS):
            return _smallest(part)
    pairs = combinations(parts, 2)
    return next((pair for pair in pairs if _never_holds(And(pair), _BUDGET_OF_PARTS)), (root,))


def _never_holds(root: Node, budget: int) -> bool:
    return not _Search(root).finds_a_way(budget)


class _Search:
    """Searches for answers that make a condition hold."""

    def __init__(self, root: Node) -> None:
        self._numbers: dict[Node, int] = {}  # numbers of questions; equal questions share one
        self._shape = self._shaped(root)
        self._cost = sum(1 for _ in walk(root))
        self._subjects = [subject(question) for question in self._numbers]
        self._about: dict[Node, list[Node]] = {}
        for question, about in zip(self._numbers, self._subjects, strict=True):
            self._about.setdefault(about, []).append(question)
        self._cases = {about: cases(about, asked) for about, asked in self._about.items()}

    def finds_a_way(self, budget: int) -> bool:
        """Return whether there are such answers, or the budget ran out."""
        waiting: list[_Tried] = [((OPEN,) * len(self._numbers), frozenset())]
        while waiting and budget > 0:
            budget -= self._cost
            answers, settled = waiting.pop()
            possible = _possible(self._shape, answers)
            if possible == TRUE or (possible & TRUE and OPEN not in answers):
                return True
            if possible & TRUE:
                waiting.extend(self._next(answers, settled))
        return budget <= 0

    def _shaped(self, node: Node) -> _Shape:
        match node:
            case And(parts) | Or(parts):
                return type(node), tuple(map(self._shaped, parts))
            case Not(operand):
                return Not, (self._shaped(operand),)
            case _:
                return self._numbers.setdefault(node, len(self._numbers))

    def _next(self, answers: tuple[int, ...], settled: frozenset[Node]) -> Iterator[_Tried]:
        """Answer the first open question in every way, together with all questions about the same subject."""
        number = answers.index(OPEN)
        about = self._subjects[number]
        if about in settled:
            for answer in (TRUE, FALSE):
                yield (*answers[:number], answer, *answers[number + 1 :]), settled
            return
        numbers = [self._numbers[question] for question in self._about[about]]
        for case in self._cases[about]:
            given = dict(zip(numbers, case, strict=True))
            yield tuple(given.get(at, old) for at, old in enumerate(answers)), settled | {about}


def _possible(shape: _Shape, answers: tuple[int, ...]) -> int:
    """Return the possible answers of a tree."""
    if isinstance(shape, int):
        return answers[shape]
    joint, parts = shape
    possible = [_possible(part, answers) for part in parts]
    if joint is Not:
        return _opposite(possible[0])
    if joint is And:
        return reduce(_both, possible)
    return _opposite(reduce(_both, map(_opposite, possible)))


def _opposite(answer: int) -> int:
    return (TRUE if answer & FALSE else 0) | (FALSE if answer & TRUE else 0) | answer & FAILED


def _both(one: int, other: int) -> int:
    fails = (one & FAILED and other & (TRUE | FAILED)) or (other & FAILED and one & TRUE)
    return one & other & TRUE | (one | other) & FALSE | (FAILED if fails else 0)
