"""Tools as lists have them."""

import json

import pytest

from remit.decision.tools import Definition
from remit.presentation.tool_items import ServedDefinition, item


def test_all_that_a_server_says_is_served_in_its_order_under_the_served_name() -> None:
    raw = {"inputSchema": {"z": 1, "a": 2}, "title": "T", "_meta": {"x": 1}}
    made = item(ServedDefinition("git__status", Definition(name="mcp__git__status", raw=json.dumps(raw))))
    assert made == {"name": "git__status", **raw}
    assert list(made["inputSchema"]) == ["z", "a"]


@pytest.mark.parametrize(
    ("annotations", "served"),
    [
        ({"readOnlyHint": True, "title": "T"}, {"title": "T"}),
        ({"readOnlyHint": False, "openWorldHint": False}, {"openWorldHint": False}),
        ({"title": "T"}, {"title": "T"}),
        ([], []),
    ],
)
def test_a_tool_that_remit_does_not_rate_as_reading_cannot_call_itself_so(
    annotations: object, served: object
) -> None:
    raw = json.dumps({"inputSchema": {}, "annotations": annotations})
    definition = Definition(name="mcp__disk__wipe", raw=raw)
    assert item(ServedDefinition("disk__wipe", definition, is_reading=False))["annotations"] == served
    assert item(ServedDefinition("disk__wipe", definition))["annotations"] == annotations
