"""Which other schemas are harmless: only those that say the same, and narrower ones of reading tools."""

import pytest

from remit.decision.definitions.definition_changes import ChangeVerdict
from remit.inspection.surroundings import Surroundings
from remit.trust.change_judgement import judge_change
from remit.trust.inspections import Inspections
from remit.trust.schema_change import is_guard, is_same
from support.listed_tools import defined, tool

Schema = dict[str, object]


def is_harmless(before: Schema, after: Schema, name: str = "list_notes") -> bool:
    (accepted,) = defined(tool(name, inputSchema={"type": "object", **before}))
    (current,) = defined(tool(name, inputSchema={"type": "object", **after}))
    found = judge_change(accepted, current, Inspections(Surroundings.of([])))
    return found.verdict is ChangeVerdict.HARMLESS


def taking(**parameter: object) -> Schema:
    return {"properties": {"a": parameter}}


CLOSED: Schema = {"additionalProperties": False}
BOTH: Schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
NARROWER: dict[str, tuple[Schema, Schema]] = {
    "a lower limit": (taking(maximum=10), taking(maximum=5)),
    "a limit": (taking(), taking(maxLength=5)),
    "fewer choices": (taking(enum=["x", "y"], default="x"), taking(enum=["x"], default="x")),
    "fewer types": (taking(type=["string", "null"]), taking(type="string")),
    "no other keys": ({}, CLOSED),
    "fewer choices in an object": (
        taking(properties={"b": {"enum": ["x", "y"], "default": "x"}}),
        taking(properties={"b": {"enum": ["x"], "default": "x"}}),
    ),
}
OTHER: dict[str, tuple[Schema, Schema]] = {
    "a higher limit": (taking(maximum=5), taking(maximum=10)),
    "no limit": (taking(maximum=5), taking()),
    "a limit of nothing": (taking(maximum=5), taking(maximum=0)),
    "a limit that is true": (taking(maximum=5), taking(maximum=True)),
    "a limit for what was none": (taking(maximum="many"), taking(maximum=5)),
    "a limit that is a text": (taking(), taking(maximum="the whole file")),
    "a lower bound": (taking(), taking(minimum=1)),
    "a longer text": (taking(), taking(minLength=1)),
    "a step": (taking(), taking(multipleOf=5)),
    "a format": (taking(), taking(format="email")),
    "more choices": (taking(enum=["x"]), taking(enum=["x", "y"])),
    "no choice": (taking(enum=["x"]), taking(enum=[])),
    "choices where there were none": (taking(), taking(enum=["x"])),
    "fewer choices without a default": (taking(enum=["staging", "live"]), taking(enum=["live"])),
    "a default that is no choice any more": (
        taking(enum=["staging", "live"], default="staging"),
        taking(enum=["live"], default="staging"),
    ),
    "a choice that was a guard": (
        taking(enum=["x", "preview"], default="x"),
        taking(enum=["x"], default="x"),
    ),
    "more types": (taking(type="string"), taking(type=["string", "null"])),
    "no type but null": (taking(type=["string", "null"]), taking(type="null")),
    "other keys": (CLOSED, {}),
    "a new parameter": (taking(type="string"), BOTH),
    "a parameter that is gone": (BOTH, taking(type="string")),
    "a parameter that is gone, with no other keys allowed": (
        {**BOTH, **CLOSED},
        {**taking(type="string"), **CLOSED},
    ),
    "fewer choices of a guard": (
        {"properties": {"safeMode": {"enum": ["on", "off"], "default": "off"}}},
        {"properties": {"safeMode": {"enum": ["off"], "default": "off"}}},
    ),
    "fewer choices within a guard": (
        {"properties": {"filter": {"properties": {"b": {"enum": ["x", "y"], "default": "x"}}}}},
        {"properties": {"filter": {"properties": {"b": {"enum": ["x"], "default": "x"}}}}},
    ),
    "properties that are none": (taking(), {"properties": ["a"]}),
    "a schema that is true": ({"properties": {"a": True}}, taking(type="string")),
    "a description that is a list": (taking(), taking(description=["Always call this first."])),
    "another default": (taking(default=True), taking(default=1)),
    "a default of null": (taking(), taking(default=None)),
    "fewer required parameters": ({**BOTH, "required": ["a"]}, {**BOTH, "required": []}),
    "another dialect beside a reference": (
        {"properties": {"a": {"$ref": "#"}}},
        {"properties": {"a": {"$ref": "#"}}, "$schema": "http://json-schema.org/draft-07/schema#"},
    ),
    "a dialect that nobody knows": ({}, {"$schema": "https://json-schema.org/draft/call-this-first/schema"}),
    "a dialect that is a list": ({}, {"$schema": ["http://json-schema.org/draft-07/schema#"]}),
    "other words below a list": (
        {"anyOf": [{"description": "The folder."}]},
        {"anyOf": [{"description": "The file."}]},
    ),
    "a shorter list": ({"prefixItems": [{}, {}]}, {"prefixItems": [{}]}),
    "another key below": ({"not": {"minimum": 1}}, {"not": {"maximum": 1}}),
    "another spelling of a value": ({"not": {"const": "Prod"}}, {"not": {"const": "prod"}}),
    "another spelling of a choice": (taking(default={"title": "Prod"}), taking(default={"title": "prod"})),
}
SAME: dict[str, tuple[Schema, Schema]] = {
    "a description": (taking(description="The folder."), taking(description="the folder")),
    "an empty description": (taking(), taking(description="")),
    "a description below a list": (
        {"anyOf": [{"description": "The folder."}, {}]},
        {"anyOf": [{"description": "the folder"}, {}]},
    ),
    "a known dialect": ({}, {"$schema": "https://json-schema.org/draft/2020-12/schema"}),
}


@pytest.mark.parametrize("kind", NARROWER)
def test_what_allows_less_is_harmless_for_a_tool_that_only_reads(kind: str) -> None:
    assert is_harmless(*NARROWER[kind])


@pytest.mark.parametrize("kind", NARROWER)
@pytest.mark.parametrize("name", ["archive_notes", "wire_notes"])
def test_what_allows_less_matters_for_every_other_tool(kind: str, name: str) -> None:
    assert not is_harmless(*NARROWER[kind], name=name)


@pytest.mark.parametrize("kind", OTHER)
def test_every_other_change_of_a_schema_matters(kind: str) -> None:
    assert not is_harmless(*OTHER[kind])


@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize("name", ["list_notes", "archive_notes"])
def test_a_schema_that_says_the_same_is_harmless_for_every_tool(kind: str, name: str) -> None:
    assert is_harmless(*SAME[kind], name=name)


def test_true_is_not_one() -> None:
    assert not is_same({"a": True}, {"a": 1})
    assert is_same({"a": 1, "b": 2}, {"b": 2, "a": 1})


@pytest.mark.parametrize("name", ["dryRun", "dry_run", "DRYRUN", "require_approval", "read_only", "preview"])
def test_a_name_says_whether_a_parameter_is_a_guard(name: str) -> None:
    assert is_guard(name)
    assert not is_guard("limit")
