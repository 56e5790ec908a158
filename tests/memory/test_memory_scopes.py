"""Which place a memory call names, and which memories an agent may use."""

import pytest

from remit.decision.projects import Project, Workspace, identify, team_workspace
from remit.memory.memory_scopes import ScopeState, memory_id, place_status, reachable_memories


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
