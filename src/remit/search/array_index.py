"""An in-memory index for long-lived processes, built on numpy instead of SQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remit.search.documents import QUOTE_WEIGHT, QueryTerms
from remit.search.ports import IndexEntry, Selection, Vector
from remit.search.ranking import Fusion, Hit
from remit.search.word_index import Floats, build_word_index
from remit.search.word_tokenizer import Tokenizer

_DIGITS = 6  # more digits would depend on the order of addition
_NOISE = 10.0**-_DIGITS
_FEW = 4  # compare only the selection if the index is at least this many times larger

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowSelection:
    """A selection of tools, as rows of the arrays."""

    numbers: Numbers
    is_all: bool


class ArrayIndex:
    """Finds tools by words and by meaning, in the same order as the SQL index."""

    def __init__(self, entries: Iterable[IndexEntry], fusion: Fusion) -> None:
        rows = sorted(entries, key=lambda entry: entry[0])
        self._fusion = fusion
        self._ids = np.array([row[0] for row in rows], np.int64)
        self._tokenizer = Tokenizer()
        self._word_index = build_word_index([row[1] for row in rows], self._tokenizer)
        self._vectors, self._has_vector = _matrix([row[2] for row in rows])
        self._all_have_vectors = bool(self._has_vector.all())
        self._width = self._vectors.shape[1] * self._vectors.itemsize  # bytes per vector

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def memory(self) -> int:
        """The size of the arrays in bytes."""
        word_index = self._word_index
        both = (word_index.terms, word_index.pair_postings)
        arrays = (self._ids, self._vectors, word_index.pairs)
        arrays += tuple(array for it in both for array in (it.starts, it.rows, it.impacts))
        return sum(array.nbytes for array in arrays)

    @property
    def has_vectors(self) -> bool:
        """Whether any document has a vector."""
        return bool(self._has_vector.any())

    def select(self, documents: Iterable[int]) -> RowSelection:
        """Select documents to search; ignore those that are not in the index."""
        wanted = np.isin(self._ids, np.fromiter(documents, np.int64))
        return RowSelection(np.flatnonzero(wanted), bool(wanted.all()))

    def drop(self, among: Selection) -> None:
        """Drop a selection; there is nothing to clean up here."""

    def hits(
        self, query_terms: QueryTerms, vectors: Sequence[Vector], among: Selection, depth: int
    ) -> Sequence[Hit]:
        """Find the documents with the highest combined scores; ties are ordered by document id."""
        assert isinstance(among, RowSelection)  # noqa: S101 - a selection belongs to the index that made it
        by_words = self._by_words(query_terms, among)
        by_meaning = self._by_meaning(vectors[0] if vectors else None, among)
        sums, found = by_words, np.flatnonzero(by_words)
        if by_meaning is not None:
            sums, found = self._sums(by_words, by_meaning, among), self._comparable(by_words, among)
        best = _best(sums, depth) if found is None else found[_best(sums[found], depth)]
        rows = among.numbers[best]
        meanings = None if by_meaning is None else self._known(rows, by_meaning[best])
        return self._hits(rows, by_words[best], meanings, self._by_parts(vectors[1:], rows))

    def _by_words(self, query_terms: QueryTerms, among: RowSelection) -> Floats:
        totals = np.zeros(len(self), np.float32)
        words = self._tokenizer(" ".join(query_terms.words))
        self._word_index.add(words, [self._tokenizer(pair) for pair in query_terms.pairs], totals)
        quoted = self._word_index.containing(self._tokenizer(" ".join(query_terms.quote)))
        totals[quoted] *= np.float32(QUOTE_WEIGHT)
        return totals if among.is_all else totals[among.numbers]

    def _by_meaning(self, vector: Vector | None, among: RowSelection) -> Floats | None:
        if vector is None or not self._vectors.size or len(vector) != self._width:
            return None
        query = np.frombuffer(vector, "<f4")
        if among.is_all:
            return self._vectors @ query
        if len(among.numbers) * _FEW < len(self):
            return self._vectors[among.numbers] @ query
        return (self._vectors @ query)[among.numbers]

    def _sums(self, by_words: Floats, by_meaning: Floats, among: RowSelection) -> Floats:
        sums = by_words * np.float32(self._fusion.word_weight)
        sums += by_meaning
        if not self._all_have_vectors:
            lacks = ~self._has_vector[among.numbers]
            sums[lacks] = by_words[lacks] * np.float32(self._fusion.lone_word_weight)
        return sums

    def _by_parts(self, vectors: Sequence[Vector], rows: Numbers) -> list[float | None] | None:
        if not vectors or not self._vectors.size or len(vectors[0]) != self._width:
            return None
        parts = np.stack([np.frombuffer(vector, "<f4") for vector in vectors])
        return self._known(rows, (self._vectors[rows] @ parts.T).max(axis=1))

    def _comparable(self, by_words: Floats, among: RowSelection) -> Numbers | None:
        """Return the positions of tools that have a vector or share a word; None if all do."""
        if self._all_have_vectors:
            return None
        return np.flatnonzero(self._has_vector[among.numbers] | (by_words > 0))

    def _known(self, rows: Numbers, meanings: Floats) -> list[float | None]:
        """Round cosines for hits, with None for a document without a vector."""
        rounded: list[float | None] = _rounded(meanings).tolist()
        if self._all_have_vectors:
            return rounded
        return [it if has else None for it, has in zip(rounded, self._has_vector[rows].tolist(), strict=True)]

    def _hits(
        self,
        rows: Numbers,
        words: Floats,
        meanings: list[float | None] | None,
        parts: list[float | None] | None,
    ) -> list[Hit]:
        nothing: list[float | None] = [None] * len(rows)
        return list(
            map(
                Hit,
                self._ids[rows].tolist(),
                _rounded(words).tolist(),
                nothing if meanings is None else meanings,
                nothing if parts is None else parts,
            )
        )


def _matrix(vectors: Sequence[Vector | None]) -> tuple[Floats, NDArray[np.bool_]]:
    """Stack vectors, with zeros for missing ones and those of a different length."""
    width = max((len(vector) for vector in vectors if vector is not None), default=0)
    known = [vector if vector is not None and len(vector) == width else None for vector in vectors]
    data = b"".join(bytes(width) if vector is None else vector for vector in known)
    has_vector = np.array([vector is not None for vector in known], np.bool_)
    return np.frombuffer(data, "<f4").reshape(len(vectors), width // 4), has_vector


def _best(sums: Floats, depth: int) -> Numbers:
    """Return the positions of the highest sums, highest first; ties keep their order."""
    places = np.arange(len(sums))
    if depth < len(sums):
        least = np.partition(sums, len(sums) - depth)[len(sums) - depth]
        places = np.flatnonzero(sums >= least - _NOISE)
    order = np.argsort(-_rounded(sums[places]), kind="stable")
    return places[order[:depth]]


def _rounded(numbers: Floats) -> NDArray[np.float64]:
    return np.round(numbers.astype(np.float64), _DIGITS)
