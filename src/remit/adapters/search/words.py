"""Scores documents by the words they share with a query, as SQLite's FTS5 does, from arrays in memory."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import apsw
import numpy as np
from numpy.typing import NDArray

from remit.core.documents import Columns

COLUMN_WEIGHTS = (3.0, 1.0, 1.0, 0.5)  # name, server, body, params
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of FTS5's bm25()
_RAREST = 1e-6  # what a term in half of all documents or more counts for, as in FTS5

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]


class Terms:
    """Cuts text into terms with FTS5's own tokenizer, `porter unicode61`."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        self._tokenizer = self._connection.fts5_tokenizer("porter", ["unicode61"])

    def __call__(self, text: str) -> list[str]:
        data = text.encode("utf-8", "replace")
        found = self._tokenizer(
            data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return cast(list[str], found)  # without offsets and synonyms, a term is its text alone


class _Numbers(dict[str, int]):
    """Numbers terms in the order of their first use."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


@dataclass(frozen=True, slots=True)
class Postings:
    """Each term's documents, with what the term adds to the score of each."""

    terms: dict[str, int]
    starts: NDArray[np.int64]  # of each term in the next two, and the end of the last
    rows: Rows
    impacts: Floats

    def add(self, words: Iterable[str], totals: Floats) -> None:
        """Add to each document's total what the terms are worth there; a term given twice counts twice."""
        for term in words:
            number = self.terms.get(term)
            if number is not None:
                start, end = self.starts[number], self.starts[number + 1]
                totals[self.rows[start:end]] += self.impacts[start:end]  # a document is there once


def build(documents: Sequence[Columns], terms: Terms) -> Postings:
    """Work out beforehand what each term is worth in each document."""
    numbers = _Numbers()
    used = array("i")
    counts = array("i")  # of terms, by document and column
    for texts in documents:
        for text in texts:
            found = list(map(numbers.__getitem__, terms(text))) if text else []
            used.extend(found)
            counts.append(len(found))
    lengths = np.frombuffer(counts, np.int32).reshape(-1, len(COLUMN_WEIGHTS))
    return _postings(dict(numbers), np.frombuffer(used, np.int32), lengths)


def _postings(terms: dict[str, int], used: Rows, lengths: Rows) -> Postings:
    size = len(lengths)
    rows = np.repeat(np.arange(size, dtype=np.int32), lengths.sum(axis=1))
    weights = np.repeat(np.tile(np.array(COLUMN_WEIGHTS, np.float32), size), lengths.ravel())
    keys = used.astype(np.int64) * size + rows
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    often = np.add.reduceat(weights, firsts, dtype=np.float64) if len(firsts) else np.zeros(0)
    where = keys[firsts] % max(size, 1)
    per_term = np.bincount(keys[firsts] // max(size, 1), minlength=len(terms))
    impacts = np.repeat(_rarity(per_term, size), per_term) * _saturated(often, lengths.sum(axis=1), where)
    return Postings(
        terms, np.concatenate(([0], np.cumsum(per_term))), where.astype(np.int32), impacts.astype(np.float32)
    )


def _rarity(per_term: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    return np.maximum(np.log((size - per_term + 0.5) / (per_term + 0.5)), _RAREST)


def _saturated(often: NDArray[np.float64], lengths: Rows, where: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count a term less the more often it stands in a document, and the longer that is."""
    norms = _SATURATION * (1 - _LENGTH + _LENGTH * lengths / max(lengths.mean() if len(lengths) else 0, 1e-9))
    return often * (_SATURATION + 1) / (often + norms[where])
