"""Likeness: whether a decision says what another said before, by the words they share."""

import math
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from remit.text.words import STOP_WORDS

SUPERSEDES = 0.7  # of all words of two decisions: what shares as many says the same anew
IS_LIKE = 0.5  # what shares as many may say the same: somebody has to judge
MOST_WORDS = 400  # of a decision; what comes after does not tell it from others

_WORD = re.compile(r"\w+")


class DedupOutcome(StrEnum):
    """What a new artifact is beside those that are known."""

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
    """Say what becomes of a new decision."""
    if near is None:
        return DedupOutcome.NEW
    return DedupOutcome.SUPERSEDE if near.likeness >= SUPERSEDES else DedupOutcome.MANUAL_REVIEW
