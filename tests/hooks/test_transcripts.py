"""What a client wrote down of calls."""

import json
from typing import Any

import pytest

from remit.hooks.transcripts import read_calls

AT = "2026-11-15T20:28:47.306Z"
MOMENT = 1794774527306


def line(kind: str, *blocks: object, **fields: object) -> bytes:
    entry = {"type": kind, "timestamp": AT, "message": {"content": list(blocks)}, **fields}
    return json.dumps(entry).encode() + b"\n"


def call(id: str = "t1", name: str = "Read") -> bytes:
    return line("assistant", {"type": "tool_use", "id": id, "name": name, "input": {"q": 1}})


def answer(id: str = "t1", *, is_error: bool = False, **fields: object) -> bytes:
    block = {"type": "tool_result", "tool_use_id": id, "content": "3 rows", "is_error": is_error}
    return line("user", block, **fields)


ACCEPTED: dict[str, Any] = {"permissionDecision": {"decision": "accept"}}


def test_a_call_with_its_answer_is_the_event_that_a_hook_would_be_told() -> None:
    told = read_calls([call(), answer(toolUseResult={"rows": 3})], 0)
    assert told.events == [
        (
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "Read",
                "tool_input": {"q": 1},
                "tool_use_id": "t1",
                "tool_response": {"rows": 3},
            },
            MOMENT,
        )
    ]
    assert told.length == len(call()) + len(answer(toolUseResult={"rows": 3}))


def test_a_call_that_was_made_and_failed_is_a_failure() -> None:
    ((fields, _),) = read_calls([call(), answer(is_error=True, **ACCEPTED)], 0).events
    assert (fields["hook_event_name"], fields["error"]) == ("PostToolUseFailure", "3 rows")


@pytest.mark.parametrize(
    "fields",
    [
        {"permissionDecision": {"decision": "reject"}},
        {**ACCEPTED, "toolDenialKind": "permission-rule"},
        {},  # there is no such tool, say
    ],
)
def test_a_call_that_was_refused_is_none(fields: dict[str, Any]) -> None:
    assert read_calls([call(), answer(is_error=True, **fields)], 0).events == []


def test_a_call_without_an_answer_is_read_again_later() -> None:
    first = [call("t1"), answer("t1")]
    told = read_calls([*first, call("t2"), b'{"half'], 0)
    assert len(told.events) == 1
    assert told.length == sum(map(len, first))


def test_an_answer_to_what_is_not_known_and_what_is_too_old_are_passed_over() -> None:
    assert read_calls([answer("t0")], 0).events == []
    assert read_calls([call(), answer()], MOMENT + 1).events == []


@pytest.mark.parametrize(
    "damaged",
    [
        b'"tool_use" nonsense\n',
        b'["tool_use"]\n',
        b"[" * 100_000 + b'"tool_use"\n',
        line("summary", {"type": "tool_use", "id": "t9"}),
        line("user", "tool_result", {"type": "text", "text": '"tool_result"'}),
        b'{"type": "user", "message": {"content": "\\"tool_result\\""}}\n',
        b'{"type": "user", "message": 3, "x": "tool_result"}\n',
    ],
)
def test_what_is_no_call_is_passed_over(damaged: bytes) -> None:
    told = read_calls([damaged, call(), answer()], 0)
    assert len(told.events) == 1
    assert told.length == len(damaged) + len(call()) + len(answer())


def test_a_call_without_a_time_is_none() -> None:
    assert read_calls([call(), answer(timestamp="yesterday")], 0).events == []
