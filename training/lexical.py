"""Scores tools by the words they share with a query, alone and side by side: BM25 over weighted columns."""

import re
from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from text import Fields, split

WEIGHTS = (3.0, 1.0, 1.0, 0.5, 0.25)  # name, server, description, params, details of params
SIZED = 4  # columns that make up the length of a tool: many details do not make their words less telling
PAIR_WEIGHT = 0.5  # of two terms side by side, beside each of them
QUERY_WORDS = 48

_COMPOUND = re.compile(r"\w*(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[^\W_]_[^\W_])\w*")
_WORD = re.compile(r"\w+")

# Verbs that are tool names ("get", "find", "show", "make", "list") stay.
_STOP_WORDS = """
    a an the this that these those some any such each every both all there here
    i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs
    someone something anyone anything everyone everything one ones
    of in on at to from by for with without about into onto over under between through during before after
    above below against within across near per as than via upon toward towards among
    and or but nor so if then else because while although though
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would ll ve re s t d m don doesn didn isn aren won
    what which who whom whose when where why how
    please thanks thank hi hello hey kindly
    want need like just also too very really some only own same other another more most
    up out off down again not no yes
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def query_words(text: str) -> list[str]:
    """The words of a query that say something, each once; all of its words if none does."""
    words = list(dict.fromkeys(w.lower() for w in _WORD.findall(split(text))))
    telling = [w for w in words if w not in STOP_WORDS]
    return (telling or words)[:QUERY_WORDS]


def columns(tool: Fields) -> tuple[str, str, str, str, str]:
    """The texts of a tool that are indexed; an identifier in the description counts as its words, too."""
    compounds = " ".join(map(split, _COMPOUND.findall(tool.description)))
    described = f"{tool.description} {compounds}".strip()
    return tool.name, tool.server, described, " ".join(tool.params), tool.details


class Lexicon:
    """An index of tools by term and pair of terms, with what each adds to a score worked out beforehand."""

    def __init__(
        self, tools: Sequence[Sequence[Sequence[Hashable]]], weights: Sequence[float] = WEIGHTS
    ) -> None:
        self.size = len(tools)
        counts: dict[Hashable, dict[int, float]] = {}
        lengths = np.zeros(self.size)
        for i, texts in enumerate(tools):
            lengths[i] = sum(map(len, texts[:SIZED]))
            for terms, weight in zip(texts, weights, strict=True):
                for term in (*terms, *pairwise(terms)):
                    row = counts.setdefault(term, {})
                    row[i] = row.get(i, 0.0) + weight
        norms = 1.2 * (0.25 + 0.75 * lengths / max(lengths.mean(), 1e-9)) if self.size else lengths
        self._postings = {term: self._posting(row, norms) for term, row in counts.items()}

    def scores(self, terms: Sequence[Hashable]) -> NDArray[np.float32]:
        """How well each tool matches; a term that is given twice counts twice, a pair once."""
        total = np.zeros(self.size, np.float32)
        weighted = [(term, 1.0) for term in terms]
        weighted += [(pair, PAIR_WEIGHT) for pair in dict.fromkeys(pairwise(terms))]
        for term, weight in weighted:
            if posting := self._postings.get(term):
                total[posting[0]] += np.float32(weight) * posting[1]
        return total

    def _posting(
        self, row: dict[int, float], norms: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        where = np.fromiter(row, np.int32, len(row))
        often = np.fromiter(row.values(), np.float64, len(row))
        rarity = max(float(np.log((self.size - len(row) + 0.5) / (len(row) + 0.5))), 1e-6)
        return where, (rarity * often * 2.2 / (often + norms[where])).astype(np.float32)
