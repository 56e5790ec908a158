"""Bad input: an error that names the field and the rule."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from remit.errors import ArtifactError
from remit.memory.artifact_models import ARTIFACTS
from remit.memory.artifacts import SHAPES, Artifact, ArtifactKind, Relation
from remit.memory.memory_scopes import MemoryScope
from remit.memory.tool_models import (
    TOOL_MODELS,
    MemorySurface,
    RelatedEntity,
    RunHygiene,
    UpsertEntity,
    WriteArguments,
    example_call,
)
from remit.memory.tool_permissions import SAVING_TOOLS, TOOLS
from remit.memory.tool_schema import FILE, as_json
from remit.memory.value_checks import checked_id
from support.sandbox import Sandbox

SESSION = {
    "objective": "o",
    "actions_taken": ["a"],
    "decisions_made": [],
    "open_items": [],
    "next_actions": [],
    "save_scope": "project",
}
DECISION = {"title": "t", "rationale": "r", "owner": "ada", "date": "2026-11-15", "scope": "project"}
PATTERN = {"trigger": "t", "repeatable_steps": ["s"], "scope": "focus", "last_validated_at": None}
CONTEXT = {"content": "c", "topic": "t", "scope": "global"}
ENTITY = {"entity_name": "e", "fact": "f", "scope": "project"}


def reader(kind: ArtifactKind) -> Callable[[object], Artifact]:
    return lambda given: ARTIFACTS[kind].read(given, kind.value).artifact()


read_session = reader(ArtifactKind.SESSION)
read_decision = reader(ArtifactKind.DECISION)
read_pattern = reader(ArtifactKind.PATTERN)
read_context = reader(ArtifactKind.CONTEXT)
read_entity = reader(ArtifactKind.ENTITY)


def broken(read: Callable[[object], object], given: object) -> tuple[str, str, str]:
    with pytest.raises(ArtifactError) as caught:
        read(given)
    return caught.value.field, caught.value.rule, caught.value.got


def test_what_is_right_is_read_with_its_defaults() -> None:
    assert read_decision(DECISION).content["confidence"] == 1.0
    assert read_pattern(PATTERN).content["exclusions"] == []
    assert read_context(CONTEXT).content["relevance_score"] == 1.0
    assert read_session(SESSION).kind is ArtifactKind.SESSION
    entity = read_entity(ENTITY)
    assert (entity.name, entity.body, entity.scope) == ("e", "f", MemoryScope.PROJECT)


@pytest.mark.parametrize(
    ("read", "right"),
    [
        (read_session, SESSION),
        (read_decision, DECISION),
        (read_pattern, PATTERN),
        (read_context, CONTEXT),
        (read_entity, ENTITY),
    ],
)
def test_every_field_is_required_and_no_other_is_known(
    read: Callable[[object], Artifact], right: dict[str, Any]
) -> None:
    for field in right:
        where, rule, got = broken(read, {key: value for key, value in right.items() if key != field})
        assert (where.rpartition(".")[2], rule, got) == (field, "given", "missing")
    where, rule, got = broken(read, {**right, "foo": 1})
    assert (where.rpartition(".")[2], got) == ("foo", "unknown")
    assert broken(read, [])[1:] == ("an object", "a list")


@pytest.mark.parametrize(
    ("change", "field", "rule", "got"),
    [
        ({"confidence": 7}, "confidence", "a number from 0 to 1", "7"),
        ({"confidence": True}, "confidence", "a number from 0 to 1", "true"),
        ({"confidence": "high"}, "confidence", "a number from 0 to 1", '"high"'),
        ({"confidence": float("nan")}, "confidence", "a number from 0 to 1", "nan"),
        ({"date": "soon"}, "date", "a date as YYYY-MM-DD", '"soon"'),
        ({"date": "2026-02-31"}, "date", "a date as YYYY-MM-DD", '"2026-02-31"'),
        ({"date": 20261115}, "date", "a date as YYYY-MM-DD", "20261115"),
        ({"title": ""}, "title", "non-empty text", "empty"),
        ({"title": " \n"}, "title", "non-empty text", "empty"),
        ({"title": None}, "title", "a text", "null"),
        ({"title": {}}, "title", "a text", "an object"),
        ({"title": "x" * 301}, "title", "text of at most 300 characters", "301 characters long"),
        ({"title": "a\0b"}, "title", "valid text", "text with a null character or half a character"),
        ({"title": "\ud800"}, "title", "valid text", "text with a null character or half a character"),
        (
            {"rationale": "x" * 5_000_000},
            "rationale",
            "text of at most 20,000 characters",
            "5,000,000 characters long",
        ),
        ({"scope": "world"}, "scope", "one of focus, project, global", '"world"'),
        ({"scope": []}, "scope", "one of focus, project, global", "a list"),
    ],
)
def test_a_wrong_value_is_named_with_its_rule(
    change: dict[str, Any], field: str, rule: str, got: str
) -> None:
    assert broken(read_decision, {**DECISION, **change}) == (f"decision.{field}", rule, got)


def test_a_near_miss_is_hinted_at() -> None:
    with pytest.raises(ArtifactError) as caught:
        read_decision({**DECISION, "scope": "projects"})
    assert caught.value.hint == "did you mean `project`?"
    with pytest.raises(ArtifactError) as caught:
        read_decision({**DECISION, "titles": "x"})
    assert caught.value.hint == "did you mean `title`?"


def test_lists_are_lists_of_texts_and_not_endless() -> None:
    assert broken(read_session, {**SESSION, "open_items": "x"})[1:] == ("a list", '"x"')
    assert broken(read_session, {**SESSION, "open_items": ["x"] * 101})[1:] == (
        "a list of at most 100",
        "a list of 101",
    )
    assert broken(read_session, {**SESSION, "open_items": ["x", 1]})[0] == "session.open_items[1]"


@pytest.mark.parametrize("time", ["2026-11-15T10:00:00Z", "2026-11-15T10:00:00", "2026-11-15"])
def test_a_pattern_says_when_it_last_worked(time: str) -> None:
    assert read_pattern({**PATTERN, "last_validated_at": time}).dated_at is not None


@pytest.mark.parametrize("time", ["", "yesterday", 5, "2" * 500, [], "0001-01-01T00:00:00+23:00"])
def test_a_time_that_is_none_is_named(time: object) -> None:
    field, rule, _ = broken(read_pattern, {**PATTERN, "last_validated_at": time})
    assert (field, rule) == ("pattern.last_validated_at", "a time in ISO 8601, or null")


def test_a_pattern_that_was_never_tried_has_no_time() -> None:
    assert read_pattern(PATTERN).dated_at == 0


def test_a_secret_is_not_kept_and_not_repeated() -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    field, rule, got = broken(read_context, {**CONTEXT, "content": f"the token is {secret}"})
    assert (field, rule) == ("context.content", "a text without secrets")
    assert secret not in got
    assert broken(read_context, {**CONTEXT, "relevance_score": secret})[2] == "a secret"


def test_a_long_wrong_value_is_not_repeated() -> None:
    assert broken(read_decision, {**DECISION, "date": "x\n" * 100})[2] == '"' + "x?" * 20 + '..."'


@pytest.mark.parametrize(
    "id", ["", "a/b", "a\\b", "a\0b", "\ud800", "x" * 10_000, " a", "a\n", 7, None, [], {"a": 1}]
)
def test_an_id_that_is_none_is_named(id: object) -> None:
    with pytest.raises(ArtifactError) as caught:
        checked_id(id)
    assert caught.value.rule.startswith("a text of 1 to 200 printable characters")


def test_an_id_may_have_any_letters() -> None:
    assert checked_id("müller & co.") == "müller & co."


def test_relations_are_read() -> None:
    given = {"entity_id": "e", "relationship_type": "READS", "properties": {"a": 1, "b": "x", "c": None}}
    read = RelatedEntity.read(given).related()
    assert (read.target, read.relation, read.properties) == (
        "e",
        Relation.READS,
        {"a": 1, "b": "x", "c": None},
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"relationship_type": "READS"}, "related_entities[0].entity_id"),
        ({"entity_id": "e", "relationship_type": "LIKES"}, "related_entities[0].relationship_type"),
        ({"entity_id": "e", "relationship_type": "SUPERSEDES"}, "related_entities[0].relationship_type"),
        (
            {"entity_id": "e", "relationship_type": "READS", "properties": []},
            "related_entities[0].properties",
        ),
        (
            {"entity_id": "e", "relationship_type": "READS", "properties": {"a": {}}},
            "related_entities[0].properties.a",
        ),
        (
            {"entity_id": "e", "relationship_type": "READS", "properties": {"a": float("inf")}},
            "related_entities[0].properties.a",
        ),
        (
            {"entity_id": "e", "relationship_type": "READS", "properties": {"a": float("nan")}},
            "related_entities[0].properties.a",
        ),
        (
            {
                "entity_id": "e",
                "relationship_type": "READS",
                "properties": dict.fromkeys(map(str, range(101))),
            },
            "related_entities[0].properties",
        ),
    ],
)
def test_a_wrong_relation_is_named(given: object, field: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        UpsertEntity.read({"entity": ENTITY, "related_entities": [given]})
    assert caught.value.field == field


def test_numbers_and_flags_of_a_call_are_checked() -> None:
    assert MemorySurface.read({"query": "x"}).limit is None
    assert MemorySurface.read({"query": "x", "limit": 3}).limit == 3
    for wrong in (0, 51, True, "3", 2.5):
        with pytest.raises(ArtifactError, match="`limit` must be a whole number from 1 to 50"):
            MemorySurface.read({"query": "x", "limit": wrong})
    assert RunHygiene.read({"check_pending_only": True, "project_id": None}).check_pending_only is True
    with pytest.raises(ArtifactError, match="`check_pending_only` must be true or false"):
        RunHygiene.read({"check_pending_only": "yes"})
    with pytest.raises(ArtifactError, match="`arguments` must be an object"):
        RunHygiene.read(None)


def test_every_tool_and_every_kind_of_artifact_has_a_model() -> None:
    assert tuple(TOOL_MODELS) == TOOLS
    saving = [tool for tool, model in TOOL_MODELS.items() if issubclass(model, WriteArguments)]
    assert tuple(saving) == SAVING_TOOLS
    assert set(ARTIFACTS) == set(SHAPES) == set(ArtifactKind)


def test_the_definitions_in_the_file_are_those_of_the_models() -> None:
    """When this fails, run `python -m remit.memory.tool_schema`."""
    assert FILE.read_text(encoding="utf-8") == as_json()


def test_every_tool_has_an_example_that_works(sandbox: Sandbox) -> None:
    sandbox.project("shop")
    with sandbox.memory() as memory:
        memory.save("save_session", {**TOOL_MODELS["save_session"].example, "project_id": "shop-1"})
        for tool in TOOLS:
            name, _, arguments = example_call(tool, "shop-1").partition("(")
            answer = memory.call(name, json.loads(arguments.removesuffix(")")))
            assert str(getattr(answer, "status", "saved")) in ("saved", "duplicate_skip", "deleted"), tool
