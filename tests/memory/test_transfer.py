"""Memory as lines of JSON."""

import json
from typing import Any

import pytest

from remit.errors import ArtifactError
from remit.memory.artifacts import (
    ArtifactKind,
    ArtifactStatus,
    EdgeRecord,
    FocusRecord,
    ProjectRecord,
    Record,
    Relation,
    StoredArtifact,
)
from remit.memory.transfer import read_record, record_line


def kept(
    kind: ArtifactKind, content: dict[str, Any], project_id: str = "shop", focus: str | None = None
) -> StoredArtifact:
    return StoredArtifact(
        id=f"{kind}-1",
        kind=kind,
        project_id=project_id,
        focus=focus,
        content=content,
        status=ArtifactStatus.HELD,
        dated_at=1,
        created_at=2,
        updated_at=3,
    )


LISTS = {"actions_taken": ["a"], "decisions_made": [], "open_items": [], "next_actions": []}
DECISION = {"title": "t", "rationale": "r", "owner": "ada", "date": "2026-11-15", "confidence": 0.5}
RECORDS: list[Record] = [
    ProjectRecord("shop", 1, 2),
    FocusRecord("shop", "auth", 3),
    EdgeRecord("a", Relation.READS, "b", "shop", {"x": 1}, 4),
    EdgeRecord("a", Relation.READS, "b", "", {}, 4),
    kept(ArtifactKind.SESSION, {"objective": "ü\u2028x", **LISTS}),
    kept(ArtifactKind.DECISION, DECISION, focus="auth"),
    kept(ArtifactKind.DECISION, DECISION, project_id=""),
    kept(
        ArtifactKind.PATTERN,
        {"trigger": "t", "repeatable_steps": [], "exclusions": [], "last_validated_at": "2026-11-15"},
    ),
    kept(ArtifactKind.CONTEXT, {"content": "c", "topic": "t", "relevance_score": 1}),
    kept(ArtifactKind.ENTITY, {"entity_name": "e", "fact": "f"}),
    kept(ArtifactKind.OBSERVATION, {"type": "change", "text": "x"}),
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_read_back_as_it_was_written(record: Record) -> None:
    line = record_line(record)
    assert "\n" not in line
    assert read_record(line) == record
    assert record_line(read_record(line)) == line


def changed(record: Record, **changes: object) -> str:
    ((sort, content),) = json.loads(record_line(record)).items()
    return json.dumps({sort: {**content, **changes}})


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", "line"),
        ("[" * 100_000, "line"),
        ("7", "arguments"),
        ("{}", "artifact"),
        ('{"project": {}, "focus": {}}', "artifact"),
        ('{"thing": {}}', "thing"),
        ('{"project": {"created_at": 1, "checked_at": 1}}', "project.project_id"),
        (changed(RECORDS[0], project_id="a/b"), "project.project_id"),
        (changed(RECORDS[0], created_at=-1), "project.created_at"),
        (changed(RECORDS[2], relation="LIKES"), "edge.relation"),
        (changed(RECORDS[2], properties=[]), "edge.properties"),
        (changed(RECORDS[5], content=[]), "decision.title"),
        (changed(RECORDS[5], content={**DECISION, "confidence": 7}), "decision.confidence"),
        (changed(RECORDS[5], kind="thought"), "artifact.kind"),
        (changed(RECORDS[5], project_id=""), "artifact.focus"),
        (changed(RECORDS[10], content={"type": "guess", "text": "x"}), "observation.type"),
    ],
)
def test_a_line_that_is_none_is_named(line: str, field: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_record(line)
    assert caught.value.field == field
