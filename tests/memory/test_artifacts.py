"""What memory keeps of each kind."""

import pytest

from remit.memory.artifacts import (
    DAY,
    ArtifactKind,
    Content,
    Freshness,
    StoredArtifact,
    artifact,
    body_of,
    content_json,
    fingerprint,
    freshness,
    is_hygiene_due,
    moment,
    name_of,
)
from remit.memory.memory_scopes import MemoryScope


@pytest.mark.parametrize(
    ("kind", "content", "name", "body", "subject"),
    [
        (
            ArtifactKind.SESSION,
            {"objective": "o", "actions_taken": ["a"], "next_actions": ["n"]},
            "o",
            "a\nn",
            "",
        ),
        (ArtifactKind.DECISION, {"title": "Use X for Y", "rationale": "r"}, "Use X for Y", "r", "y"),
        (
            ArtifactKind.PATTERN,
            {"trigger": "t", "repeatable_steps": ["s"], "exclusions": ["e"]},
            "t",
            "s\ne",
            "",
        ),
        (ArtifactKind.CONTEXT, {"topic": "t", "content": "c"}, "t", "c", ""),
        (ArtifactKind.ENTITY, {"entity_name": "The  Store", "fact": "f"}, "The  Store", "f", "the store"),
        (ArtifactKind.OBSERVATION, {"type": "change", "text": "x"}, "change", "x", "change"),
    ],
)
def test_each_kind_has_a_name_and_words(
    kind: ArtifactKind, content: Content, name: str, body: str, subject: str
) -> None:
    made = artifact(kind, MemoryScope.PROJECT, content)
    assert (made.name, made.body, made.subject) == (name, body, subject)
    assert (name_of(kind, content), body_of(kind, content)) == (name, body)


def test_a_fingerprint_looks_at_words_and_not_at_their_spelling() -> None:
    def decision(title: str, rationale: str) -> str:
        return fingerprint(
            artifact(ArtifactKind.DECISION, MemoryScope.PROJECT, {"title": title, "rationale": rationale})
        )

    assert decision("Use X", "it is good") == decision("use  x", "It is\ngood")
    assert decision("Use X", "it is good") != decision("Use X it", "is good")


@pytest.mark.parametrize(
    ("project_id", "focus", "scope"),
    [
        ("", None, MemoryScope.GLOBAL),
        ("shop", None, MemoryScope.PROJECT),
        ("shop", "auth", MemoryScope.FOCUS),
    ],
)
def test_where_an_artifact_belongs_says_how_far_it_is_seen(
    project_id: str, focus: str | None, scope: MemoryScope
) -> None:
    kept = StoredArtifact(
        id="x",
        kind=ArtifactKind.ENTITY,
        project_id=project_id,
        focus=focus,
        content={},
        dated_at=0,
        created_at=0,
        updated_at=0,
    )
    assert (kept.scope, kept.label) == (scope, "EntityFact")


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert moment("1970-01-01T00:00:01") == moment("1970-01-01T01:00:01+01:00") == 1000


def test_a_content_is_written_in_one_way() -> None:
    assert content_json({"b": "ü", "a": [1.0]}) == '{"b":"ü","a":[1.0]}'


@pytest.mark.parametrize(
    ("days", "level"),
    [(-1, "current"), (0, "current"), (7, "current"), (8, "recent"), (30, "recent"), (31, "stale")],
)
def test_freshness_goes_by_days(days: int, level: str) -> None:
    assert freshness(100 * DAY - days * DAY, 100 * DAY) is Freshness(level)


def test_hygiene_is_due_when_it_never_was_or_long_ago() -> None:
    assert is_hygiene_due(None, 5)
    assert is_hygiene_due(DAY, 32 * DAY)
    assert not is_hygiene_due(DAY, 31 * DAY)
