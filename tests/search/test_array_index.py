"""The index in memory: the best of some documents, by words and by meaning."""

import math
import struct

import pytest

from remit.search.array_index import ArrayIndex
from remit.search.documents import Columns, parse_query
from remit.search.ports import IndexEntry, Vector
from remit.search.ranking import Fusion, Hit

HALF = Fusion(word_weight=0.5)


def vector(degrees: float) -> Vector:
    return struct.pack("<2f", math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def entry(document: int, name: str, degrees: float | None = None) -> IndexEntry:
    return IndexEntry(document, Columns(name, "", "", "", ""), None if degrees is None else vector(degrees))


def hits(index: ArrayIndex, words: str, degrees: float | None, among: range, depth: int = 10) -> list[Hit]:
    asked = [] if degrees is None else [vector(degrees)]
    return list(index.hits(parse_query(words), asked, index.select(among), depth))


def documents(found: list[Hit]) -> list[int]:
    return [hit.document_id for hit in found]


def test_the_nearest_in_meaning_come_first() -> None:
    index = ArrayIndex([entry(7, "a", 80), entry(8, "b", 10), entry(9, "c", 40)], HALF)
    found = hits(index, "", 0, range(10))
    assert documents(found) == [8, 9, 7]
    assert [hit.meaning for hit in found] == pytest.approx(
        [math.cos(math.radians(angle)) for angle in (10, 40, 80)], abs=1e-6
    )


def test_words_and_meaning_add_up() -> None:
    tools = [entry(at, name, 60) for at, name in enumerate(["mail", "file", "page", "git", "map"])]
    found = hits(ArrayIndex([*tools, entry(5, "near", 0)], HALF), "file", 0, range(10))
    assert documents(found)[:2] == [1, 5]
    assert (found[0].words > 0, found[1].words) == (True, 0.0)


def test_without_a_vector_of_the_query_only_those_with_its_words_are_found() -> None:
    found = hits(ArrayIndex([entry(1, "read file", 0), entry(2, "git", 0)], HALF), "file", None, range(10))
    assert [(hit.document_id, hit.meaning) for hit in found] == [(1, None)]


def test_a_document_without_vector_is_found_by_its_words_alone() -> None:
    index = ArrayIndex([entry(1, "read file"), entry(2, "git"), entry(3, "map", 30)], HALF)
    found = {hit.document_id: hit.meaning for hit in hits(index, "file", 0, range(10))}
    assert found == {1: None, 3: pytest.approx(math.cos(math.radians(30)), abs=1e-6)}
    assert documents(hits(ArrayIndex([entry(1, "file")], HALF), "file", 0, range(10))) == [1]


def test_only_those_that_are_selected_are_found_however_near_the_others_are() -> None:
    index = ArrayIndex([entry(at, "file", at / 10) for at in range(100)], HALF)
    assert documents(hits(index, "file", 0, range(90, 93), depth=2)) == [90, 91]
    assert documents(hits(index, "file", 0, range(50, 99), depth=2)) == [50, 51]
    assert documents(hits(index, "file", None, range(50, 52), depth=2)) == [50, 51]
    assert hits(index, "file", 0, range(1000, 1010)) == []


def test_equal_ones_come_in_the_order_of_their_ids_whatever_the_depth() -> None:
    index = ArrayIndex([entry(at, "file", 30) for at in reversed(range(50))], HALF)
    for depth in (1, 7, 50, 60):
        assert documents(hits(index, "file", 10, range(50), depth)) == list(range(min(depth, 50)))


def test_as_many_are_found_as_asked_for_and_no_more() -> None:
    index = ArrayIndex([entry(at, "file", at) for at in range(50)], HALF)
    assert [len(hits(index, "file", 0, range(50), depth)) for depth in (1, 20, 50, 80)] == [1, 20, 50, 50]


def test_an_index_of_nothing_finds_nothing() -> None:
    assert hits(ArrayIndex([], HALF), "file", 0, range(10)) == []


def test_it_tells_what_it_holds() -> None:
    index = ArrayIndex([entry(1, "file", 0), entry(2, "map", 0)], HALF)
    assert len(index) == 2
    assert index.memory > 2 * 2 * 4


def test_words_count_more_where_there_is_no_vector() -> None:
    others = [entry(at, "map", 90) for at in range(10, 20)]
    tools = [entry(1, "file"), entry(2, "file", 60), *others]
    by_words = Fusion(word_weight=0.01, lone_word_weight=1.0)
    by_meaning = Fusion(word_weight=0.01, lone_word_weight=0.01)
    assert [
        documents(hits(ArrayIndex(tools, fusion), "file", 0, range(20)))[0]
        for fusion in (by_words, by_meaning)
    ] == [1, 2]


def test_the_nearest_of_a_querys_parts_is_told_beside_the_whole() -> None:
    index = ArrayIndex([entry(1, "a", 90), entry(2, "b"), entry(3, "c", 10)], HALF)
    whole, *parts = vector(0), vector(80), vector(30)
    found = {
        hit.document_id: hit.part
        for hit in index.hits(parse_query("b"), [whole, *parts], index.select(range(9)), 9)
    }
    near, far = math.cos(math.radians(10)), math.cos(math.radians(20))
    assert found == {1: pytest.approx(near, abs=1e-6), 2: None, 3: pytest.approx(far, abs=1e-6)}
    assert hits(index, "b", None, range(9))[0].part is None


def test_a_document_that_contains_every_word_of_a_long_query_counts_its_words_more() -> None:
    described = (
        "shows the state of a branch",
        "shows the state",
        "deletes a branch",
        "adds a tag",
        "a b c d",
    )
    index = ArrayIndex(
        [IndexEntry(at, Columns("", "", body, "", ""), None) for at, body in enumerate(described)], HALF
    )
    whole, unknown = "the state of a branch", "the state of a branch xylophone"
    quoted, plain = (
        {hit.document_id: hit.words for hit in hits(index, asked, None, range(9))}
        for asked in (whole, unknown)
    )
    assert quoted[0] == pytest.approx(3 * plain[0], rel=1e-5)
    assert {at: words for at, words in quoted.items() if at} == {
        at: words for at, words in plain.items() if at
    }
