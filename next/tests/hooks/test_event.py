"""What the client sends to hooks."""

import json
from pathlib import Path

import pytest

from remit.hooks.calls import find_parents
from remit.hooks.event import Event, read_event

INNER = {"agentType": "inner", "parentAgentId": "a1", "spawnDepth": 2}
OUTER = {"agentType": "outer", "spawnDepth": 1}


def event(**fields: object) -> Event:
    return read_event(json.dumps({"hook_event_name": "PreToolUse", **fields}).encode(), {})


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"hook_event_name": ""}', b'{"hook_event_name": 1}']
)
def test_what_is_not_an_event_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_event(data, {})


def test_an_event_happens_where_its_session_was_launched() -> None:
    data = b'{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/below"}'
    assert read_event(data, {}).directory == "/below"
    assert read_event(data, {"CLAUDE_PROJECT_DIR": "/launch"}).directory == "/launch"
    nested = {"CLAUDE_PROJECT_DIR": "/launch", "CLAUDE_CODE_SESSION_ID": "another"}
    assert read_event(data, nested).directory == "/below"


def test_fields_of_the_wrong_type_read_as_absent() -> None:
    broken = event(tool_name=1, mcp_server="x", tool_input=[], duration_ms=True, session_id={})
    assert (broken.tool, broken.label, broken.subject, broken.session) == (None, None, None, None)
    assert broken.number("duration_ms") is None
    assert event(duration_ms=-1).number("duration_ms") is None
    assert event(tool_name="x\ud800y").tool == "x\N{REPLACEMENT CHARACTER}y"


@pytest.mark.parametrize(
    ("label", "source", "server"),
    [
        ("plugin:quill:git", "plugin", "git"),
        ("plugin:quill:a:b", "plugin", "a:b"),
        ("plugin:quill:git", "user", "plugin:quill:git"),
        ("plugin:quill", "plugin", "plugin:quill"),
        ("git", "plugin", "git"),
    ],
)
def test_a_plugins_server_goes_by_its_own_name(label: str, source: str, server: str) -> None:
    assert event(mcp_server={"name": label, "source": source}).server == server


@pytest.mark.parametrize("name", ["git__push", "mcp__remit__git__push", "mcp__git__push"])
def test_what_the_gateway_is_to_call_is_meant_however_it_is_written(name: str) -> None:
    through = event(tool_name="mcp__remit__call_tool", tool_input={"name": name, "arguments": {"x": 1}})
    assert (through.tool, through.arguments) == ("mcp__remit__git__push", {"x": 1})


def test_a_very_long_id_of_a_call_is_stored_as_a_digest() -> None:
    assert event(tool_use_id="t1").call_id == "t1"
    assert len(event(tool_use_id="t" * 900).call_id or "") == 64


def parents(folder: Path, agent: str = "inner", agent_id: str | None = "a2") -> tuple[str, ...] | None:
    return find_parents(event(transcript_path=str(folder / "s.jsonl"), agent_id=agent_id, agent_type=agent))


def keep(folder: Path, **agents: object) -> None:
    (folder / "s/subagents").mkdir(parents=True, exist_ok=True)
    for name, meta in agents.items():
        content = meta if isinstance(meta, str) else json.dumps(meta)
        (folder / f"s/subagents/agent-{name}.meta.json").write_text(content)


def test_the_chain_of_agents_leads_to_the_main_session(tmp_path: Path) -> None:
    keep(tmp_path, a1=OUTER, a2={**INNER, "description": "y" * 1_000_000})
    assert parents(tmp_path) == ("outer",)
    assert parents(tmp_path, "outer", "a1") == ()
    assert parents(tmp_path, agent_id=None) is None
    (tmp_path / "s.jsonl").write_text('{"type": "agent-setting", "agentSetting": "lead"}\n{"type": "user"}\n')
    assert parents(tmp_path) == ("outer", "lead")


@pytest.mark.parametrize(
    "meta",
    [
        None,
        "{",
        "[]",
        "[" * 100_000,
        {"agentType": 1},
        {"agentType": "another", "spawnDepth": 1},
        {"agentType": "inner", "spawnDepth": 2},
        {"agentType": "inner", "parentAgentId": 7},
        {"agentType": "inner", "parentAgentId": "../a1"},
        {"agentType": "inner", "parentAgentId": "a2"},
        {"agentType": "inner", "parentAgentId": "gone"},
    ],
)
def test_whatever_is_missing_or_does_not_fit_leaves_the_parent_unknown(tmp_path: Path, meta: object) -> None:
    keep(tmp_path, a1=OUTER, **({} if meta is None else {"a2": meta}))
    assert parents(tmp_path) is None
