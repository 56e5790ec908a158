from collections.abc import Mapping

import pytest

from remit.approvals.call_binding import bind, digest_of_arguments
from remit.decision.tools import Definition
from remit.errors import ApprovalError


def test_arguments_are_told_apart_by_what_they_say_and_not_by_their_order() -> None:
    assert digest_of_arguments({"a": 1, "b": [2]}) == digest_of_arguments({"b": [2], "a": 1})
    different: list[Mapping[str, object]] = [{}, {"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.5}, {"a": [1]}]
    assert len({digest_of_arguments(each) for each in different}) == len(different)


def test_arguments_that_json_cannot_write_cannot_be_approved() -> None:
    circle: dict[str, object] = {}
    circle["self"] = circle
    for bad in ({"a": float("nan")}, {"a": object()}, circle):
        with pytest.raises(ApprovalError, match="JSON"):
            digest_of_arguments(bad)


def test_definitions_are_told_apart_by_all_that_they_say() -> None:
    plain = Definition(name="mcp__git__push")
    changed = [
        None,
        plain,
        Definition(name="mcp__git__push", description="Pushes."),
        Definition(name="mcp__git__push", annotations='{"readOnlyHint": true}'),
        Definition(name="mcp__git__push", input_schema="{}"),
    ]
    bound = {bind("claude-code", "mcp__git__push", each, {}) for each in (*changed, "version-1", "version-2")}
    assert len(bound) == len(changed) + 2
