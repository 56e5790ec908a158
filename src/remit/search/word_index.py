"""An in-memory word index that scores documents like SQLite's FTS5."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from remit.search.documents import COLUMN_WEIGHTS, PAIR_WEIGHT, Columns
from remit.search.word_tokenizer import Tokenizer

_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of FTS5's bm25()
_SHIFT = 32  # bits per term number
_RAREST = 1e-6  # weight of a term that occurs in at least half of all documents, as in FTS5

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]


class _Numbers(dict[str, int]):
    """Numbers terms in order of first use."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents of each numbered term, with the score that the term adds to each."""

    starts: NDArray[np.int64]  # where each term starts in the next two arrays, and the end of the last
    rows: Rows
    impacts: Floats

    def rows_of(self, number: int) -> Rows:
        """Return the documents of a term."""
        return self.rows[self.starts[number] : self.starts[number + 1]]

    def add(self, number: int, totals: Floats, weight: float = 1.0) -> None:
        """Add the scores of a term to its documents' totals."""
        start, end = self.starts[number], self.starts[number + 1]
        totals[self.rows[start:end]] += (
            np.float32(weight) * self.impacts[start:end]
        )  # each document occurs once


@dataclass(frozen=True, slots=True)
class WordIndex:
    """The scores of each term and each pair of adjacent terms in each document."""

    numbers: dict[str, int]  # numbers of the terms
    terms: Postings
    pairs: NDArray[np.int64]  # two term numbers packed into one, sorted
    pair_postings: Postings

    def add(self, words: Sequence[str], pairs: Iterable[Sequence[str]], totals: Floats) -> None:
        """Add the scores of a query's terms to the totals; repeated terms count again."""
        for word in words:
            if (number := self.numbers.get(word)) is not None:
                self.terms.add(number, totals)
        for pair in pairs:
            match [self.numbers.get(word) for word in pair]:
                case [int(one), int(other)]:
                    self._add_pair((one << _SHIFT) | other, totals)
                case _:
                    pass

    def containing(self, words: Iterable[str]) -> Rows:
        """Return the documents that contain every one of the words; none if there are no words."""
        numbers = [self.numbers.get(word) for word in words]
        if not numbers or None in numbers:
            return np.empty(0, np.int32)
        rows = [self.terms.rows_of(number) for number in numbers if number is not None]
        return reduce(partial(np.intersect1d, assume_unique=True), sorted(rows, key=len))

    def _add_pair(self, key: int, totals: Floats) -> None:
        at = int(np.searchsorted(self.pairs, key))
        if at < len(self.pairs) and self.pairs[at] == key:
            self.pair_postings.add(at, totals, PAIR_WEIGHT)


def build_word_index(documents: Sequence[Columns], terms: Tokenizer) -> WordIndex:
    """Compute the score of each term in each document."""
    numbers = _Numbers()
    used = array("i")
    counts = array("i")  # term counts by document and column
    for texts in documents:
        for text in texts:
            found = list(map(numbers.__getitem__, terms(text))) if text else []
            used.extend(found)
            counts.append(len(found))
    lengths = np.frombuffer(counts, np.int32).reshape(-1, len(COLUMN_WEIGHTS))
    places = _Places(lengths)
    ids = np.frombuffer(used, np.int32).astype(np.int64)
    pairs = (ids[:-1] << _SHIFT) | ids[1:]
    distinct, pair_ids = np.unique(pairs[places.has_next], return_inverse=True)
    return WordIndex(
        dict(numbers),
        _postings(ids, len(numbers), places.rows, places.weights, lengths),
        distinct,
        _postings(
            pair_ids,
            len(distinct),
            places.rows[:-1][places.has_next],
            places.weights[:-1][places.has_next],
            lengths,
        ),
    )


class _Places:
    """The positions of all occurrences of terms."""

    def __init__(self, lengths: Rows) -> None:
        size = len(lengths)
        cells = np.repeat(np.arange(lengths.size), lengths.ravel())
        self.rows: Rows = np.repeat(np.arange(size, dtype=np.int32), lengths.sum(axis=1))
        self.weights: Floats = np.tile(np.array(COLUMN_WEIGHTS, np.float32), size)[cells]
        self.has_next = cells[:-1] == cells[1:]  # the next term is in the same column of the same document


def _postings(ids: NDArray[np.int64], count: int, rows: Rows, weights: Floats, lengths: Rows) -> Postings:
    size = len(lengths)
    keys = ids * size + rows
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    often = np.add.reduceat(weights, firsts, dtype=np.float64) if len(firsts) else np.zeros(0)
    where = keys[firsts] % max(size, 1)
    each = np.bincount(keys[firsts] // max(size, 1), minlength=count)
    impacts = np.repeat(_rarity(each, size), each) * _saturated(often, lengths.sum(axis=1), where)
    return Postings(
        np.concatenate(([0], np.cumsum(each))), where.astype(np.int32), impacts.astype(np.float32)
    )


def _rarity(per_term: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    return np.maximum(np.log((size - per_term + 0.5) / (per_term + 0.5)), _RAREST)


def _saturated(often: NDArray[np.float64], lengths: Rows, where: NDArray[np.int64]) -> NDArray[np.float64]:
    """Apply BM25's saturation for frequent terms and its penalty for long documents."""
    norms = _SATURATION * (1 - _LENGTH + _LENGTH * lengths / max(lengths.mean() if len(lengths) else 0, 1e-9))
    return often * (_SATURATION + 1) / (often + norms[where])
