"""What counts for a client whose files hold a map of servers: which directories, and which file wins."""

from pathlib import Path

import pytest

from support.builders import servers, visible_names
from support.sandbox import Sandbox

VSCODE = {"servers": {"git": {"command": "x"}}}


def used(sandbox: Sandbox, client: str, directory: Path) -> list[str]:
    with sandbox.registry() as registry:
        return visible_names(registry, registry.at(str(directory), client))


def source(sandbox: Sandbox, client: str, directory: Path) -> str:
    """The file of the server `git` that is in force."""
    with sandbox.registry() as registry:
        explained = registry.explain("git", registry.at(str(directory), client))
    assert explained.decision.is_available
    assert explained.tool is not None
    return explained.tool.source


@pytest.mark.parametrize(
    ("client", "file", "user"),
    [
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
        ("kiro", ".kiro/settings/mcp.json", ".kiro/settings/mcp.json"),
        (
            "roo",
            ".roo/mcp.json",
            ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ),
    ],
)
def test_the_nearest_of_a_projects_files_wins_and_all_of_them_over_the_users(
    sandbox: Sandbox, client: str, file: str, user: str
) -> None:
    shop = sandbox.project("shop")
    api = shop / "packages/api"
    api.mkdir(parents=True)
    personal = sandbox.write(sandbox.home / user, servers("git"))
    assert source(sandbox, client, api) == str(personal)
    outer = sandbox.write(shop / file, servers("git"))
    assert source(sandbox, client, api) == str(outer)
    inner = sandbox.write(api / file, servers("git"))
    assert (source(sandbox, client, api), source(sandbox, client, shop)) == (str(inner), str(outer))


def test_a_file_above_the_checkout_or_in_another_project_does_not_count(sandbox: Sandbox) -> None:
    shop, blog = sandbox.project("shop"), sandbox.project("blog")
    sandbox.write(shop.parent / ".cursor/mcp.json", servers("ghost"))
    sandbox.write(blog / ".cursor/mcp.json", servers("press"))
    assert used(sandbox, "cursor", blog) == ["project press"]
    assert used(sandbox, "cursor", shop) == []


@pytest.mark.parametrize("client", ["cursor", "continue"])
def test_in_the_home_directory_the_users_file_is_not_the_projects_too(sandbox: Sandbox, client: str) -> None:
    sandbox.write(sandbox.home / ".cursor/mcp.json", servers("git"))
    sandbox.write(sandbox.home / ".continue/mcpServers/git.json", servers("git"))
    assert used(sandbox, client, sandbox.home) == ["global git"]


def test_a_server_that_a_project_switches_off_is_off_although_the_user_has_it_too(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(sandbox.home / ".kiro/settings/mcp.json", servers("git"))
    sandbox.write(shop / ".kiro/settings/mcp.json", servers(git={"command": "x", "disabled": True}))
    assert used(sandbox, "kiro", shop) == []


def test_in_roo_a_server_that_is_switched_off_leaves_room_for_the_users(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    storage = sandbox.home / ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline"
    personal = sandbox.write(storage / "settings/mcp_settings.json", servers("git"))
    sandbox.write(shop / ".roo/mcp.json", servers(git={"command": "x", "disabled": True}))
    assert source(sandbox, "roo", shop) == str(personal)


def test_in_vscode_the_users_file_wins_over_those_of_profiles_and_the_older_settings(
    sandbox: Sandbox,
) -> None:
    shop = sandbox.project("shop")
    user = sandbox.home / ".config/Code/User"
    older = sandbox.write(user / "settings.json", {"mcp": VSCODE})
    assert source(sandbox, "vscode", shop) == str(older)
    profile = sandbox.write(user / "profiles/a/mcp.json", VSCODE)
    assert source(sandbox, "vscode", shop) == str(profile)
    own = sandbox.write(user / "mcp.json", VSCODE)
    assert source(sandbox, "vscode", shop) == str(own)


def test_in_cline_the_shared_file_wins_over_the_extensions(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    storage = sandbox.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
    older = sandbox.write(storage / "settings/cline_mcp_settings.json", servers("git"))
    assert source(sandbox, "cline", shop) == str(older)
    shared = sandbox.write(sandbox.home / ".cline/data/settings/cline_mcp_settings.json", servers("git"))
    assert source(sandbox, "cline", shop) == str(shared)


def test_in_continue_the_configuration_wins_over_blocks_and_of_those_the_first(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    blocks = sandbox.home / ".continue/mcpServers"
    sandbox.write(blocks / "b.json", servers("git"))
    first = sandbox.write(blocks / "a.json", servers("git"))
    sandbox.write(blocks / "notes.txt", "git")
    assert source(sandbox, "continue", shop) == str(first)
    whole = sandbox.write(sandbox.home / ".continue/config.yaml", "mcpServers: [{name: git, command: x}]")
    assert source(sandbox, "continue", shop) == str(whole)


def test_a_new_block_is_seen_by_the_next_look(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    assert used(sandbox, "continue", shop) == []
    sandbox.write(shop / ".continue/mcpServers/git.yaml", "mcpServers: [{name: git, command: x}]")
    assert used(sandbox, "continue", shop) == ["project git"]


def test_a_file_that_is_broken_for_the_moment_loses_nothing(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    file = sandbox.write(shop / ".vscode/mcp.json", VSCODE)
    assert used(sandbox, "vscode", shop) == ["project git"]
    sandbox.write(file, "{")
    assert used(sandbox, "vscode", shop) == ["project git"]
