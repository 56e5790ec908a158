"""An index in memory: it scores words as SQLite's FTS5 does, and compares vectors."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import NamedTuple, cast

import apsw
import numpy as np
from numpy.typing import NDArray

from remit.search.documents import Columns, QueryTerms
from remit.search.models import Vector
from remit.search.ranking import Form, Fusion, Hit

COLUMN_WEIGHTS = (3.0, 1.0, 1.0, 0.5, 0.25)  # name, server, body, params, details
_SERVER = 1  # the column of the server's name
PAIR_WEIGHT = 0.5  # weight of two adjacent words, relative to one word
QUOTE_WEIGHT = 3.0  # weight of BM25 in a document that contains every word of a query
RARE = 10  # a word is telling if at most every tenth document contains it

_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of FTS5's bm25()
_SHIFT = 32  # bits per term number
_RAREST = 1e-6  # weight of a term that occurs in at least half of all documents, as in FTS5
_DIGITS = 6  # more digits would depend on the order of addition
_NOISE = 10.0**-_DIGITS
_BITS = 62  # words that a number can tell apart
_FEW = 4  # compare only the selection if the index is at least this many times larger

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
Rows = NDArray[np.int32]
Tokenizer = Callable[[str], list[str]]


class Index:
    """Finds documents by words and by meaning; the `document` of a hit is the position of its columns."""

    def __init__(self, columns: Sequence[Columns], vectors: Sequence[Vector | None] | None = None) -> None:
        self._size = len(columns)
        self._vectors, self._has_vector = _matrix(vectors or [None] * self._size)
        self._words = _Numbered()
        used, counts, keywords, at = array("i"), array("i"), array("i"), array("i")
        plain = tokenizers()[0]
        for row, texts in enumerate(columns):
            for text in texts[: len(COLUMN_WEIGHTS)]:
                words = self._words.all(plain(text)) if text else ()
                used.extend(words)
                counts.append(len(words))
            words = self._words.all(plain(texts.keywords)) if texts.keywords else ()
            keywords.extend(words)
            at.extend([row] * len(words))
        self._stems = _Numbered()
        lengths = np.frombuffer(counts, np.int32).reshape(self._size, len(COLUMN_WEIGHTS))
        cells = np.repeat(np.arange(lengths.size), lengths.ravel())
        rows: Rows = (cells // len(COLUMN_WEIGHTS)).astype(np.int32)
        weights = np.array(COLUMN_WEIGHTS, np.float32)[cells % len(COLUMN_WEIGHTS)]
        stem_of = np.array(self._stems.all(_stems(list(self._words)).values()), np.int64)
        stems = stem_of[np.frombuffer(used, np.int32)]
        norms = _norms(lengths.sum(axis=1))
        self._postings = _postings(stems, len(self._stems), rows, weights, norms)
        has_next = cells[:-1] == cells[1:]  # the next term is in the same column of the same document
        pairs, pair_ids = np.unique(((stems[:-1] << _SHIFT) | stems[1:])[has_next], return_inverse=True)
        self._pairs: Numbers = pairs
        self._pair_postings = _postings(
            pair_ids, len(pairs), rows[:-1][has_next], weights[:-1][has_next], norms
        )
        order = np.argsort(keyword_stems := stem_of[np.frombuffer(keywords, np.int32)], kind="stable")
        self._keyword_rows = np.frombuffer(at, np.int32)[order]
        self._keyword_starts = np.searchsorted(keyword_stems[order], np.arange(len(self._stems) + 1))
        is_own = cells % len(COLUMN_WEIGHTS) != _SERVER  # what a tool says itself, not the name of its server
        self._spelled = np.concatenate(
            (np.frombuffer(used, np.int32)[is_own], np.frombuffer(keywords, np.int32))
        )
        self._spelled_rows = np.concatenate((rows[is_own], np.frombuffer(at, np.int32)))

    def __len__(self) -> int:
        return self._size

    @property
    def has_vectors(self) -> bool:
        """Whether any document has a vector."""
        return bool(self._has_vector.any())

    def contains(self, word: str) -> bool:
        """Return whether a document contains a word, in whatever form."""
        plain, stemmed = tokenizers()
        return any(it in self._words for it in plain(word)) or any(it in self._stems for it in stemmed(word))

    def hits(
        self,
        terms: QueryTerms,
        vectors: Sequence[Vector],
        fusion: Fusion,
        depth: int,
        among: Sequence[int] | None = None,
    ) -> list[Hit]:
        """Find the documents with the highest scores, and the best of those that contain a telling word.

        Ties keep the order of the documents. The first vector is the query's, the others are its parts'.
        """
        chosen = None if among is None else np.array(among, np.int64)
        rows = np.arange(self._size) if chosen is None else chosen
        by_words = self._by_words(terms)[rows]
        telling, forms = self._keywords(terms.words, chosen)
        telling, forms = telling[rows], forms[rows]
        meanings = self._by_meaning(vectors[0], chosen) if vectors else None
        has_vector = self._has_vector[rows]
        sums, is_hit = by_words, (by_words > 0) | (telling > 0)
        if meanings is not None:
            lone = by_words * np.float32(fusion.lone_word_weight)
            sums = np.where(has_vector, meanings + by_words * np.float32(fusion.word_weight), lone)
            is_hit |= has_vector
        best = _best(sums, depth, is_hit)
        if forms.any():  # a single word
            best = np.union1d(best, _best(sums, depth, forms == Form.STEM))
            best = np.union1d(best, _best(sums, depth, forms == Form.SPELLED))
        missing = int(np.bitwise_or.reduce(telling)) & ~int(np.bitwise_or.reduce(telling[best]))
        while missing:
            best = np.union1d(best, first := _best(sums, 1, telling & missing > 0))
            missing &= ~int(telling[first[0]])
        best = best[np.argsort(-_rounded(sums[best]), kind="stable")]
        hits = zip(
            rows[best].tolist(),
            _rounded(by_words[best]).tolist(),
            self._known(rows[best], None if meanings is None else meanings[best]),
            self._known(rows[best], self._by_parts(vectors[1:], rows[best])),
            telling[best].tolist(),
            forms[best].tolist(),
            strict=True,
        )
        return [Hit(*values) for values in hits]

    def _by_words(self, terms: QueryTerms) -> Floats:
        texts = (*terms.words, *terms.pairs, *terms.similar, *terms.quote)
        stems = _stems(list(dict.fromkeys(" ".join(texts).split())))
        totals = np.zeros(self._size, np.float32)
        pairs: dict[int, float] = {}
        weighted = (((*terms.words, *terms.similar), 1.0), (terms.pairs, PAIR_WEIGHT))
        for text, weight in ((text, weight) for texts, weight in weighted for text in texts):
            match [self._stems.get(stems[word]) for word in text.split()]:
                case [int(number)]:
                    self._postings.add(number, weight, totals)
                case [int(first), int(second)]:
                    pair = (first << _SHIFT) | second
                    pairs[pair] = pairs.get(pair, 0.0) + weight
                case _:
                    pass
        if pairs and len(self._pairs):
            wanted = np.fromiter(pairs, np.int64)
            at = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
            known = self._pairs[at] == wanted
            for number, pair in zip(at[known].tolist(), wanted[known].tolist(), strict=True):
                self._pair_postings.add(number, pairs[pair], totals)
        if terms.quote:
            totals[self._containing([stems[word] for word in terms.quote])] *= np.float32(QUOTE_WEIGHT)
        return totals

    def _containing(self, stems: Sequence[str]) -> Rows:
        """Return the documents that contain every one of the words."""
        rarest, *others = sorted(map(self._rows_of, stems), key=len)
        for rows in others:
            if len(rarest):
                at = np.minimum(np.searchsorted(rows, rarest), len(rows) - 1)
                rarest = rarest[rows[at] == rarest]
        return rarest

    def _rows_of(self, stem: str) -> Rows:
        number = self._stems.get(stem)
        return np.empty(0, np.int32) if number is None else self._postings.of(number)[0]

    def _keywords(self, words: Sequence[str], among: Numbers | None) -> tuple[Numbers, Numbers]:
        """Return which telling words each document contains, as bits, and for a single word in which form."""
        telling, forms = np.zeros(self._size, np.int64), np.zeros(self._size, np.int64)
        stems = list(dict.fromkeys(_stems(words).values()))
        visible = None if among is None else np.isin(np.arange(self._size), among)
        most = (self._size if among is None else len(among)) // RARE
        for bit, stem in enumerate(stems[:_BITS]):
            if (number := self._stems.get(stem)) is None:
                continue
            keywords = self._keyword_rows[self._keyword_starts[number] : self._keyword_starts[number + 1]]
            rows = self._postings.of(number)[0]
            rows = np.union1d(rows, keywords) if len(keywords) else rows
            if len(stems) == 1 or (len(rows) if visible is None else visible[rows].sum()) <= most:
                telling[rows] |= 1 << bit
        if len(stems) == 1:
            forms[telling > 0] = Form.STEM
            number = self._words.get("".join(tokenizers()[0](words[0])))
            spelled = self._spelled_rows[self._spelled == (-1 if number is None else number)]
            telling[spelled], forms[spelled] = 1, Form.SPELLED
        return telling, forms

    def _by_meaning(self, vector: Vector, among: Numbers | None) -> Floats | None:
        query = np.frombuffer(vector, "<f4")
        if not self._vectors.size or len(query) != self._vectors.shape[1]:  # of another model
            return None
        if among is not None and len(among) * _FEW < self._size:
            return np.vecdot(self._vectors[among], query)
        # Unlike `@`, it uses one thread: on busy cores, waiting for the others takes milliseconds.
        cosines = np.vecdot(self._vectors, query)
        return cosines if among is None else cosines[among]

    def _by_parts(self, vectors: Sequence[Vector], rows: Numbers) -> Floats | None:
        parts = [np.frombuffer(vector, "<f4") for vector in vectors]
        known = self._vectors[rows]
        if not parts or not self._vectors.size or len(parts[0]) != known.shape[1]:
            return None
        return np.max([np.vecdot(known, part) for part in parts], axis=0)

    def _known(self, rows: Numbers, cosines: Floats | None) -> list[float | None]:
        """Round cosines, with None for a document without a vector."""
        if cosines is None:
            return [None] * len(rows)
        pairs = zip(_rounded(cosines).tolist(), self._has_vector[rows].tolist(), strict=True)
        return [cosine if has_vector else None for cosine, has_vector in pairs]


class _Numbered(dict[str, int]):
    """Numbers terms in order of first use."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number

    def all(self, terms: Iterable[str]) -> list[int]:
        """Return the numbers of terms."""
        return list(map(self.__getitem__, terms))


class _Postings(NamedTuple):
    """The documents of each numbered term, with the score that the term adds to each."""

    starts: Numbers  # where each term starts in the next two arrays, and the end of the last
    rows: Rows
    impacts: Floats

    def of(self, number: int) -> tuple[Rows, Floats]:
        """Return the documents of a term, each once, and their scores."""
        part = slice(self.starts[number], self.starts[number + 1])
        return self.rows[part], self.impacts[part]

    def add(self, number: int, weight: float, totals: Floats) -> None:
        """Add the scores of a term to its documents' totals."""
        rows, impacts = self.of(number)
        totals[rows] += np.float32(weight) * impacts


def _postings(
    terms: Numbers, count: int, rows: Rows, weights: Floats, norms: NDArray[np.floating]
) -> _Postings:
    """Add up the occurrences of terms: their rarity, times BM25's saturation for frequent ones."""
    size = max(len(norms), 1)
    keys = terms * size + rows
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    often = np.add.reduceat(weights, firsts, dtype=np.float64) if len(firsts) else np.zeros(0)
    numbers, where = np.divmod(keys[firsts], size)
    documents = np.bincount(numbers, minlength=count)
    rarity = np.maximum(np.log((size - documents + 0.5) / (documents + 0.5)), _RAREST)
    impacts = rarity[numbers] * often * (_SATURATION + 1) / (often + norms[where])
    starts = np.concatenate(([0], np.cumsum(documents)))
    return _Postings(starts, where.astype(np.int32), impacts.astype(np.float32))


def _norms(lengths: NDArray[np.integer]) -> NDArray[np.floating]:
    """Return BM25's penalty for each document's length."""
    mean = max(float(lengths.mean()) if len(lengths) else 0.0, 1e-9)
    return _SATURATION * (1 - _LENGTH + _LENGTH * lengths / mean)


@cache
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    """Open FTS5's tokenizers: for words as they are spelled, and for their stems.

    A text without spaces, such as one in Chinese, is a single term.
    """
    connection = apsw.Connection(":memory:")

    def opened(name: str, *options: str) -> Tokenizer:
        tokenizer = connection.fts5_tokenizer(name, list(options))
        terms = partial(tokenizer, flags=apsw.FTS5_TOKENIZE_DOCUMENT, locale=None)

        def tokenize(text: str) -> list[str]:
            found = terms(text.encode("utf-8", "replace"), include_offsets=False, include_colocated=False)
            return cast("list[str]", found)

        return tokenize

    return opened("unicode61"), opened("porter", "unicode61")


def _stems(words: Sequence[str]) -> dict[str, str]:
    """Map the words of a query to their stems; each is one term."""
    stems = tokenizers()[1](" ".join(words))
    if len(stems) != len(words):
        stems = ["".join(tokenizers()[1](word)) for word in words]
    return dict(zip(words, stems, strict=True))


def _matrix(vectors: Sequence[Vector | None]) -> tuple[Floats, NDArray[np.bool_]]:
    """Stack vectors, with zeros for missing ones and those of a different length."""
    width = max((len(vector) for vector in vectors if vector is not None), default=0)
    known = [vector if vector is not None and len(vector) == width else None for vector in vectors]
    data = b"".join(bytes(width) if vector is None else vector for vector in known)
    has_vector = np.array([vector is not None for vector in known], np.bool_)
    return np.frombuffer(data, "<f4").reshape(len(vectors), width // 4), has_vector


def _best(sums: Floats, depth: int, among: NDArray[np.bool_]) -> Numbers:
    """Return the positions of the highest sums, highest first; ties keep their order."""
    at = np.flatnonzero(among)
    if depth < len(at):
        least = np.partition(sums[at], len(at) - depth)[len(at) - depth]
        at = at[sums[at] >= least - _NOISE]
    return at[np.argsort(-_rounded(sums[at]), kind="stable")[:depth]]


def _rounded(numbers: Floats) -> NDArray[np.float64]:
    return np.round(numbers.astype(np.float64), _DIGITS)
