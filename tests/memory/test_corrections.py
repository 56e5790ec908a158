"""What a person does with an artifact: confirm it, correct it, let it expire."""

import pytest

from remit.errors import ArtifactError
from remit.memory.artifacts import ArtifactKind, StoredArtifact
from remit.memory.project_memory import Memory
from support.memory_calls import decide, entity, pattern, start
from support.sandbox import Sandbox


@pytest.fixture
def memory(sandbox: Sandbox) -> Memory:
    sandbox.project("shop")
    opened = start(sandbox.memory(), "shop")
    decide(opened, "shop", "Use SQLite")
    return opened


def found(
    memory: Memory, kind: ArtifactKind = ArtifactKind.DECISION, *, everything: bool = False
) -> list[StoredArtifact]:
    return [each for each in memory.artifacts("shop", 50, everything=everything) if each.kind is kind]


def test_an_expired_artifact_is_not_recalled_until_it_is_confirmed(memory: Memory) -> None:
    (kept,) = found(memory)
    memory.corrections.expire(kept)
    assert found(memory) == []
    (expired,) = found(memory, everything=True)
    memory.corrections.confirm(expired)
    assert [each.id for each in found(memory)] == [kept.id]


def test_a_confirmed_pattern_counts_as_validated_today(memory: Memory) -> None:
    memory.save("save_pattern", {"pattern": pattern(), "project_id": "shop"})
    (kept,) = found(memory, ArtifactKind.PATTERN)
    memory.corrections.confirm(kept)
    (confirmed,) = found(memory, ArtifactKind.PATTERN)
    assert confirmed.content["last_validated_at"] == "1970-01-01"  # the day of the clock
    assert confirmed.dated_at >= kept.dated_at


def test_a_correction_replaces_an_artifact_and_keeps_the_former_text(memory: Memory) -> None:
    (kept,) = found(memory)
    id = memory.corrections.correct(kept, {"title": "Use PostgreSQL"})
    (corrected,) = found(memory)
    assert (corrected.id, corrected.content["title"]) == (id, "Use PostgreSQL")
    assert corrected.content["rationale"] == kept.content["rationale"]
    assert [each.content["title"] for each in memory.corrections.history(corrected)] == ["Use SQLite"]
    again = memory.corrections.correct(corrected, {"title": "Use DuckDB"})
    latest = memory.find(again, "shop")
    titles = [each.content["title"] for each in memory.corrections.history(latest)]
    assert titles == ["Use PostgreSQL", "Use SQLite"]


def test_a_correction_that_changes_nothing_adds_nothing(memory: Memory) -> None:
    (kept,) = found(memory)
    assert memory.corrections.correct(kept, {"title": "Use SQLite"}) == kept.id
    assert len(found(memory, everything=True)) == 1


def test_an_entity_is_corrected_in_place(memory: Memory) -> None:
    memory.save("upsert_entity_with_deps", {"entity": entity("Till", "It is red"), "project_id": "shop"})
    (kept,) = found(memory, ArtifactKind.ENTITY)
    assert memory.corrections.correct(kept, {"fact": "It is blue"}) == kept.id
    assert memory.find(kept.id, "shop").content["fact"] == "It is blue"


@pytest.mark.parametrize(
    "content",
    [
        {"title": ""},
        {"title": ["a"]},
        {"other": "x"},
        {"title": "the token is ghp_" + "a1B2c3D4e5" * 4},
    ],
    ids=str,
)
def test_a_correction_keeps_the_rules_of_memory(memory: Memory, content: dict[str, object]) -> None:
    (kept,) = found(memory)
    with pytest.raises(ArtifactError):
        memory.corrections.correct(kept, content)
    assert found(memory) == [kept]
