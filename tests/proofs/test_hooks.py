"""Events of every kind, broken in every way: no failure reaches the client, and nothing is lost."""

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from remit.hooks.event_dispatch import respond
from support.builders import servers
from support.databases import run_sql
from support.sandbox import Sandbox

CASES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "1000")) // 10
SEED = os.environ.get("REMIT_PROOF_SEED", "7")
PARTS = 2  # run side by side, each with damage of its own
PROCESSES = 10  # of all cases, those that go through the command itself

SERVER = {"name": "ledger", "source": "project"}
GIVEN = {"q": "october", "file_path": "a.py", "command": "make test", "url": "https://a.org", "query": "b"}
CALL = {"tool_name": "mcp__ledger__search", "tool_input": GIVEN, "tool_use_id": "toolu_1"}
SWITCH = {
    "from_model": "a",
    "to_model": "b",
    "requested_model": None,
    "source": "command",
    "context_tokens": 10,
    "prompt_cache_warm": True,
    "cache_ttl": "5m",
    "estimated_cache_write_usd": 0.1,
    "pricing": "catalog",
}
STOP: dict[str, Any] = {
    "stop_hook_active": False,
    "last_assistant_message": "done",
    "background_tasks": [],
    "session_crons": [],
}
AGENT = {"agent_id": "a1", "agent_type": "helper"}
TASK = {"task_id": "1", "task_subject": "x", "task_description": "y", "teammate_name": "t", "team_name": "u"}
ELICITATION = {"mcp_server_name": "ledger", "elicitation_id": "e1", "mode": "form"}
EVENTS: dict[str, dict[str, Any]] = {
    "PreToolUse": {**CALL, "mcp_server": SERVER, "permission_mode": "plan"},
    "PostToolUse": {
        **CALL,
        "tool_response": [{"type": "text", "text": "3"}],
        "duration_ms": 8,
        "mcp_server": SERVER,
    },
    "PostToolUseFailure": {**CALL, "error": "Exit code 3", "is_interrupt": False, "duration_ms": 7},
    "PostToolBatch": {"tool_calls": [{**CALL, "tool_response": "ok"}]},
    "Notification": {"message": "x", "title": "y", "notification_type": "z"},
    "UserPromptSubmit": {"prompt": "reconcile the october ledger", "source": "user", "session_title": "x"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command",
        "command_name": "commit",
        "command_args": "now",
        "command_source": "project",
        "prompt": "/commit now",
    },
    "SessionStart": {"source": "startup", "model": "m", "agent_type": "helper", "context_tokens": 4},
    "SessionEnd": {"reason": "other"},
    "Stop": STOP,
    "StopFailure": {"error": "rate_limit", "error_details": "x", "last_assistant_message": "y"},
    "SubagentStart": AGENT,
    "SubagentStop": {**STOP, **AGENT, "agent_transcript_path": "/x.jsonl"},
    "PreCompact": {"trigger": "manual", "custom_instructions": None},
    "PostCompact": {"trigger": "auto", "compact_summary": "x"},
    "PreModelSwitch": SWITCH,
    "PostModelSwitch": {**SWITCH, "source": "auto"},
    "PermissionRequest": {**CALL, "permission_suggestions": [], "mcp_server": SERVER},
    "PermissionDenied": {**CALL, "reason": "x", "mcp_server": SERVER},
    "Setup": {"trigger": "init"},
    "TeammateIdle": {"teammate_name": "t", "team_name": "u"},
    "TaskCreated": TASK,
    "TaskCompleted": TASK,
    "Elicitation": {**ELICITATION, "message": "x", "requested_schema": {"type": "object"}},
    "ElicitationResult": {**ELICITATION, "action": "accept", "content": {"a": 1}},
    "ConfigChange": {"source": "project_settings", "file_path": "/x/.claude/settings.json"},
    "WorktreeCreate": {"name": "x"},
    "WorktreeRemove": {"worktree_path": "/x"},
    "InstructionsLoaded": {"file_path": "/x", "memory_type": "User", "load_reason": "session_start"},
    "CwdChanged": {"old_cwd": "/x", "new_cwd": "/y"},
    "FileChanged": {"file_path": "/x/.mcp.json", "event": "change"},
    "DirectoryAdded": {"directory": "/x", "source": "slash_command"},
    "MessageDisplay": {"turn_id": "1", "message_id": "2", "index": 0, "final": True, "delta": "x"},
}
STRANGE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    10**400,
    1e308,
    float("nan"),
    float("-inf"),
    "",
    " ",
    "x" * 100_000,
    "\ud83d",
    "\x00",
    "/",
    "..",
    "~",
    "/nowhere/at/all",
    "mcp__",
    "mcp____",
    "mcp__remit__",
    "mcp__remit__call_tool",
    "mcp__ledger__*",
    "mcp__ledger__fetch",
    "Edit",
    "Bash",
    "WebFetch",
    "WebSearch",
    "make test",
    "https://docs.python.org/3/",
    "Skill",
    "Agent",
    "%s{}'\"; drop table tools; --",
    [],
    {},
    [[[[[]]]]],
    {"name": {"name": {}}},
    ["mcp__ledger__search"],
)


def test_every_event_that_the_client_has_is_among_them() -> None:
    assert len(EVENTS) == 33


def event(name: str, where: Path) -> dict[str, Any]:
    common = {
        "session_id": "11111111-2222-4333-8444-555555555555",
        "transcript_path": "/x.jsonl",
        "cwd": str(where),
        "prompt_id": "p1",
        "permission_mode": "default",
        "effort": {"level": "medium"},
        "hook_event_name": name,
    }
    return {**common, **copy.deepcopy(EVENTS[name])}


def damaged(chance: random.Random, told: dict[str, Any]) -> bytes:
    """Break an event in its structure, then perhaps in its bytes."""
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        chance.choice(STRUCTURAL)(chance, told)
    data = json.dumps(told).encode()
    if chance.random() < 0.3:
        data = chance.choice(IN_BYTES)(chance, data)
    return data


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place in a structure, as the container and the key."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield value, key  # pyright: ignore[reportUnknownMemberType]
            yield from _places(inner)
    elif isinstance(value, list):
        for at, inner in enumerate(cast("list[object]", value)):
            yield value, at  # pyright: ignore[reportUnknownMemberType]
            yield from _places(inner)


def _somewhere(chance: random.Random, told: dict[str, Any]) -> tuple[Any, Any]:
    return chance.choice([*_places(told)] or [(told, "x")])


def _replace(chance: random.Random, told: dict[str, Any]) -> None:
    container, key = _somewhere(chance, told)
    container[key] = copy.deepcopy(chance.choice(STRANGE))


def _remove(chance: random.Random, told: dict[str, Any]) -> None:
    if told:
        container, key = _somewhere(chance, told)
        del container[key]


def _add(chance: random.Random, told: dict[str, Any]) -> None:
    other = EVENTS[chance.choice([*EVENTS])]
    told[chance.choice([*other, "agent_type", "tool_name", "cwd", "x"])] = copy.deepcopy(
        chance.choice(STRANGE)
    )


def _swap(chance: random.Random, told: dict[str, Any]) -> None:
    told.update(copy.deepcopy(EVENTS[chance.choice([*EVENTS])]))


def _rename(chance: random.Random, told: dict[str, Any]) -> None:
    told["hook_event_name"] = chance.choice([*EVENTS, "SomethingNew", "pretooluse"])


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _flip(chance: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        made[chance.randrange(len(made))] = chance.randrange(256)
    return bytes(made)


def _repeat(chance: random.Random, data: bytes) -> bytes:
    return data * chance.randrange(2, 4)


def _nest(chance: random.Random, data: bytes) -> bytes:
    depth = chance.choice((10, 1000, 200_000))
    return b'{"a":' * depth + data + b"}" * depth


STRUCTURAL: tuple[Callable[[random.Random, dict[str, Any]], None], ...] = (
    _replace,
    _replace,
    _remove,
    _add,
    _swap,
    _rename,
)
IN_BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_cut, _flip, _flip, _repeat, _nest)


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("ledger"))
    sandbox.write(path / "remit.toml", 'block = ["mcp__ledger__delete"]\n')
    sandbox.write(path / ".claude/commands/commit.md", "---\ndescription: Commit\n---\n")
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(path)
    return path


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_an_event_is_the_hook_ends_well_and_loses_nothing(
    sandbox: Sandbox, shop: Path, part: int
) -> None:
    chance = random.Random(f"{SEED} hooks {part}")  # noqa: S311 - no secrets
    kept = 0
    for case in range(CASES // PARTS):
        name = chance.choice([*EVENTS])
        data = damaged(chance, event(name, shop))
        if case % (CASES // PARTS // PROCESSES or 1) == 0:
            sandbox.hook(data)  # the exit code is 0, and stderr is empty
        else:
            answer = respond(data)
            assert answer == "" or list(json.loads(answer)) == ["hookSpecificOutput"], data
        if case % 20 == 0:
            kept += 1
            whole = {**event("PostToolUse", shop), "tool_use_id": f"whole {case}"}
            assert respond(json.dumps(whole).encode()) == ""
            counted = run_sql(
                sandbox.database, "select count(*) from usage_events where call_id like 'whole %'"
            )
            assert counted == [(kept,)], data
            refused = {**event("PreToolUse", shop), "tool_name": "mcp__ledger__delete"}
            assert '"deny"' in respond(json.dumps(refused).encode()), data
    assert run_sql(sandbox.database, "pragma integrity_check") == [("ok",)]
    assert all("Traceback" not in line for line in sandbox.log())


def written(call: str) -> list[dict[str, Any]]:
    """A call as the client writes it down."""
    use = {"type": "tool_use", "id": call, "name": "mcp__ledger__search", "input": GIVEN}
    answer = {"type": "tool_result", "tool_use_id": call, "content": "3 rows"}
    at = {"timestamp": "2126-11-15T20:28:47.306Z"}
    return [
        {"type": "assistant", **at, "message": {"content": [use]}},
        {"type": "user", **at, "message": {"content": [answer]}, "toolUseResult": {"stdout": "3 rows"}},
    ]


@pytest.mark.proof
def test_whatever_a_transcript_holds_the_whole_calls_in_it_count(sandbox: Sandbox, shop: Path) -> None:
    chance = random.Random(f"{SEED} transcripts")  # noqa: S311 - no secrets
    path = sandbox.write(sandbox.home / "session.jsonl", "")
    told = {"transcript_path": str(path), "session_id": "s1"}
    respond(json.dumps({**event("SessionStart", shop), **told}).encode())
    for case in range(CASES // 20):
        with path.open("ab") as opened:
            for line in written(f"damaged {case}"):
                opened.write(damaged(chance, line).replace(b"\n", b" ") + b"\n")
            opened.writelines(json.dumps(line).encode() + b"\n" for line in written(f"whole {case}"))
        assert respond(json.dumps({**event("SessionEnd", shop), **told}).encode()) == ""
        counted = run_sql(sandbox.database, "select count(*) from usage_events where call_id like 'whole %'")
        assert counted == [(case + 1,)]
    assert sandbox.log() == []


@pytest.mark.proof
@pytest.mark.parametrize("name", [*EVENTS])
def test_every_event_as_the_client_writes_it_leaves_no_line_in_the_log(
    sandbox: Sandbox, shop: Path, name: str
) -> None:
    answer = respond(json.dumps(event(name, shop)).encode())
    assert answer == "" or json.loads(answer)["hookSpecificOutput"]["hookEventName"] == name
    assert sandbox.log() == []
