"""Tools as lists have them."""

import json

from remit.decision.tools import Definition
from remit.presentation.tool_items import item


def test_all_that_a_server_says_is_served_in_its_order_under_the_served_name() -> None:
    raw = {"inputSchema": {"z": 1, "a": 2}, "title": "T", "_meta": {"x": 1}}
    made = item("git__status", Definition(name="mcp__git__status", raw=json.dumps(raw)))
    assert made == {"name": "git__status", **raw}
    assert list(made["inputSchema"]) == ["z", "a"]


def test_what_was_kept_before_is_served_from_its_parts() -> None:
    definition = Definition(
        name="mcp__git__status",
        title="T",
        description="D",
        input_schema='{"type": "object"}',
        output_schema='{"type": "object"}',
        annotations='{"readOnlyHint": true}',
    )
    assert item("git__status", definition) == {
        "name": "git__status",
        "title": "T",
        "description": "D",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
    assert item("x", Definition(name="mcp__a__x")) == {
        "name": "x",
        "inputSchema": {"type": "object", "properties": {}},
    }
