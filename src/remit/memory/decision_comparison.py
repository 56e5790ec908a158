"""Compares decisions: whether two contradict each other, and whether one repeats another.

A decision's title is read as a statement: a choice, for a subject, taken or refused. `Use SQLite for storage`
is contradicted by `Do not use SQLite for storage` and by `Use PostgreSQL for storage`, and not by `Use SQLite
with WAL for storage`. Where a title has no such form, all of it is the subject, but its numbers are the
choice: `Keep logs for 30 days` is contradicted by `Keep logs for 90 days`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from remit.text.words import STOP_WORDS

SUPERSEDES = 0.7  # share of common words from which a decision replaces another
IS_LIKE = 0.5  # share of common words from which a person has to judge
MOST_WORDS = 400  # of a decision that are compared

_WORD = re.compile(r"\w+")
_APOSTROPHES = re.compile("['\u2019]")
_INSTEAD = re.compile(r"\b(?:instead of|rather than|in place of|over)\b.*?(?=\bfor\b|$)")
_NUMBER = re.compile(r"\d+")

_REFUSING = """
    not no never dont doesnt cannot cant wont shouldnt mustnt without avoid stop drop remove disable forbid
    reject abandon against ban deprecate disallow
"""
_TAKING = """
    use uses using adopt choose chose pick select prefer keep go switch move migrate enable allow always take
    introduce require permit let add we our shall decide decided decision
"""
_REFUSALS = frozenset(_REFUSING.split())
_EMPTY = STOP_WORDS | _REFUSALS | frozenset(_TAKING.split())


class Statement(NamedTuple):
    """What a decision chooses or refuses, for a subject."""

    subject: frozenset[str]
    choice: frozenset[str]
    is_refusal: bool

    @property
    def key(self) -> str:
        """The subject, as a text by which decisions on the same are found."""
        return " ".join(sorted(self.subject))


def statement(title: str) -> Statement:
    """Read a decision's title."""
    text = _APOSTROPHES.sub("", title.lower())
    is_refusal = not _REFUSALS.isdisjoint(_WORD.findall(text))
    before, mark, after = _INSTEAD.sub(" ", text).partition(":")
    if mark and (about := _telling(before)):
        return _stated(about, _telling(after), is_refusal)
    chosen, mark, after = _INSTEAD.sub(" ", text).rpartition(" for ")
    if mark and (about := _telling(after)) and (choice := _telling(chosen)) and not _has_number(after):
        return _stated(about, choice, is_refusal)
    words = _telling(text)
    numbers = [word for word in words if _has_number(word)]
    return _stated([word for word in words if word not in numbers], numbers, is_refusal)


def contradict(one: Statement, other: Statement) -> bool:
    """Tell whether two decisions cannot both hold."""
    if not one.subject or one.subject != other.subject:
        return False
    if one.is_refusal != other.is_refusal:
        return one.choice == other.choice
    return not one.is_refusal and bool(one.choice and other.choice) and one.choice.isdisjoint(other.choice)


def contradicting(titles: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """List the pairs of decisions, given as ids and titles, that contradict each other."""
    by_subject: dict[frozenset[str], list[tuple[str, Statement]]] = {}
    for id, title in titles:
        said = statement(title)
        by_subject.setdefault(said.subject, []).append((id, said))
    return [
        (one[0], other[0])
        for said in by_subject.values()
        for one, other in combinations(said, 2)
        if contradict(one[1], other[1])
    ]


def _stated(subject: Sequence[str], choice: Sequence[str], is_refusal: bool) -> Statement:
    return Statement(frozenset(map(_singular, subject)), frozenset(map(_singular, choice)), is_refusal)


def _telling(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word not in _EMPTY]


def _has_number(text: str) -> bool:
    return _NUMBER.search(text) is not None


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


class DedupOutcome(StrEnum):
    """How a new artifact relates to the known ones."""

    NEW = "new"
    DUPLICATE_SKIP = "duplicate_skip"
    SUPERSEDE = "supersede"
    MANUAL_REVIEW = "manual_review"


class NearestDecision(NamedTuple):
    """A known decision that shares words with a new one."""

    id: str
    likeness: float


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say something."""
    found = frozenset(_WORD.findall(text.lower())[:MOST_WORDS])
    return found - STOP_WORDS or found


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words that two texts have in common."""
    return len(one & other) / len(one | other) if one or other else 0.0


def telling_words(words: frozenset[str]) -> list[str]:
    """Some of a text's words, the longest, for they are the rarest.

    Two texts that are alike by `IS_LIKE` share at least one of these: that many are left out of neither.
    """
    kept = len(words) - math.ceil(IS_LIKE * len(words)) + 1
    return sorted(words, key=lambda word: (-len(word), word))[:kept]


def can_be_like(words: int, shared: int, telling: int) -> bool:
    """Tell whether a text of so many words can be like another that has so many telling ones, some shared.

    What two texts have in common is shared by their telling words, or left out of those of the one whose
    telling words end first: so there is a most that they have in common, and a least that being alike takes.
    """
    left_out = max(math.ceil(IS_LIKE * words) - 1, telling - 1)
    least_words = 2 * telling - 2  # of the other: half of its words, and one, are telling
    return min(shared + left_out, words) * (1 + IS_LIKE) >= IS_LIKE * (words + least_words)


def nearest(words: frozenset[str], known: Iterable[tuple[str, frozenset[str]]]) -> NearestDecision | None:
    """Find the known decision that is most like a new one, if any is."""
    found = [NearestDecision(id, likeness(words, each)) for id, each in known]
    best = max(found, key=lambda near: near.likeness, default=None)
    return best if best is not None and best.likeness >= IS_LIKE else None


def outcome(near: NearestDecision | None) -> DedupOutcome:
    """Decide what to do with a new decision."""
    if near is None:
        return DedupOutcome.NEW
    return DedupOutcome.SUPERSEDE if near.likeness >= SUPERSEDES else DedupOutcome.MANUAL_REVIEW
