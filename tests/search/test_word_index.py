"""Words in memory score as FTS5 scores them."""

import random
import re
import sys
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np
import pytest

from remit.search.documents import PAIR_WEIGHT, Columns, parse_query, query_words
from remit.search.word_index import build_word_index
from remit.search.word_tokenizer import Tokenizer

TEXT = """
    read reads reading file files folder list listing create created git commit commits branch naïve Über mail
    mails sending page pages x2 screenshot résumé データ 检索 ñandú database query queries
"""
WORDS = TEXT.split()


def in_sql(documents: Sequence[Columns], query: str) -> dict[int, float]:
    """What SQLite says of the words, and half of what it says of those that stand side by side."""
    query_terms = parse_query(query)
    scores = fts5(documents, query_terms.words)
    for at, score in fts5(documents, query_terms.pairs).items():
        scores[at] = scores.get(at, 0.0) + PAIR_WEIGHT * score
    return scores


def fts5(documents: Sequence[Columns], query: Sequence[str]) -> dict[int, float]:
    base: Any = apsw.Connection(":memory:")
    base.execute(
        "create virtual table t using fts5 (name, server, body, params, details, tokenize='porter unicode61')"
    )
    base.executemany(
        "insert into t (rowid, name, server, body, params, details) values (?, ?, ?, ?, ?, ?)",
        ((at, *texts) for at, texts in enumerate(documents)),
    )
    if not query:
        return {}
    match = " OR ".join(f'"{word}"' for word in query)
    found = base.execute("select rowid, -bm25(t, 3.0, 1.0, 1.0, 0.5, 0.25) from t where t match ?", (match,))
    return {int(row): float(score) for row, score in found}


def in_memory(documents: Sequence[Columns], query: str) -> dict[int, float]:
    terms, query_terms = Tokenizer(), parse_query(query)
    totals = np.zeros(len(documents), np.float32)
    build_word_index(documents, terms).add(
        terms(" ".join(query_terms.words)), map(terms, query_terms.pairs), totals
    )
    return {int(at): float(totals[at]) for at in np.flatnonzero(totals)}


def some_documents(lots: random.Random, count: int) -> list[Columns]:
    def text(most: int) -> str:
        return " ".join(lots.choices(WORDS, k=lots.randint(0, most)))

    return [Columns(text(3), text(2), text(40), text(6), text(20)) for _ in range(count)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_every_score_is_that_of_fts5(seed: int) -> None:
    lots = random.Random(seed)  # noqa: S311 - the same documents each time
    documents = some_documents(lots, lots.choice([1, 2, 30, 200]))
    for _ in range(10):
        query = " ".join(lots.choices([*WORDS, "unheard", "the", "of"], k=lots.randint(1, 8)))
        assert in_memory(documents, query) == pytest.approx(in_sql(documents, query), abs=1e-5)


def test_a_word_counts_once_for_each_form_it_is_asked_in() -> None:
    documents = [Columns("list files", "", "", "", ""), *[Columns("other", "", "", "", "")] * 9]
    once, twice = in_memory(documents, "file"), in_memory(documents, "file files")
    assert twice[0] == pytest.approx(2 * once[0])
    assert twice == pytest.approx(in_sql(documents, "file files"), abs=1e-5)


def test_words_that_stand_side_by_side_count_more_in_that_order_and_column() -> None:
    others = [Columns("other", "", "", "", "")] * 9
    together, turned, apart = (
        Columns("git log", "", "", "", ""),
        Columns("log git", "", "", "", ""),
        Columns("git", "log", "", "", ""),
    )
    scores = in_memory([together, turned, apart, *others], "git log")
    assert scores[0] > scores[1] > scores[2]


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert in_memory([], "file") == {}
    assert in_memory([Columns("", "", "", "", "")], "file") == {}
    assert in_memory([Columns("file", "", "", "", "")], "") == {}


@pytest.mark.long
def test_a_word_of_a_query_is_one_term_in_whatever_script() -> None:
    letters = re.findall(r"\w", "".join(map(chr, range(sys.maxunicode + 1))))
    words = [word for letter in letters for word in query_words(f"a{letter}b")]
    assert len(Tokenizer()(" ".join(words))) == len(words)  # each has letters, so none is no term


def test_half_a_character_is_no_error() -> None:
    assert Tokenizer()("read \ud800 file") == ["read", "file"]


def test_a_very_long_term_is_cut_between_characters() -> None:
    assert Tokenizer()(" ".join(("read", "a" * 600, "\u4e2d" * 600))) == ["read", "a" * 500, "\u4e2d" * 166]
