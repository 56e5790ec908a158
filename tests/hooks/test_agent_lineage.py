"""Who started a subagent, from what the client keeps next to its transcript."""

import json
from pathlib import Path

import pytest

from remit.hooks.agent_lineage import find_parents
from remit.hooks.event import Event

INNER = {"agentType": "inner", "parentAgentId": "a1", "spawnDepth": 2}
OUTER = {"agentType": "outer", "spawnDepth": 1}


def keep(folder: Path, **agents: object) -> None:
    (folder / "s/subagents").mkdir(parents=True, exist_ok=True)
    for name, meta in agents.items():
        content = meta if isinstance(meta, str) else json.dumps(meta)
        (folder / f"s/subagents/agent-{name}.meta.json").write_text(content)


def parents(folder: Path, agent: str = "inner", agent_id: str | None = "a2") -> tuple[str, ...] | None:
    fields = {"transcript_path": str(folder / "s.jsonl"), "agent_id": agent_id, "agent_type": agent}
    return find_parents(Event("PreToolUse", str(folder), "s", is_headless=False, fields=fields))


def test_the_chain_leads_to_the_main_session(tmp_path: Path) -> None:
    keep(tmp_path, a1=OUTER, a2=INNER)
    assert parents(tmp_path) == ("outer",)
    assert parents(tmp_path, "outer", "a1") == ()


def test_a_long_description_does_not_hide_the_parent(tmp_path: Path) -> None:
    keep(tmp_path, a1=OUTER, a2={**INNER, "description": "y" * 1_000_000})
    assert parents(tmp_path) == ("outer",)


def test_a_main_session_that_runs_as_an_agent_is_the_last_parent(tmp_path: Path) -> None:
    keep(tmp_path, a1=OUTER, a2=INNER)
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
        "x" * (8 * 1024 * 1024 + 1),
    ],
)
def test_whatever_is_missing_or_does_not_fit_leaves_the_parent_unknown(tmp_path: Path, meta: object) -> None:
    keep(tmp_path, a1=OUTER, **({} if meta is None else {"a2": meta}))
    assert parents(tmp_path) is None


def test_an_event_without_an_id_tells_nothing(tmp_path: Path) -> None:
    keep(tmp_path, a1=OUTER, a2=INNER)
    assert parents(tmp_path, agent_id=None) is None


def test_a_transcript_that_cannot_be_read_names_no_agent(tmp_path: Path) -> None:
    keep(tmp_path, a1=OUTER)
    (tmp_path / "s.jsonl").mkdir()
    assert parents(tmp_path, "outer", "a1") == ()
