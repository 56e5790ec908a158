"""Whether decisions contradict or repeat each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.memory.decision_comparison import (
    IS_LIKE,
    DedupOutcome,
    NearestDecision,
    can_be_like,
    contradict,
    contradicting,
    likeness,
    nearest,
    outcome,
    statement,
    telling_words,
    words_of,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use SQLite for storage", "Use PostgreSQL for storage"),
        ("Use SQLite for storage", "Do not use SQLite for storage"),
        ("Use SQLite for storage", "Avoid SQLite for storage"),
        ("Use SQLite for storage", "Use PostgreSQL instead of SQLite for storage"),
        ("Use tabs", "Never use tabs"),
        ("Don't commit generated files", "Commit generated files"),
        ("Storage: SQLite", "Use PostgreSQL for storage"),
        ("Keep logs for 30 days", "Keep logs for 90 days"),
        ("Limit requests to 100 per minute", "Limit request to 200 per minute"),
    ],
)
def test_these_contradict_each_other(one: str, other: str) -> None:
    assert contradict(statement(one), statement(other))
    assert contradict(statement(other), statement(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use SQLite for storage", "Use SQLite for storage"),
        ("Use SQLite for storage", "Use SQLite with WAL for storage"),
        ("Use SQLite for storage", "Use Redis for caching"),
        ("Use SQLite for storage", "Do not use Redis for storage"),
        ("Do not use Redis for caching", "Do not use Memcached for caching"),
        ("Use it for them", "Never for us"),
        ("Keep logs for 30 days", "Keep logs"),
        ("Name things: well", "Name: "),
    ],
)
def test_these_can_both_hold(one: str, other: str) -> None:
    assert not contradict(statement(one), statement(other))
    assert not contradict(statement(other), statement(one))


def test_the_contradicting_pairs_among_many_are_found() -> None:
    titles = [
        ("a", "Use SQLite for storage"),
        ("b", "Use tabs"),
        ("c", "Use PostgreSQL for storage"),
        ("d", "Use spaces"),
    ]
    assert contradicting(titles) == [("a", "c")]


def test_decisions_on_the_same_have_the_same_key() -> None:
    assert statement("Use X for log files").key == statement("Log file: Y").key == "file log"


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
