"""An index in memory, for processes that live long enough to build it: numpy does the work of SQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remit.search.documents import Columns, QueryTerms
from remit.search.ports import Selection, Vector
from remit.search.ranking import Fusion, Hit
from remit.search.word_index import Floats, Tokenizer, build_word_index

_DIGITS = 6  # beyond them, numbers differ with the order in which they were added up
_NOISE = 10.0**-_DIGITS
_FEW = 4  # tools are looked at alone when this many times as many are in the index

Entry = tuple[int, Columns, Vector | None]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Tools to search among, as rows of the arrays."""

    numbers: Numbers
    is_all: bool


class ArrayIndex:
    """Finds tools by words and by meaning; those of an `Index` in SQL, in the same order."""

    def __init__(self, entries: Iterable[Entry], fusion: Fusion) -> None:
        rows = sorted(entries, key=lambda entry: entry[0])
        self._fusion = fusion
        self._ids = np.array([row[0] for row in rows], np.int64)
        self._terms = Tokenizer()
        self._lexicon = build_word_index([row[1] for row in rows], self._terms)
        self._vectors, self._has_vector = _matrix([row[2] for row in rows])
        self._has_vectors = bool(self._has_vector.all())
        self._width = self._vectors.shape[1] * self._vectors.itemsize  # of a vector, in bytes

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def memory(self) -> int:
        """How many bytes the arrays take."""
        lexicon = self._lexicon
        both = (lexicon.terms, lexicon.pair_postings)
        arrays = (self._ids, self._vectors, lexicon.pairs)
        arrays += tuple(array for it in both for array in (it.starts, it.rows, it.impacts))
        return sum(array.nbytes for array in arrays)

    def select(self, documents: Iterable[int]) -> RowSelection:
        """Prepare to search among some documents; those that are not in the index are not found."""
        wanted = np.isin(self._ids, np.fromiter(documents, np.int64))
        return RowSelection(np.flatnonzero(wanted), bool(wanted.all()))

    def drop(self, among: Selection) -> None:
        """Forget a selection; it holds on to nothing here."""

    def hits(
        self, sought: QueryTerms, vectors: Sequence[Vector], among: Selection, depth: int
    ) -> Sequence[Hit]:
        """Find the best by the sum of both arms, equal ones by their document's id."""
        assert isinstance(among, RowSelection)  # noqa: S101 - a selection goes back to the index that made it
        by_words = self._by_words(sought, among)
        by_meaning = self._by_meaning(vectors[0] if vectors else None, among)
        sums, found = by_words, np.flatnonzero(by_words)
        if by_meaning is not None:
            sums, found = self._sums(by_words, by_meaning, among), self._comparable(by_words, among)
        best = _best(sums, depth) if found is None else found[_best(sums[found], depth)]
        rows = among.numbers[best]
        meanings = None if by_meaning is None else self._known(rows, by_meaning[best])
        return self._hits(rows, by_words[best], meanings, self._by_parts(vectors[1:], rows))

    def _by_words(self, sought: QueryTerms, among: RowSelection) -> Floats:
        totals = np.zeros(len(self), np.float32)
        words = self._terms(" ".join(sought.words))
        self._lexicon.add(words, [self._terms(pair) for pair in sought.pairs], totals)
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
        if not self._has_vectors:
            lacks = ~self._has_vector[among.numbers]
            sums[lacks] = by_words[lacks] * np.float32(self._fusion.lone_word_weight)
        return sums

    def _by_parts(self, vectors: Sequence[Vector], rows: Numbers) -> list[float | None] | None:
        if not vectors or not self._vectors.size or len(vectors[0]) != self._width:
            return None
        parts = np.stack([np.frombuffer(vector, "<f4") for vector in vectors])
        return self._known(rows, (self._vectors[rows] @ parts.T).max(axis=1))

    def _comparable(self, by_words: Floats, among: RowSelection) -> Numbers | None:
        """Name the places of tools that have a vector or share a word; None when those are all."""
        if self._has_vectors:
            return None
        return np.flatnonzero(self._has_vector[among.numbers] | (by_words > 0))

    def _known(self, rows: Numbers, meanings: Floats) -> list[float | None]:
        """Write meanings as hits have them: none where a document has no vector."""
        rounded: list[float | None] = _rounded(meanings).tolist()
        if self._has_vectors:
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
    """Put vectors below each other, with zeros for those that are missing or of another length."""
    width = max((len(vector) for vector in vectors if vector is not None), default=0)
    known = [vector if vector is not None and len(vector) == width else None for vector in vectors]
    data = b"".join(bytes(width) if vector is None else vector for vector in known)
    has_vector = np.array([vector is not None for vector in known], np.bool_)
    return np.frombuffer(data, "<f4").reshape(len(vectors), width // 4), has_vector


def _best(sums: Floats, depth: int) -> Numbers:
    """Name the places of the highest sums, highest first; equal ones in the order they are in."""
    places = np.arange(len(sums))
    if depth < len(sums):
        least = np.partition(sums, len(sums) - depth)[len(sums) - depth]
        places = np.flatnonzero(sums >= least - _NOISE)
    order = np.argsort(-_rounded(sums[places]), kind="stable")
    return places[order[:depth]]


def _rounded(numbers: Floats) -> NDArray[np.float64]:
    return np.round(numbers.astype(np.float64), _DIGITS)
