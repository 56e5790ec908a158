"""The scope gate: what each memory tool may do, by what is known of its place."""

import pytest

from remit.memory.memory_scopes import PlaceStatus
from remit.memory.tool_permissions import PERMISSIONS, TOOLS, MemoryPlace, Permission, scope_refusal

NO_PROJECT, UNKNOWN, NEW_FOCUS, KNOWN = PlaceStatus
FULL, PROJECT_ONLY, CREATES, BLOCKED = Permission


@pytest.mark.parametrize(
    ("tool", "permissions"),
    [
        ("get_scope_state", (FULL, FULL, FULL, FULL)),
        ("retrieve_context", (BLOCKED, PROJECT_ONLY, PROJECT_ONLY, FULL)),
        ("memory_surface", (BLOCKED, PROJECT_ONLY, PROJECT_ONLY, FULL)),
        ("run_hygiene", (BLOCKED, PROJECT_ONLY, PROJECT_ONLY, FULL)),
        ("save_session", (BLOCKED, CREATES, CREATES, FULL)),
        ("save_decision", (BLOCKED, BLOCKED, CREATES, FULL)),
        ("save_pattern", (BLOCKED, BLOCKED, CREATES, FULL)),
        ("save_context", (BLOCKED, BLOCKED, CREATES, FULL)),
        ("upsert_entity_with_deps", (BLOCKED, BLOCKED, CREATES, FULL)),
        ("store_session_with_learnings", (BLOCKED, BLOCKED, CREATES, FULL)),
        ("delete_project", (BLOCKED, BLOCKED, CREATES, FULL)),
    ],
)
def test_the_gate_is_the_seeds_table(tool: str, permissions: tuple[Permission, ...]) -> None:
    assert tuple(PERMISSIONS[tool][standing] for standing in PlaceStatus) == permissions


def test_every_tool_has_a_row_for_every_standing() -> None:
    assert len(TOOLS) == 11
    assert all(set(row) == set(PlaceStatus) for row in PERMISSIONS.values())


def test_an_endpoint_creates_nothing_beyond_its_bounds() -> None:
    bound = frozenset({"shop"})
    assert MemoryPlace("blog", None, UNKNOWN, bound).permission("save_session") is BLOCKED
    assert MemoryPlace("shop", None, UNKNOWN, bound).permission("save_session") is CREATES
    assert MemoryPlace("blog", None, UNKNOWN, bound).permission("retrieve_context") is PROJECT_ONLY
    assert not MemoryPlace(None, None, NO_PROJECT, bound).is_out_of_bounds


def test_an_objection_names_what_is_missing_and_the_call_that_would_make_it() -> None:
    message, next_step = scope_refusal(MemoryPlace("shop", "auth", UNKNOWN))
    assert message == 'Scope state: uncertain: the project "shop" does not exist'
    assert next_step.startswith('Create it first: save_session({"session": {"objective": ')
    assert next_step.endswith('"save_scope": "project"}, "project_id": "shop", "focus": "auth"})')
    assert '"focus"' not in scope_refusal(MemoryPlace("shop", None, UNKNOWN)).next_step


def test_without_a_project_the_objection_says_where_its_id_is_found() -> None:
    message, next_step = scope_refusal(MemoryPlace(None, None, NO_PROJECT))
    assert message == "Scope state: unresolved: no project_id was given"
    assert "`remit memory id`" in next_step


def test_beyond_its_bounds_an_endpoint_is_told_its_own_projects() -> None:
    assert scope_refusal(MemoryPlace("x", None, UNKNOWN, frozenset({"b", "a"}))).next_step.endswith(
        ': "a", "b".'
    )
    assert scope_refusal(MemoryPlace("x", None, UNKNOWN, frozenset())).next_step.endswith(": it has none.")
