"""What the tools accept, and how they say what they do not."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

import pytest

from remit.errors import ArtifactError
from remit.memory import offer
from support.memory_calls import new_memory

_SECRET = "ghp_" + "a1B2c3D4e5" * 4


def _schemas() -> dict[str, dict[str, Any]]:
    definitions = (json.loads(definition.raw) for definition in offer().tools)
    return {definition["name"]: definition["inputSchema"] for definition in definitions}


def _refused(tool: str, **arguments: Any) -> ArtifactError:
    with pytest.raises(ArtifactError) as caught:
        new_memory().call(tool, {"project_id": "app", **arguments})
    return caught.value


def test_the_tools_are_the_documents_seven_and_one_search() -> None:
    assert list(_schemas()) == [
        "get_scope_state",
        "retrieve_context",
        "memory_surface",
        "save_session",
        "save_decision",
        "save_pattern",
        "save_context",
        "upsert_entity_with_deps",
    ]


def test_only_what_the_document_requires_is_required() -> None:
    required = {tool: [*chain(*_values(schema, "required"))] for tool, schema in _schemas().items()}
    assert {tool: sorted(names) for tool, names in required.items()} == {
        "get_scope_state": [],
        "retrieve_context": [],
        "memory_surface": ["query"],
        "save_session": ["session"],
        "save_decision": ["decision", "title"],
        "save_pattern": ["pattern", "trigger"],
        "save_context": ["content", "context"],
        "upsert_entity_with_deps": ["entity", "entity_id", "entity_name"],
    }
    assert _schemas()["save_context"]["properties"]["context"]["properties"]["scope"]["default"] == "project"


def test_schemas_have_no_references_titles_and_nulls() -> None:
    schemas = _schemas()
    assert not list(_values(schemas, "$ref")) + list(_values(schemas, "anyOf"))
    assert "null" not in json.dumps(schemas)
    assert [type(title) for title in _values(schemas, "title")] == [dict]  # a decision's own


def test_every_tool_has_an_example_that_works() -> None:
    for tool in _schemas():
        hint = _refused(tool, nothing=1).hint or ""
        call = hint.partition(f"A call that works: {tool}(")[2].removesuffix(")")
        answer = new_memory().call(tool, json.loads(call))
        assert answer.get("status", "saved") == "saved", tool


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "decision: Field required"),
        ({"decision": {}}, "decision.title: Field required"),
        ({"decision": {"title": " "}}, "decision.title: String should have at least 1 character"),
        ({"decision": {"title": "x" * 301}}, "decision.title: String should have at most 300 characters"),
        ({"decision": {"title": "x", "date": "soon"}}, "decision.date: Date should be written as YYYY-MM-DD"),
        (
            {"decision": {"title": "x", "scope": "global"}},
            "decision.scope: Input should be 'focus' or 'project'",
        ),
        (
            {"decision": {"title": "x", "confidence": True}},
            "decision.confidence: Input should be a valid number",
        ),
        ({"decision": {"title": "x"}, "supersedes": [1]}, "supersedes.0: Input should be a valid string"),
        ({"decision": {"title": "\ud800"}}, "decision.title: Input should be a valid string"),
        (
            {"decision": {"title": "x"}, "project_id": " app"},
            "project_id: Id should have printable characters, without outer spaces",
        ),
        (
            {"decision": {"title": "x"}, "focus": "a\nb"},
            "focus: Id should have printable characters, without outer spaces",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_path_and_rule(arguments: dict[str, Any], message: str) -> None:
    assert str(_refused("save_decision", **arguments)).startswith(message)


def test_a_time_is_written_in_iso_8601() -> None:
    pattern = {"trigger": "x", "last_validated_at": "yesterday"}
    message = str(_refused("save_pattern", pattern=pattern))
    assert message == "pattern.last_validated_at: Time should be written in ISO 8601"


def test_a_misspelled_name_is_hinted_at_before_what_it_leaves_out() -> None:
    error = _refused("save_decision", decision={"titel": "Use X"})
    assert str(error).startswith("decision.titel: ")
    assert (error.hint or "").startswith("did you mean `title`?")
    related = [{"entity_id": "till", "relationship_typ": "READS"}]
    error = _refused("upsert_entity_with_deps", entity={"entity_name": "till"}, related_entities=related)
    assert (error.hint or "").startswith("did you mean `relationship_type`?")


def test_a_secret_is_refused_wherever_it_is_and_not_repeated() -> None:
    entity = {"entity_name": "till", "fact": "sells"}
    related = [{"entity_id": "till", "properties": {"key": f"is {_SECRET}"}}]
    error = _refused("upsert_entity_with_deps", entity=entity, related_entities=related)
    assert str(error) == "related_entities.0.properties.key: Contains a secret"
    assert _SECRET not in str(_refused("save_context", context={"content": f"it is {_SECRET}"}))
    assert _SECRET not in str(_refused("save_decision", decision={"title": "x", "date": _SECRET}))


def _values(schema: object, key: str) -> Iterator[Any]:
    if isinstance(schema, dict):
        for name, value in cast("dict[str, object]", schema).items():
            if name == key:
                yield value
            yield from _values(value, key)
    elif isinstance(schema, list):
        for item in cast("list[object]", schema):
            yield from _values(item, key)
