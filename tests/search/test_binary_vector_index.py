"""Codes in memory find what comparing them one by one finds."""

from hypothesis import given
from hypothesis import strategies as st

from remit.search.binary_vector_index import NumpySignIndex

Row = tuple[int, str, int, bytes]
CODES = st.binary(min_size=3, max_size=3)
HOMES, KINDS = st.integers(1, 3), st.sampled_from(["decision", "context"])
ROWS = st.lists(st.tuples(HOMES, KINDS, st.integers(1, 40), CODES), max_size=30, unique_by=lambda row: row[2])


def differing(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


@given(st.lists(ROWS, max_size=4), st.sets(st.integers(1, 40)), CODES, st.sets(HOMES), st.sets(KINDS))
def test_those_that_differ_least_are_found_in_the_homes_and_kinds_that_are_asked_for(
    batches: list[list[Row]],
    dropped: set[int],
    code: bytes,
    homes: set[int],
    kinds: set[str],
) -> None:
    held = NumpySignIndex(3)
    known: dict[int, Row] = {}
    for batch in batches:
        for home, kind, node, code in batch:
            held.put(home, [kind], [node], [code])
        known |= {row[2]: row for row in batch}
    assert held.drop(dropped) == any(node in known for node in dropped)
    inside = {
        node: row
        for node, row in known.items()
        if node not in dropped and row[0] in homes and row[1] in kinds
    }
    asked = list(homes), list(kinds)
    expected = sorted(inside, key=lambda node: (differing(inside[node][3], code), node))
    for most in (1, 3, 100):
        assert held.nearest(code, *asked, most) == expected[:most]
    assert sorted(held.among(range(1, 60), *asked)) == sorted(inside)


def test_what_is_dropped_makes_room_for_others() -> None:
    held = NumpySignIndex(1)
    for round in range(50):
        nodes = range(round * 10, round * 10 + 10)
        held.put(1, ["context"] * 10, nodes, [bytes([number]) for number in range(10)])
        held.drop(range(round * 10, round * 10 + 9))
    assert held.nearest(b"\x09", [1], ["context"], 100) == [round * 10 + 9 for round in range(50)]


def test_nothing_is_found_where_nothing_is_held() -> None:
    held = NumpySignIndex(32)
    assert held.nearest(bytes(32), [1], ["context"], 5) == []
    assert held.among([1, 2], [1], ["context"]) == []
    assert not held.drop([1])
