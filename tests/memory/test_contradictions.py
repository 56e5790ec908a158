"""Decisions on the same subject that cannot both hold."""

import pytest

from remit.memory.contradictions import contradict, contradicting, statement


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
