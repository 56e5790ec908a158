"""What says the same as something that is known."""

from hypothesis import given
from hypothesis import strategies as st

from remit.memory.similarity import (
    IS_LIKE,
    DedupOutcome,
    NearestDecision,
    can_be_like,
    likeness,
    nearest,
    outcome,
    telling_words,
    words_of,
)

WORDS = st.frozensets(st.text("abc", min_size=1, max_size=4), max_size=12)


def test_only_words_that_say_something_count() -> None:
    assert words_of("Use the SQLite, and not Redis!") == {"use", "sqlite", "redis"}
    assert words_of("of the") == {"of", "the"}
    assert words_of("") == frozenset()


@given(WORDS, WORDS)
def test_what_is_alike_shares_a_telling_word(one: frozenset[str], other: frozenset[str]) -> None:
    if likeness(one, other) >= IS_LIKE:
        assert set(telling_words(one)) & set(telling_words(other))


@given(WORDS, WORDS)
def test_what_is_alike_is_not_ruled_out_by_what_its_telling_words_share(
    one: frozenset[str], other: frozenset[str]
) -> None:
    telling = set(telling_words(other))
    if likeness(one, other) >= IS_LIKE:
        assert can_be_like(len(one), len(telling & set(telling_words(one))), len(telling))


def test_what_shares_too_few_telling_words_is_ruled_out() -> None:
    assert not can_be_like(30, 4, 16)
    assert can_be_like(30, 5, 16)
    assert not can_be_like(30, 1, 100)


def test_nothing_is_not_like_nothing() -> None:
    assert likeness(frozenset(), frozenset()) == 0.0


def test_the_most_like_is_found_if_it_is_like_enough() -> None:
    words = frozenset("abcd")
    known = [("far", frozenset("xyz")), ("near", frozenset("abcx")), ("nearer", frozenset("abcde"))]
    assert nearest(words, known) == NearestDecision("nearer", 0.8)
    assert nearest(words, known[:1]) is None
    assert nearest(words, []) is None


def test_what_becomes_of_a_decision_depends_on_how_like_it_is() -> None:
    assert outcome(None) is DedupOutcome.NEW
    assert outcome(NearestDecision("x", 0.5)) is DedupOutcome.MANUAL_REVIEW
    assert outcome(NearestDecision("x", 0.69)) is DedupOutcome.MANUAL_REVIEW
    assert outcome(NearestDecision("x", 0.7)) is DedupOutcome.SUPERSEDE
