"""The scope gate: states, and what each tool may do in each."""

import pytest

from remit.decision.projects import Project, Workspace, identify, team_workspace
from remit.memory.scope_gate import (
    GATE,
    TOOLS,
    MemoryPlace,
    Permission,
    PlaceStatus,
    ScopeState,
    memory_id,
    place_status,
    reachable_memories,
    scope_refusal,
)

NO_PROJECT, UNKNOWN, NEW_FOCUS, KNOWN = PlaceStatus
FULL, PROJECT_ONLY, CREATES, BLOCKED = Permission


@pytest.mark.parametrize(
    ("project_id", "focus", "project_exists", "focus_exists", "state"),
    [
        (None, None, False, False, ScopeState.UNRESOLVED),
        (None, "auth", False, False, ScopeState.UNRESOLVED),
        ("shop", None, False, False, ScopeState.UNCERTAIN),
        ("shop", "auth", False, False, ScopeState.UNCERTAIN),
        ("shop", "auth", True, False, ScopeState.UNCERTAIN),
        ("shop", "auth", True, True, ScopeState.RESOLVED),
        ("shop", None, True, False, ScopeState.RESOLVED),
    ],
)
def test_the_state_is_what_the_seed_says(
    project_id: str | None, focus: str | None, project_exists: bool, focus_exists: bool, state: ScopeState
) -> None:
    standing = place_status(project_id, focus, project_exists=project_exists, focus_exists=focus_exists)
    assert standing.scope_state is state
    assert standing.project_exists is project_exists


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
    assert tuple(GATE[tool][standing] for standing in PlaceStatus) == permissions


def test_every_tool_has_a_row_for_every_standing() -> None:
    assert len(TOOLS) == 11
    assert all(set(row) == set(PlaceStatus) for row in GATE.values())


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


@pytest.mark.parametrize(
    ("path", "id"),
    [
        ("/code/shop", "shop-0123abcd"),
        ("/code/my shop!", "my-shop-0123abcd"),
        ("C:\\code\\shop", "shop-0123abcd"),
        ("/", "project-0123abcd"),
        ("/" + "x" * 300, "x" * 80 + "-0123abcd"),
    ],
)
def test_a_memory_is_named_after_its_folder_and_hash(path: str, id: str) -> None:
    assert memory_id(Project(path, "0123abcd4567ef89")) == id


def test_an_agent_reaches_the_memory_of_its_project_and_the_shared_ones() -> None:
    here = identify("/code/shop")
    shop = Workspace(here.path, here.path, here)
    assert reachable_memories(shop, ()) == {memory_id(here)}
    assert reachable_memories(shop, ("all",)) == {memory_id(here), "all"}
    assert reachable_memories(shop, ("all", "*")) is None


def test_an_agent_in_a_project_of_a_team_also_reaches_the_memory_of_the_team() -> None:
    api, team = Project("team:payments/api", "0123456789abcdef"), Project("team:payments", "fedcba9876543210")
    assert reachable_memories(team_workspace(api, team), ()) == {"api-01234567", "team-payments-fedcba98"}
