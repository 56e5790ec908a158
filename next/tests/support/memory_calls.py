"""A memory at a time that is set, and calls of its tools with visible defaults."""

from typing import Any

from remit.decision import Workspace
from remit.memory import Memory
from remit.search import Embedder
from remit.store import Store
from support.builders import SHOP
from support.stores import memory_store

NOW = 1_790_000_000_000  # in September 2026


def new_memory(
    store: Store | None = None,
    *,
    model: Embedder | None = None,
    workspace: Workspace = SHOP,
    at: int = NOW,
    projects: tuple[str, ...] = ("app",),
) -> Memory:
    """Open a memory with projects."""
    memory = Memory(store or memory_store(), model, workspace, lambda: at)
    for project in projects:
        assert memory.call("save_session", {"session": {}, "project_id": project})["status"] == "saved"
    return memory


def decide(memory: Memory, title: str, project: str = "app", **others: Any) -> dict[str, Any]:
    """Save a decision."""
    decision = {"title": title, **others.pop("decision", {})}
    return memory.call("save_decision", {"decision": decision, "project_id": project, **others})


def note(memory: Memory, content: str, focus: str | None = None, **context: Any) -> str:
    """Save a context in the project or in a focus area, and return its id."""
    place = {"project_id": "app"} if focus is None else {"project_id": "app", "focus": focus}
    scope = "project" if focus is None else "focus"
    arguments = {"context": {"content": content, "scope": scope, **context}, **place}
    answer = memory.call("save_context", arguments)
    assert answer["status"] == "saved"
    return answer["artifact_id"]


def recalled(memory: Memory, **arguments: Any) -> list[str]:
    """The ids of what is retrieved."""
    items = memory.call("retrieve_context", {"project_id": "app", **arguments})["items"]
    return [item["id"] for item in items]


def found(memory: Memory, query: str) -> list[str]:
    """The ids of what a search finds."""
    return [
        item["id"] for item in memory.call("memory_surface", {"query": query, "project_id": "app"})["items"]
    ]
