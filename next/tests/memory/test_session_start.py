"""What a session is told of memory."""

from remit.memory import Memory, sections
from remit.store import Store
from remit.text import assemble
from support.builders import BLOG, SHOP
from support.memory_calls import NOW, decide, new_memory, note
from support.stores import memory_store

_DAY = 86_400_000


def _told(store: Store, now: int = NOW) -> str:
    return assemble(sections(store, SHOP, now))


def test_a_new_project_is_told_its_id_alone() -> None:
    assert _told(memory_store()) == f"## Project Memory\nproject_id: {SHOP.project.short_name}"


def test_a_session_starts_with_what_is_recent() -> None:
    store = memory_store()
    memory = new_memory(store, projects=())
    session = {"objective": "mend the till", "actions_taken": ["moved\na file"], "open_items": ["a", "b"]}
    memory.call("save_session", {"session": session, "project_id": "app"})
    decide(memory, "Use SQLite", decision={"rationale": "one file"})
    note(memory, "the till is slow", "till", topic="speed")
    note(memory, "https://example.com/till", topic="Reference")
    new_memory(store, workspace=BLOG, projects=("secret",))
    assert _told(store) == "\n\n".join(
        [
            "## Project Memory\nproject_id: app",
            "## Last Session\nmend the till\nOpen: a; b",
            "## Recent Changes\n- moved a file",
            "## Active Decisions\n- Use SQLite - one file",
            "## Recent Findings\n- speed - the till is slow",
            "## References\n- https://example.com/till",
        ]
    )


def test_each_section_has_its_number_and_its_days() -> None:
    store = memory_store()
    memory = new_memory(store, projects=())
    actions = [f"change {number}" for number in range(12)]
    memory.call("save_session", {"session": {"actions_taken": actions}, "project_id": "app"})
    for number in range(6):
        decide(memory, f"decision {number}")
        note(memory, f"finding {number}")
        note(memory, f"link {number}", topic="reference")
    assert _counts(store, NOW) == [10, 5, 5, 3]
    assert _counts(store, NOW + _DAY + 1) == [0, 5, 5, 3]
    assert _counts(store, NOW + 3 * _DAY + 1) == [0, 5, 5, 0]
    assert _counts(store, NOW + 7 * _DAY + 1) == [0, 0, 0, 0]


def test_when_space_is_short_references_go_first_and_the_id_last() -> None:
    store = memory_store()
    memory = new_memory(store)
    _fill(memory)
    whole = _told(store)
    shorter = assemble(sections(store, SHOP, NOW), budget=len(whole) - 1)
    assert "References" in whole
    assert "References" not in shorter
    assert "Recent Findings" in shorter
    assert assemble(sections(store, SHOP, NOW), budget=40) == "## Project Memory\nproject_id: app"


def _fill(memory: Memory) -> None:
    decide(memory, "Use SQLite")
    note(memory, "the till is slow")
    note(memory, "https://example.com/till", topic="reference")


def _counts(store: Store, now: int) -> list[int]:
    told = _told(store, now)
    return [told.count(f"\n- {word} ") for word in ("change", "decision", "finding", "link")]
