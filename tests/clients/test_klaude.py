from dataclasses import replace
from pathlib import Path

import pytest

from remit.registry import Registry
from support import Desk, names, servers


@pytest.fixture
def root(desk: Desk) -> Path:
    return desk.project("shop")


def used(registry: Registry, root: Path) -> tuple[str, str]:
    """The scope and the file of the server `git` that klaude uses."""
    [tool] = [
        item.tool
        for item in registry.tools(registry.at(str(root), "klaude"))
        if item.decision.is_available and item.tool.server == "git"
    ]
    return tool.scope, tool.source


def test_user_scoped_then_project_scoped_then_local_scoped_and_local_wins(desk: Desk, root: Path) -> None:
    with desk.registry() as registry:
        user_scoped = desk.write(desk.home / ".klaude/.mcp.json", servers("git"))
        assert used(registry, root) == ("global", str(user_scoped))
        project_scoped = desk.write(root / ".mcp.json", servers("git"))
        assert used(registry, root) == ("project", str(project_scoped))
        local_scoped = desk.write(root / ".claude/settings.json", servers("git"))
        assert used(registry, root) == ("local", str(local_scoped))
        explained = registry.explain("git", registry.at(str(root), "klaude"))
    assert sorted(item.tool.scope for item in explained.shadowed) == ["global", "project"]
    assert {item.decision.gate for item in explained.shadowed} == {"precedence"}


def test_an_entry_is_replaced_whole(desk: Desk, root: Path) -> None:
    desk.write(desk.home / ".klaude/.mcp.json", servers(git={"command": "x", "env": {"TOKEN": "1"}}))
    desk.write(root / ".mcp.json", servers(git={"type": "http", "url": "https://mcp.test/"}))
    with desk.registry() as registry:
        assert used(registry, root) == ("project", str(root / ".mcp.json"))


def test_of_the_users_two_files_klaudes_own_wins(desk: Desk, root: Path) -> None:
    desk.write(desk.home / ".claude/settings.json", servers("git", "wiki"))
    own = desk.write(desk.home / ".klaude/.mcp.json", servers("git"))
    with desk.registry() as registry:
        assert used(registry, root) == ("global", str(own))
        assert names(registry, registry.at(str(root), "klaude")) == ["global git", "global wiki"]


def test_files_count_in_the_root_of_the_checkout_and_not_below_or_above_it(desk: Desk, root: Path) -> None:
    below = root / "packages/api"
    desk.write(below / ".mcp.json", servers("inner"))
    desk.write(root.parent / ".mcp.json", servers("outer"))
    desk.write(root / ".mcp.json", servers("git"))
    with desk.registry() as registry:
        assert names(registry, registry.at(str(below), "klaude")) == ["project git"]


def test_in_the_home_directory_the_users_settings_are_not_the_projects_too(desk: Desk) -> None:
    desk.write(desk.home / ".claude/settings.json", servers("git"))
    with desk.registry() as registry:
        assert names(registry, registry.at(str(desk.home), "klaude")) == ["global git"]


def test_agents_have_the_servers_that_their_definitions_give_them(desk: Desk, root: Path) -> None:
    desk.write(root / ".mcp.json", servers("git", "wiki"))
    agent = "---\nname: {}\ndescription: d\n{}---\n"
    desk.write(root / ".claude/agents/explorer.md", agent.format("Explorer", "inheritProjectMcps: false\n"))
    desk.write(desk.home / ".claude/agents/scout.md", agent.format("scout", "mcpServers: git\n"))
    desk.write(
        desk.home / ".claude/agents/child.md",
        agent.format("child", "inheritProjectMcps: false\ninheritParentMcps: true\n"),
    )
    with desk.registry() as registry:

        def has(agent: str, *parents: str) -> list[str]:
            context = registry.at(str(root), "klaude", agent=agent, parents=parents)
            return names(registry, context, keep=lambda tool: tool.server is not None)

        assert has("explorer") == []
        assert has("scout") == ["project git"]
        assert has("child") == []
        assert has("child", "scout") == ["project git"]


def test_a_local_server_that_lies_in_the_repository_is_not_started_without_trust(
    desk: Desk, root: Path
) -> None:
    desk.write(root / ".claude/settings.json", servers("git"))
    with desk.registry() as registry:
        here = registry.at(str(root), "klaude")
        assert [item.declaration.server for item in registry.trustable(here)] == ["git"]
        starting = registry.explain("git", replace(here, starts_servers=True)).decision
    assert (starting.gate, starting.is_available) == ("config", False)
