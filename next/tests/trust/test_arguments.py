"""What is wrong with the arguments of a call that a person would be asked about."""

from typing import Any

import pytest

from remit.trust import argument_mistake

NOTHING: dict[str, Any] = {}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "integer"},
        "note": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "code": {"type": "string", "pattern": "^[A-Z]+$"},
    },
    "required": ["amount"],
    "additionalProperties": False,
    "$defs": {"Line": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}},
}


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (NOTHING, "the parameter `amount` is missing"),
        ({"amount": "many"}, "`amount`: 'many' is not of type 'integer'"),
        ({"amount": 1, "tip": 2}, "there is no parameter `tip`"),
        ({"amount": 1, "lines": [NOTHING]}, "the parameter `lines[0].item` is missing"),
        ({"amount": 1, "lines": [{"item": 3}]}, "`lines[0].item`: 3 is not of type 'string'"),
    ],
)
def test_a_mistake_is_named(arguments: dict[str, Any], mistake: str) -> None:
    assert argument_mistake(SCHEMA, arguments) == mistake


@pytest.mark.parametrize(
    "arguments",
    [
        {"amount": 1},
        {"amount": "5", "note": "7", "lines": '[{"item": "pear"}]'},  # frameworks convert them
        {"amount": 1, "code": "lower"},  # a pattern may take forever
        {"amount": object()},  # a framework has converted it
    ],
)
def test_what_may_run_is_no_mistake(arguments: dict[str, Any]) -> None:
    assert argument_mistake(SCHEMA, arguments) is None


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "nonsense"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#"},
        {"type": "object", "patternProperties": {"(a+)+$": {}}, "required": ["amount"]},
        {"type": "object", "required": ["amount"], "allOf": [{"$ref": "#/$defs/x"}] * 30},
    ],
)
def test_a_schema_that_cannot_be_used_checks_nothing(schema: dict[str, Any]) -> None:
    assert argument_mistake(schema, {"a" * 40: "!"}) is None


def test_a_value_as_long_as_can_be_makes_no_long_reason() -> None:
    assert len(argument_mistake(SCHEMA, {"amount": "x" * 10_000}) or "") <= 300
