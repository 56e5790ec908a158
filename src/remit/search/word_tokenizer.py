"""Splits texts into terms as SQLite's FTS5 does, for indexes elsewhere: in memory and in PostgreSQL."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import apsw

from remit.search.documents import PAIR_WEIGHT, QueryTerms

_LONGEST = 500  # bytes of a term; a pair of them fits into an index of PostgreSQL, which takes 2,704 bytes


class Tokenizer:
    """Splits text into terms with FTS5's own tokenizer, `porter unicode61`, and cuts very long ones.

    A text without spaces, such as one in Chinese, is a single term.
    """

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        self._tokenizer = self._connection.fts5_tokenizer("porter", ["unicode61"])

    def __call__(self, text: str) -> list[str]:
        data = text.encode("utf-8", "replace")
        found = self._tokenizer(
            data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return list(map(_cut, cast(list[str], found)))  # without offsets and synonyms, each is a plain string


class TextTerms(NamedTuple):
    """The terms of a text, or of a query."""

    weights: dict[str, float]  # of terms, and of pairs of adjacent ones with a space between them
    size: int  # number of terms


def text_terms(
    columns: Iterable[tuple[str, float]], tokenizer: Tokenizer, *, has_pairs: bool = True
) -> TextTerms:
    """Add up the weights of the columns that contain each term."""
    weights: dict[str, float] = {}
    size = 0
    for text, weight in columns:
        found = tokenizer(text) if text else []
        size += len(found)
        for term in (*found, *(map(_pair, pairwise(found)) if has_pairs else ())):
            weights[term] = weights.get(term, 0.0) + weight
    return TextTerms(weights, size)


def query_weights(query_terms: QueryTerms, tokenizer: Tokenizer) -> dict[str, float]:
    """Return the weight of each term and pair of a query; a repeated term counts again."""
    weights: dict[str, float] = {}
    for term in tokenizer(" ".join(query_terms.words)):
        weights[term] = weights.get(term, 0.0) + 1.0
    for pair in map(tokenizer, query_terms.pairs):
        if len(pair) == 2:  # a word may have no term, or several
            weights[_pair(pair)] = weights.get(_pair(pair), 0.0) + PAIR_WEIGHT
    return weights


def _cut(term: str) -> str:
    is_short = len(term) * 4 <= _LONGEST  # UTF-8 takes 4 bytes at most
    return term if is_short else term.encode()[:_LONGEST].decode("utf-8", "ignore")


def _pair(terms: Sequence[str]) -> str:
    return " ".join(terms)
