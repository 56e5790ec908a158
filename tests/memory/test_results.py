"""What the tools answer."""

from collections.abc import Sequence

import pytest

from remit.memory.artifacts import ArtifactKind, ArtifactStatus, StoredArtifact
from remit.memory.memory_scopes import MemoryScope
from remit.memory.results import (
    LIMITS,
    BatchSaveResult,
    FoundArtifact,
    SaveResult,
    SaveStatus,
    blocked,
    conflicts_among,
    limited,
    overall,
    shown,
)
from remit.memory.tool_permissions import ScopeRefusal

SAVED, PARTIAL, PENDING, FAILED, BLOCKED, DUPLICATE = (SaveResult(status=status) for status in SaveStatus)


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([SAVED, SAVED], "saved"),
        ([SAVED, DUPLICATE], "saved"),
        ([DUPLICATE, DUPLICATE], "duplicate_skip"),
        ([BLOCKED, BLOCKED], "blocked_scope"),
        ([PENDING], "pending_retry"),
        ([SAVED, PARTIAL], "partial"),
        ([SAVED, FAILED], "partial"),
        ([PENDING, FAILED], "partial"),
        ([BLOCKED, FAILED], "failed"),
        ([DUPLICATE, FAILED], "failed"),
    ],
)
def test_all_together_are_called_what_they_are(results: Sequence[SaveResult], status: str) -> None:
    assert overall(results) == status


def test_a_batch_that_was_blocked_is_not_saved() -> None:
    assert BatchSaveResult(session=BLOCKED, decisions=[BLOCKED], patterns=[]).overall == "blocked_scope"


def test_a_blocked_write_says_why_and_what_to_do() -> None:
    result = blocked(ScopeRefusal("no", "do that"))
    assert (result.status, result.message, result.next_step) == ("blocked_scope", "no", "do that")


def found(id: str, *, focus: str | None = None, project: str = "shop", title: str = "x") -> FoundArtifact:
    kept = StoredArtifact(
        id=id,
        kind=ArtifactKind.DECISION,
        project_id=project,
        focus=focus,
        content={"title": title},
        dated_at=0,
        created_at=0,
        updated_at=0,
    )
    return FoundArtifact(kept=kept)


def test_the_nearest_scope_comes_first_and_each_has_its_limit() -> None:
    many = [found(f"g{n}", project="") for n in range(6)]
    many += [found(f"p{n}") for n in range(20)]
    many += [found(f"f{n}", focus="auth") for n in range(11)]
    kept, truncated = limited(many, LIMITS)
    assert [item.kept.id[0] for item in kept] == ["f"] * 10 + ["p"] * 20 + ["g"] * 5
    assert truncated == [MemoryScope.FOCUS, MemoryScope.GLOBAL]


def test_contradictions_are_found_across_scopes_and_not_among_what_is_hidden() -> None:
    one = found("a", title="Use X for storage")
    other = found("b", project="", title="Use Y for storage")
    session = FoundArtifact(
        kept=StoredArtifact(
            id="s",
            kind=ArtifactKind.SESSION,
            project_id="shop",
            focus=None,
            content={},
            dated_at=0,
            created_at=0,
            updated_at=0,
        )
    )
    assert conflicts_among([one, session, other]) == [("a", "b")]
    hidden = StoredArtifact(
        id="c",
        kind=ArtifactKind.DECISION,
        project_id="shop",
        focus=None,
        content={"title": "Use Z for storage"},
        status=ArtifactStatus.SUPERSEDED,
        dated_at=0,
        created_at=0,
        updated_at=0,
    )
    assert conflicts_among([one, FoundArtifact(kept=hidden)]) == []


def test_an_item_has_its_fields_its_place_and_how_well_it_answers() -> None:
    item = shown(found("a", title="Use X"), 0)
    assert item == {
        "id": "a",
        "_label": "Decision",
        "title": "Use X",
        "scope": "project",
        "project_id": "shop",
        "focus": None,
        "created_at": 0,
        "updated_at": 0,
        "_freshness": "current",
    }
    assert shown(FoundArtifact(kept=found("a").kept, score=0.12345), 0)["_score"] == 0.123
