"""Calls that the client wrote down and no hook told of."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from remit.hooks.call_recovery import read_calls, recover_calls
from remit.hooks.event import Event
from remit.hooks.hook_context import SYSTEM
from support.builders import servers
from support.databases import run_sql
from support.sandbox import Sandbox

CALLS = (
    "select e.call_id, t.name, e.succeeded from usage_events e join tools t on t.id = e.tool_id order by e.id"
)
AT = "2026-11-15T20:28:47.306Z"
MOMENT = 1794774527306


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("ledger"))
    return path


@pytest.fixture
def transcript(sandbox: Sandbox, shop: Path) -> Path:
    """The transcript of a session that has begun."""
    path = sandbox.write(sandbox.home / ".claude/projects/shop/s1.jsonl", "")
    sandbox.hook(told("SessionStart", shop, path))
    return path


def told(name: str, where: Path, transcript: Path | None = None, **fields: object) -> dict[str, object]:
    common = {"hook_event_name": name, "session_id": "s1", "cwd": str(where)}
    return {**common, **({"transcript_path": str(transcript)} if transcript else {}), **fields}


def written(
    path: Path, call: str, *, name: str = "mcp__ledger__search", ok: bool = True, **given: object
) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
    use = {"type": "tool_use", "id": call, "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": call, "content": "Exit code 1", "is_error": not ok}
    lines: list[dict[str, Any]] = [
        {"type": "attachment", "content": "x"},
        {"type": "assistant", "timestamp": at, "message": {"content": [use]}},
        {
            "type": "user",
            "timestamp": at,
            "message": {"content": [result]},
            "permissionDecision": {"decision": "accept"},
        },
    ]
    with path.open("a") as opened:
        opened.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_call_that_no_hook_told_of_counts_when_the_session_ends(
    sandbox: Sandbox, shop: Path, transcript: Path
) -> None:
    sandbox.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="t1"))
    for call in ("t1", "t2"):
        written(transcript, call)
    written(transcript, "t3", name="Bash", ok=False, command="make test")
    for _ in range(2):
        sandbox.hook(told("SessionEnd", shop, transcript))
    search = "mcp__ledger__search"
    assert run_sql(sandbox.database, CALLS) == [("t1", search, 1), ("t2", search, 1), ("t3", "Bash", 0)]
    assert run_sql(sandbox.database, "select distinct session_id from usage_events") == [("s1",)]
    assert run_sql(sandbox.database, "select subject from traces") == [("make test",)]
    assert run_sql(sandbox.database, "select read_to from sessions") == [(transcript.stat().st_size,)]
    assert sandbox.log() == []


def test_a_hook_that_tells_of_it_after_all_changes_nothing(
    sandbox: Sandbox, shop: Path, transcript: Path
) -> None:
    written(transcript, "t1", name="Edit", file_path=str(shop / "till.py"))
    sandbox.hook(told("SessionEnd", shop, transcript))
    given = {"file_path": str(shop / "till.py")}
    sandbox.hook(told("PostToolUse", shop, tool_name="Edit", tool_input=given, tool_use_id="t1"))
    assert run_sql(sandbox.database, CALLS) == [("t1", "Edit", 1)]
    assert run_sql(sandbox.database, "select times from traces") == [(1,)]


def test_a_session_that_never_ended_is_read_when_the_next_begins(
    sandbox: Sandbox, shop: Path, transcript: Path
) -> None:
    written(transcript, "t1")
    following = {**told("SessionStart", shop), "session_id": "s2"}
    sandbox.hook(following)
    assert run_sql(sandbox.database, CALLS) == [("t1", "mcp__ledger__search", 1)]
    written(transcript, "t2")
    sandbox.hook(following)
    assert [call for call, *_ in run_sql(sandbox.database, CALLS)] == ["t1", "t2"]


def test_a_call_through_the_gateway_is_left_to_that(sandbox: Sandbox, shop: Path, transcript: Path) -> None:
    with sandbox.registry() as registry:
        registry.usage.report_tool("mcp__ledger__post", registry.at(str(shop)))
    written(transcript, "failed", name="mcp__remit__ledger__post", ok=False)
    written(transcript, "done", name="mcp__remit__ledger__post")
    sandbox.hook(told("SessionEnd", shop, transcript))
    assert run_sql(sandbox.database, CALLS) == []
    assert run_sql(sandbox.database, "select count(distinct call_id) from reported_calls") == [(2,)]


def test_what_was_before_the_session_began_here_is_not_counted(
    sandbox: Sandbox, shop: Path, transcript: Path
) -> None:
    run_sql(sandbox.database, "update sessions set started_at = started_at + 3600000")
    written(transcript, "t1")
    sandbox.hook(told("SessionEnd", shop, transcript))
    sandbox.hook({**told("SessionEnd", shop, transcript), "session_id": "never-begun"})
    assert run_sql(sandbox.database, CALLS) == []


def test_of_a_long_transcript_only_the_end_is_read(
    sandbox: Sandbox, shop: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        written(transcript, f"t{number}")
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    event = Event("SessionEnd", str(shop), "s1", False, {})
    recover_calls(event, SYSTEM, "s1", max_bytes=transcript.stat().st_size // 2)
    assert [call for call, *_ in run_sql(sandbox.database, CALLS)] == ["t5", "t6", "t7", "t8", "t9"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["gone.jsonl", "folder", "half\0", "pipe"])
def test_a_transcript_that_cannot_be_read_is_passed_over(sandbox: Sandbox, shop: Path, name: str) -> None:
    (sandbox.root / "folder").mkdir()
    os.mkfifo(sandbox.root / "pipe")
    sandbox.hook(told("SessionStart", shop, sandbox.root / name))
    sandbox.hook(told("SessionEnd", shop, sandbox.root / name))
    assert sandbox.log() == []
    assert run_sql(sandbox.database, "select ended_at is not null from sessions") == [(1,)]


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
