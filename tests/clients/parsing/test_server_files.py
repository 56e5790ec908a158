"""What counts for a client whose files hold a map of servers: which directories, and which file wins."""

from pathlib import Path

import pytest

from support import Desk, names, servers

VSCODE = {"servers": {"git": {"command": "x"}}}


def used(desk: Desk, client: str, directory: Path) -> list[str]:
    with desk.registry() as registry:
        return names(registry, registry.at(str(directory), client))


def source(desk: Desk, client: str, directory: Path) -> str:
    """The file of the server `git` that is in force."""
    with desk.registry() as registry:
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
    desk: Desk, client: str, file: str, user: str
) -> None:
    shop = desk.project("shop")
    api = shop / "packages/api"
    api.mkdir(parents=True)
    personal = desk.write(desk.home / user, servers("git"))
    assert source(desk, client, api) == str(personal)
    outer = desk.write(shop / file, servers("git"))
    assert source(desk, client, api) == str(outer)
    inner = desk.write(api / file, servers("git"))
    assert (source(desk, client, api), source(desk, client, shop)) == (str(inner), str(outer))


def test_a_file_above_the_checkout_or_in_another_project_does_not_count(desk: Desk) -> None:
    shop, blog = desk.project("shop"), desk.project("blog")
    desk.write(shop.parent / ".cursor/mcp.json", servers("ghost"))
    desk.write(blog / ".cursor/mcp.json", servers("press"))
    assert used(desk, "cursor", blog) == ["project press"]
    assert used(desk, "cursor", shop) == []


@pytest.mark.parametrize("client", ["cursor", "continue"])
def test_in_the_home_directory_the_users_file_is_not_the_projects_too(desk: Desk, client: str) -> None:
    desk.write(desk.home / ".cursor/mcp.json", servers("git"))
    desk.write(desk.home / ".continue/mcpServers/git.json", servers("git"))
    assert used(desk, client, desk.home) == ["global git"]


def test_a_server_that_a_project_switches_off_is_off_although_the_user_has_it_too(desk: Desk) -> None:
    shop = desk.project("shop")
    desk.write(desk.home / ".kiro/settings/mcp.json", servers("git"))
    desk.write(shop / ".kiro/settings/mcp.json", servers(git={"command": "x", "disabled": True}))
    assert used(desk, "kiro", shop) == []


def test_in_roo_a_server_that_is_switched_off_leaves_room_for_the_users(desk: Desk) -> None:
    shop = desk.project("shop")
    storage = desk.home / ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline"
    personal = desk.write(storage / "settings/mcp_settings.json", servers("git"))
    desk.write(shop / ".roo/mcp.json", servers(git={"command": "x", "disabled": True}))
    assert source(desk, "roo", shop) == str(personal)


def test_in_vscode_the_users_file_wins_over_those_of_profiles_and_the_older_settings(desk: Desk) -> None:
    shop = desk.project("shop")
    user = desk.home / ".config/Code/User"
    older = desk.write(user / "settings.json", {"mcp": VSCODE})
    assert source(desk, "vscode", shop) == str(older)
    profile = desk.write(user / "profiles/a/mcp.json", VSCODE)
    assert source(desk, "vscode", shop) == str(profile)
    own = desk.write(user / "mcp.json", VSCODE)
    assert source(desk, "vscode", shop) == str(own)


def test_in_cline_the_shared_file_wins_over_the_extensions(desk: Desk) -> None:
    shop = desk.project("shop")
    storage = desk.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
    older = desk.write(storage / "settings/cline_mcp_settings.json", servers("git"))
    assert source(desk, "cline", shop) == str(older)
    shared = desk.write(desk.home / ".cline/data/settings/cline_mcp_settings.json", servers("git"))
    assert source(desk, "cline", shop) == str(shared)


def test_in_continue_the_configuration_wins_over_blocks_and_of_those_the_first(desk: Desk) -> None:
    shop = desk.project("shop")
    blocks = desk.home / ".continue/mcpServers"
    desk.write(blocks / "b.json", servers("git"))
    first = desk.write(blocks / "a.json", servers("git"))
    desk.write(blocks / "notes.txt", "git")
    assert source(desk, "continue", shop) == str(first)
    whole = desk.write(desk.home / ".continue/config.yaml", "mcpServers: [{name: git, command: x}]")
    assert source(desk, "continue", shop) == str(whole)


def test_a_new_block_is_seen_by_the_next_look(desk: Desk) -> None:
    shop = desk.project("shop")
    assert used(desk, "continue", shop) == []
    desk.write(shop / ".continue/mcpServers/git.yaml", "mcpServers: [{name: git, command: x}]")
    assert used(desk, "continue", shop) == ["project git"]


def test_a_file_that_is_broken_for_the_moment_loses_nothing(desk: Desk) -> None:
    shop = desk.project("shop")
    file = desk.write(shop / ".vscode/mcp.json", VSCODE)
    assert used(desk, "vscode", shop) == ["project git"]
    desk.write(file, "{")
    assert used(desk, "vscode", shop) == ["project git"]
