"""The index: words as FTS5 scores them, and meaning."""

import math
import random
import re
import struct
import sys
from collections.abc import Sequence
from typing import Any

import apsw
import pytest

from remit.search import Columns, Fusion, Hit, Index, Vector, parse_query

_TEXT = """
    read reads reading file files folder list listing create created git commit commits branch naïve Über mail
    mails sending page pages x2 screenshot résumé データ 检索 ñandú database query queries
"""
TEXT = _TEXT.split()
HALF = Fusion(word_weight=0.5)


def fts5(documents: Sequence[Columns], query: Sequence[str]) -> dict[int, float]:
    if not query:
        return {}
    base: Any = apsw.Connection(":memory:")
    columns = "name, server, body, params, details"
    base.execute(f"create virtual table t using fts5 ({columns}, tokenize='porter unicode61')")
    rows = ((at, *texts[:5]) for at, texts in enumerate(documents))
    base.executemany(f"insert into t (rowid, {columns}) values (?, ?, ?, ?, ?, ?)", rows)  # noqa: S608
    match = " OR ".join(f'"{word}"' for word in query)
    found = base.execute("select rowid, -bm25(t, 3.0, 1.0, 1.0, 0.5, 0.25) from t where t match ?", (match,))
    return {int(row): float(score) for row, score in found}


def by_words(documents: Sequence[Columns], query: str) -> dict[int, float]:
    terms = parse_query(query)._replace(quote=(), similar=())
    found = Index(documents).hits(terms, [], HALF, len(documents) + 1)
    return {hit.document: hit.words for hit in found if hit.words}


@pytest.mark.parametrize("seed", range(5))
def test_words_and_half_of_their_pairs_score_as_in_fts5(seed: int) -> None:
    lots = random.Random(seed)  # noqa: S311 - the same documents each time

    def text(most: int) -> str:
        return " ".join(lots.choices(TEXT, k=lots.randint(0, most)))

    count = lots.choice([1, 2, 30, 200])
    documents = [Columns(text(3), text(2), text(40), text(6), text(20), text(9)) for _ in range(count)]
    for _ in range(10):
        query = " ".join(lots.choices([*TEXT, "unheard", "the", "of"], k=lots.randint(1, 8)))
        terms = parse_query(query)
        scores = fts5(documents, terms.words)
        for at, score in fts5(documents, terms.pairs).items():
            scores[at] = scores.get(at, 0.0) + score / 2
        none = dict.fromkeys(scores, 0.0)  # a score may be too small for six digits
        assert none | by_words(documents, query) == pytest.approx(scores, abs=1e-5)


def test_a_word_of_half_of_all_documents_still_scores_a_millionth() -> None:
    documents = [Columns("file"), Columns("file"), Columns("map")]
    assert by_words(documents, "file") == pytest.approx(fts5(documents, ["file"]), abs=1e-6)
    assert 0 < by_words(documents, "file")[0] < 1e-5


def test_a_word_of_a_query_is_one_term_in_any_script() -> None:
    letters = re.findall(r"[^\W_]", "".join(map(chr, range(sys.maxunicode + 1))))
    words = [f"a{letter}b".lower() for letter in letters[::50]]
    index = Index([Columns(word) for word in words])
    for at, word in enumerate(words):
        assert at in [hit.document for hit in index.hits(parse_query(word), [], HALF, 20)], word


def vector(degrees: float) -> Vector:
    return struct.pack("<2f", math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def hits(
    names: Sequence[str],
    angles: Sequence[float | None],
    query: str,
    *asked: float,
    fusion: Fusion = HALF,
    depth: int = 10,
    among: Sequence[int] | None = None,
) -> list[Hit]:
    vectors = [None if angle is None else vector(angle) for angle in angles]
    index = Index([Columns(name) for name in names], vectors)
    return index.hits(parse_query(query), [vector(angle) for angle in asked], fusion, depth, among)


def documents(found: Sequence[Hit]) -> list[int]:
    return [hit.document for hit in found]


def test_the_nearest_in_meaning_come_first_and_words_add_to_it() -> None:
    found = hits("abc", [80, 10, 40], "", 0)
    assert documents(found) == [1, 2, 0]
    assert [hit.meaning for hit in found] == pytest.approx(
        [math.cos(math.radians(angle)) for angle in (10, 40, 80)], abs=1e-6
    )
    named = hits(["mail", "file", "page", "git", "map", "near"], [60, 60, 60, 60, 60, 0], "file", 0)
    assert documents(named)[:2] == [1, 5]


def test_a_document_without_a_vector_is_found_by_its_words_alone() -> None:
    found = hits(["read file", "git", "map"], [None, None, 30], "file", 0)
    assert {hit.document: hit.meaning is None for hit in found} == {0: True, 2: False}
    weights = Fusion(word_weight=0.01, lone_word_weight=1.0), Fusion(word_weight=0.01, lone_word_weight=0.01)
    many = ["file", "file", *["map"] * 10]
    first = [hits(many, [None, 60, *[90] * 10], "file", 0, fusion=fusion)[0].document for fusion in weights]
    assert first == [0, 1]


def test_without_a_vector_of_the_query_or_of_its_length_only_words_count() -> None:
    assert documents(hits(["read file", "git"], [0, 0], "file")) == [0]
    index = Index([Columns("read file"), Columns("git")], [struct.pack("<3f", 1, 0, 0)] * 2)
    found = index.hits(parse_query("file"), [vector(0)], HALF, 9)
    assert [(hit.document, hit.meaning) for hit in found] == [(0, None)]


def test_ties_keep_their_order_at_every_depth_and_only_the_selected_are_found() -> None:
    for depth in (1, 7, 50, 60):
        found = hits(["file"] * 50, [30] * 50, "file", 10, depth=depth)
        assert documents(found) == list(range(min(depth, 50)))
    for among in (range(90, 93), range(20, 99)):
        near = hits(["file"] * 100, [at / 10 for at in range(100)], "file", 0, depth=2, among=among)
        assert documents(near) == [among[0], among[1]]
    assert hits([], [], "file", 0) == []


def test_the_nearest_of_a_querys_parts_is_given_with_the_whole() -> None:
    found = {hit.document: hit.part for hit in hits("abc", [90, None, 10], "b", 0, 80, 30)}
    near, far = math.cos(math.radians(10)), math.cos(math.radians(20))
    assert found == {0: pytest.approx(near, abs=1e-6), 1: None, 2: pytest.approx(far, abs=1e-6)}


def test_a_document_that_contains_every_word_of_a_quotation_counts_three_times() -> None:
    bodies = ["shows the state of a branch", "shows the state", "deletes a branch", "adds a tag", "a b c d"]
    index = Index([Columns("", body=body) for body in bodies])
    quoted, plain = (
        {hit.document: hit.words for hit in index.hits(parse_query(query), [], HALF, 9)}
        for query in ("the state of a branch", "the state of a branch xylophone")
    )
    assert quoted[0] == pytest.approx(3 * plain[0], rel=1e-5)
    assert {**quoted, 0: 0} == {**plain, 0: 0}


def test_the_best_with_a_telling_word_are_found_at_any_depth() -> None:
    names, angles = [*["map"] * 20, "xylophone"], [*[5] * 20, 120]
    found = hits(names, angles, "xylophone on the map", 0, fusion=Fusion(word_weight=0.001), depth=3)
    assert documents(found)[-1] == 20
    assert [hit.telling > 0 for hit in found] == [False, False, False, True]


def test_scores_are_probabilities_that_grow_with_words_and_meaning() -> None:
    found = [Hit(1, 0.0, 0.1), Hit(2, 5.0, 0.1), Hit(3, 5.0, 0.8), Hit(4, 900.0, 1.0), Hit(5, 0.0, None)]
    scores = Fusion().scores(found)
    assert 0 <= scores[5] < scores[1] < scores[2] < scores[3] < scores[4] <= 1
    alone, beside = (
        Fusion().scores([Hit(1, 8.0, 0.5)])[1],
        Fusion().scores([Hit(1, 8.0, 0.5), Hit(2, 40.0, 0.5)])[1],
    )
    assert beside < alone / 2
    part = Fusion(part_weight=0.5)
    assert part.by_meaning(Hit(1, 0, 0.4, part=0.7)) == pytest.approx((0.4 + 0.35) / 1.5)
