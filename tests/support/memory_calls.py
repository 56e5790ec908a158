"""Calls of memory's tools with visible defaults."""

from collections.abc import Sequence

import pytest

from remit.errors import NotApprovedError
from remit.memory.project_memory import Memory
from remit.memory.results import BatchSaveResult, SaveResult
from remit.memory.transfer import ImportResult

Given = dict[str, object]


def session(objective: str = "ship it", **others: object) -> Given:
    lists: Given = {key: [] for key in ("actions_taken", "decisions_made", "open_items", "next_actions")}
    return {"objective": objective, **lists, "save_scope": "project", **others}


def decision(
    title: str, rationale: str = "it is the best of all that we have tried", **others: object
) -> Given:
    given = {"title": title, "rationale": rationale, "owner": "ada", "date": "2026-11-15"}
    return {**given, "scope": "project", **others}


def pattern(trigger: str = "a test fails", **others: object) -> Given:
    given: Given = {"trigger": trigger, "repeatable_steps": ["read it"], "last_validated_at": None}
    return {**given, "scope": "project", **others}


def context(content: str, topic: str = "notes", **others: object) -> Given:
    return {"content": content, "topic": topic, "scope": "project", "relevance_score": 1.0, **others}


def entity(name: str, fact: str, **others: object) -> Given:
    return {"entity_name": name, "fact": fact, "scope": "project", **others}


def start(memory: Memory, *projects: str) -> Memory:
    """Give projects a memory."""
    for project in projects:
        assert (
            one(memory.save("save_session", {"session": session(), "project_id": project})).status == "saved"
        )
    return memory


def one(result: SaveResult | BatchSaveResult) -> SaveResult:
    assert isinstance(result, SaveResult)
    return result


def decide(memory: Memory, project: str, title: str, rationale: str = "", **others: object) -> SaveResult:
    """Save a decision."""
    given = decision(title, rationale) if rationale else decision(title)
    return one(memory.save("save_decision", {"decision": given, "project_id": project, **others}))


def note(memory: Memory, project: str, content: str, focus: str | None = None) -> SaveResult:
    """Save a context, in a focus area or in the project."""
    scope = "project" if focus is None else "focus"
    place: Given = {"project_id": project} if focus is None else {"project_id": project, "focus": focus}
    return one(memory.save("save_context", {"context": context(content, scope=scope), **place}))


def recalled(memory: Memory, project: str, **asked: object) -> list[object]:
    """The ids of what is retrieved."""
    found = memory.retrieve_context({"project_id": project, "scope": "project", **asked})
    return [item["id"] for item in found.items]


def approved_import(memory: Memory, lines: Sequence[str]) -> ImportResult:
    """Import what other projects see, as a person approves it."""
    with pytest.raises(NotApprovedError, match="would be seen in other projects") as refused:
        memory.restore(lines)
    assert refused.value.approval_id is not None
    memory.global_writes.answer(refused.value.approval_id, word=True)
    return memory.restore(lines)
