"""Compares decisions to find contradictions and repetitions.

A decision's title is parsed as a statement that takes or refuses a choice for a subject. `Use SQLite for
storage` contradicts `Do not use SQLite for storage` and `Use PostgreSQL for storage`, but not `Use SQLite
with WAL for storage`. If a title does not have this form, its numbers are the choice and the rest is the
subject: `Keep logs for 30 days` contradicts `Keep logs for 90 days`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from remit.text.words import STOP_WORDS

SUPERSEDES = 0.7  # minimum share of common words for a decision to replace another
IS_LIKE = 0.5  # minimum share of common words for a review
MOST_WORDS = 400  # of a decision; the rest is not compared
_LONGEST_WORD = 150  # characters; a text without spaces is one word, too long for an index of PostgreSQL

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
    """A choice that a decision takes or refuses for a subject."""

    subject: frozenset[str]
    choice: frozenset[str]
    is_refusal: bool

    @property
    def key(self) -> str:
        """The subject as text, equal for decisions about the same subject."""
        return " ".join(sorted(self.subject))


def statement(title: str) -> Statement:
    """Parse a decision's title."""
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
    """Return whether two decisions contradict each other."""
    if not one.subject or one.subject != other.subject:
        return False
    if one.is_refusal != other.is_refusal:
        return one.choice == other.choice
    return not one.is_refusal and bool(one.choice and other.choice) and one.choice.isdisjoint(other.choice)


def contradicting(titles: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """List the contradicting pairs of decisions, which are given as ids and titles."""
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
    """How a new artifact relates to known ones."""

    NEW = "new"
    DUPLICATE_SKIP = "duplicate_skip"
    SUPERSEDE = "supersede"
    MANUAL_REVIEW = "manual_review"


class NearestDecision(NamedTuple):
    """A known decision that shares words with a new one."""

    id: str
    likeness: float


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text without stop words."""
    found = frozenset(word[:_LONGEST_WORD] for word in _WORD.findall(text.lower())[:MOST_WORDS])
    return found - STOP_WORDS or found


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that two texts have in common."""
    return len(one & other) / len(one | other) if one or other else 0.0


def telling_words(words: frozenset[str]) -> list[str]:
    """Return the longest words of a text, which tend to be the rarest.

    Two texts that reach `IS_LIKE` share at least one of them: each text leaves out fewer words than the two
    have in common.
    """
    kept = len(words) - math.ceil(IS_LIKE * len(words)) + 1
    return sorted(words, key=lambda word: (-len(word), word))[:kept]


def can_be_like(words: int, shared: int, telling: int) -> bool:
    """Return whether a text with `words` words can reach `IS_LIKE` with another text.

    `telling` is the number of telling words in the other text, and `shared` the number that is telling in
    both. A common word is telling in both texts, or left out by the one whose sorted telling words end first.
    This limits how many words they can have in common, and `IS_LIKE` sets how many they need.
    """
    left_out = max(math.ceil(IS_LIKE * words) - 1, telling - 1)
    least_words = 2 * telling - 2  # in the other text: half of its words plus one are telling
    return min(shared + left_out, words) * (1 + IS_LIKE) >= IS_LIKE * (words + least_words)


def nearest(words: frozenset[str], known: Iterable[tuple[str, frozenset[str]]]) -> NearestDecision | None:
    """Find the known decision that is most similar to a new one, if any reaches `IS_LIKE`."""
    found = [NearestDecision(id, likeness(words, each)) for id, each in known]
    best = max(found, key=lambda near: near.likeness, default=None)
    return best if best is not None and best.likeness >= IS_LIKE else None


def outcome(near: NearestDecision | None) -> DedupOutcome:
    """Decide what to do with a new decision."""
    if near is None:
        return DedupOutcome.NEW
    return DedupOutcome.SUPERSEDE if near.likeness >= SUPERSEDES else DedupOutcome.MANUAL_REVIEW
