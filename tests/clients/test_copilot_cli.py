from pathlib import Path

import pytest

from remit.registry import Registry
from support import Desk, names, servers


@pytest.fixture
def root(desk: Desk) -> Path:
    return desk.project("shop")


def trust(desk: Desk, *folders: Path, key: str = "trusted_folders") -> None:
    state = {"firstLaunchAt": "2026-11-15", key: [str(folder) for folder in folders]}
    desk.write(desk.home / ".copilot/config.json", state)


def used(desk: Desk, directory: Path, *, is_headless: bool = False) -> list[str]:
    with desk.registry() as registry:
        return names(registry, registry.at(str(directory), "copilot-cli", is_headless=is_headless))


@pytest.mark.parametrize("is_headless", [False, True])
def test_a_projects_servers_wait_until_its_folder_is_trusted(
    desk: Desk, root: Path, is_headless: bool
) -> None:
    desk.write(desk.home / ".copilot/mcp-config.json", servers("git"))
    desk.write(root / ".mcp.json", servers("till"))
    assert used(desk, root, is_headless=is_headless) == ["global git"]
    trust(desk, desk.root / "code/blog")
    assert used(desk, root, is_headless=is_headless) == ["global git"]
    trust(desk, root)
    assert used(desk, root, is_headless=is_headless) == ["global git", "project till"]


@pytest.mark.parametrize("key", ["trusted_folders", "trustedFolders"])
def test_trust_in_a_folder_is_trust_in_what_lies_below_it(desk: Desk, root: Path, key: str) -> None:
    desk.write(root / ".mcp.json", servers("till"))
    trust(desk, root.parent, key=key)
    assert used(desk, root) == ["project till"]


def test_a_server_that_waits_does_not_stand_in_the_users_way(desk: Desk, root: Path) -> None:
    desk.write(desk.home / ".copilot/mcp-config.json", servers("git"))
    desk.write(root / ".mcp.json", servers("git"))
    assert used(desk, root) == ["global git"]
    trust(desk, root)
    assert used(desk, root) == ["project git"]


def source(registry: Registry, label: str, directory: Path) -> str:
    explained = registry.explain(label, registry.at(str(directory), "copilot-cli"))
    assert explained.tool is not None
    return explained.tool.source


def test_the_nearer_directory_wins_and_in_one_directory_the_file_outside_github(
    desk: Desk, root: Path
) -> None:
    trust(desk, root)
    api = root / "packages/api"
    outer = desk.write(root / ".mcp.json", servers("git", "wiki"))
    desk.write(root / ".github/mcp.json", servers("git", "wiki"))
    nearer = desk.write(api / ".github/mcp.json", servers("git"))
    desk.write(root.parent / ".mcp.json", servers("ghost"))
    with desk.registry() as registry:
        assert source(registry, "git", api) == str(nearer)
        assert source(registry, "wiki", api) == str(outer)
        assert source(registry, "git", root) == str(outer)
    assert used(desk, api) == ["project git", "project wiki"]
