from dataclasses import replace
from pathlib import Path

import pytest

from remit.registry import Registry
from support.builders import servers, visible_names
from support.sandbox import Sandbox

CHILD = "inheritProjectMcps: false\ninheritParentMcps: true\n"


@pytest.fixture
def root(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


def used(registry: Registry, root: Path) -> tuple[str, str]:
    """The scope and the file of the server `git` that klaude uses."""
    [tool] = [
        item.tool
        for item in registry.tools(registry.at(str(root), "klaude"))
        if item.decision.is_available and item.tool.server == "git"
    ]
    return tool.scope, tool.source


def given(registry: Registry, root: Path, agent: str, *parents: str) -> list[str]:
    """The servers that klaude gives an agent, with their scopes."""
    context = registry.at(str(root), "klaude", agent=agent, parents=parents)
    return sorted(visible_names(registry, context, keep=lambda tool: tool.server is not None))


def test_user_scoped_then_project_scoped_then_local_scoped_and_local_wins(
    sandbox: Sandbox, root: Path
) -> None:
    with sandbox.registry() as registry:
        user_scoped = sandbox.write(sandbox.home / ".klaude/.mcp.json", servers("git"))
        assert used(registry, root) == ("global", str(user_scoped))
        project_scoped = sandbox.write(root / ".mcp.json", servers("git"))
        assert used(registry, root) == ("project", str(project_scoped))
        local_scoped = sandbox.write(root / ".claude/settings.json", servers("git"))
        assert used(registry, root) == ("local", str(local_scoped))
        explained = registry.explain("git", registry.at(str(root), "klaude"))
    assert sorted(item.tool.scope for item in explained.shadowed) == ["global", "project"]
    assert {item.decision.gate for item in explained.shadowed} == {"precedence"}


def test_an_entry_is_replaced_whole(sandbox: Sandbox, root: Path) -> None:
    sandbox.write(sandbox.home / ".klaude/.mcp.json", servers(git={"command": "x", "env": {"TOKEN": "1"}}))
    sandbox.write(root / ".mcp.json", servers(git={"type": "http", "url": "https://mcp.test/"}))
    with sandbox.registry() as registry:
        assert used(registry, root) == ("project", str(root / ".mcp.json"))


def test_of_the_users_two_files_klaudes_own_wins(sandbox: Sandbox, root: Path) -> None:
    sandbox.write(sandbox.home / ".claude/settings.json", servers("git", "wiki"))
    own = sandbox.write(sandbox.home / ".klaude/.mcp.json", servers("git"))
    with sandbox.registry() as registry:
        assert used(registry, root) == ("global", str(own))
        assert visible_names(registry, registry.at(str(root), "klaude")) == ["global git", "global wiki"]


def test_files_count_in_the_root_of_the_checkout_and_not_below_or_above_it(
    sandbox: Sandbox, root: Path
) -> None:
    below = root / "packages/api"
    sandbox.write(below / ".mcp.json", servers("inner"))
    sandbox.write(root.parent / ".mcp.json", servers("outer"))
    sandbox.write(root / ".mcp.json", servers("git"))
    with sandbox.registry() as registry:
        assert visible_names(registry, registry.at(str(below), "klaude")) == ["project git"]


def test_in_the_home_directory_the_users_settings_are_not_the_projects_too(sandbox: Sandbox) -> None:
    sandbox.write(sandbox.home / ".claude/settings.json", servers("git"))
    with sandbox.registry() as registry:
        assert visible_names(registry, registry.at(str(sandbox.home), "klaude")) == ["global git"]


def test_agents_have_the_servers_that_their_definitions_give_them(sandbox: Sandbox, root: Path) -> None:
    sandbox.write(root / ".mcp.json", servers("git", "wiki"))
    agent = "---\nname: {}\ndescription: d\n{}---\n"
    sandbox.write(
        root / ".claude/agents/explorer.md", agent.format("Explorer", "inheritProjectMcps: false\n")
    )
    sandbox.write(sandbox.home / ".claude/agents/scout.md", agent.format("scout", "mcpServers: git\n"))
    sandbox.write(
        sandbox.home / ".claude/agents/child.md",
        agent.format("child", CHILD),
    )
    with sandbox.registry() as registry:
        assert given(registry, root, "explorer") == []
        assert given(registry, root, "scout") == ["project git"]
        assert given(registry, root, "child") == []
        assert given(registry, root, "child", "scout") == ["project git"]


def test_agents_and_those_they_start_inherit_servers_of_all_three_scopes(
    sandbox: Sandbox, root: Path
) -> None:
    sandbox.write(sandbox.home / ".klaude/.mcp.json", servers("git", "mail"))
    sandbox.write(root / ".mcp.json", servers("git", "wiki"))
    sandbox.write(root / ".claude/settings.json", servers("git", "lab"))
    agents = {"heir": "", "lead": "mcpServers: git, mail\n", "child": CHILD}
    for name, more in agents.items():
        sandbox.write(root / f".claude/agents/{name}.md", f"---\nname: {name}\ndescription: d\n{more}---\n")
    with sandbox.registry() as registry:
        assert given(registry, root, "heir") == ["global mail", "local git", "local lab", "project wiki"]
        assert given(registry, root, "child", "heir") == given(registry, root, "heir")
        assert given(registry, root, "child", "lead") == ["global mail", "local git"]


def test_a_local_server_that_lies_in_the_repository_is_not_started_without_trust(
    sandbox: Sandbox, root: Path
) -> None:
    sandbox.write(root / ".claude/settings.json", servers("git"))
    with sandbox.registry() as registry:
        here = registry.at(str(root), "klaude")
        assert [item.declaration.server for item in registry.trust.servers(here)] == ["git"]
        starting = registry.explain("git", replace(here, starts_servers=True)).decision
    assert (starting.gate, starting.is_available) == ("config", False)
