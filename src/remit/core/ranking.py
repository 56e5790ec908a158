"""Ranking: one score for a tool and a query, from the words they share and how near they are in meaning.

The words count by BM25 as it is, not by its share of the best: its size says how much of the query was matched
at all. The sum becomes a number between 0 and 1 that means the same for every query: about how likely the tool
is one that was meant.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Hit(NamedTuple):
    """A definition that an index found."""

    definition_id: int
    words: float  # BM25; 0 where no word matches
    meaning: float | None  # cosine; None where there is nothing to compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How one model's cosine and BM25 become one score; chosen on sets with known answers."""

    word_weight: float = 0.035  # of BM25, beside the cosine
    steepness: float = 10.0
    midpoint: float = 0.6  # the sum at which a tool is as likely meant as not
    confidence: float = 0.1  # a result below it is noise

    def raw(self, hit: Hit) -> float:
        """Add up what an index found; what orders tools."""
        return (hit.meaning or 0.0) + self.word_weight * hit.words

    def score(self, hit: Hit) -> float:
        """Say how likely the tool is meant, between 0 and 1."""
        return 1 / (1 + math.exp(-self.steepness * (self.raw(hit) - self.midpoint)))


def reciprocal(hits: Sequence[Hit], k: int = 60) -> dict[int, float]:
    """Score hits by their ranks alone, between 0 and 1: 1 is first by words and by meaning."""
    by_words = sorted((hit for hit in hits if hit.words > 0), key=lambda hit: -hit.words)
    by_meaning = sorted((hit for hit in hits if hit.meaning is not None), key=lambda hit: -(hit.meaning or 0))
    scores = {hit.definition_id: 0.0 for hit in hits}
    for ranked in (by_words, by_meaning):
        for rank, hit in enumerate(ranked, start=1):
            scores[hit.definition_id] += (k + 1) / (k + rank) / 2
    return scores
