from pathlib import Path

import pytest

from remit.registry import Registry
from support.builders import servers, visible_names
from support.sandbox import Sandbox


@pytest.fixture
def root(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


def trust(sandbox: Sandbox, *folders: Path, key: str = "trusted_folders") -> None:
    state = {"firstLaunchAt": "2026-11-15", key: [str(folder) for folder in folders]}
    sandbox.write(sandbox.home / ".copilot/config.json", state)


def used(sandbox: Sandbox, directory: Path, *, is_headless: bool = False) -> list[str]:
    with sandbox.registry() as registry:
        return visible_names(registry, registry.at(str(directory), "copilot-cli", is_headless=is_headless))


@pytest.mark.parametrize("is_headless", [False, True])
def test_a_projects_servers_wait_until_its_folder_is_trusted(
    sandbox: Sandbox, root: Path, is_headless: bool
) -> None:
    sandbox.write(sandbox.home / ".copilot/mcp-config.json", servers("git"))
    sandbox.write(root / ".mcp.json", servers("till"))
    assert used(sandbox, root, is_headless=is_headless) == ["global git"]
    trust(sandbox, sandbox.root / "code/blog")
    assert used(sandbox, root, is_headless=is_headless) == ["global git"]
    trust(sandbox, root)
    assert used(sandbox, root, is_headless=is_headless) == ["global git", "project till"]


@pytest.mark.parametrize("key", ["trusted_folders", "trustedFolders"])
def test_trust_in_a_folder_is_trust_in_what_lies_below_it(sandbox: Sandbox, root: Path, key: str) -> None:
    sandbox.write(root / ".mcp.json", servers("till"))
    trust(sandbox, root.parent, key=key)
    assert used(sandbox, root) == ["project till"]


def test_a_server_that_waits_does_not_stand_in_the_users_way(sandbox: Sandbox, root: Path) -> None:
    sandbox.write(sandbox.home / ".copilot/mcp-config.json", servers("git"))
    sandbox.write(root / ".mcp.json", servers("git"))
    assert used(sandbox, root) == ["global git"]
    trust(sandbox, root)
    assert used(sandbox, root) == ["project git"]


def source(registry: Registry, label: str, directory: Path) -> str:
    explained = registry.explain(label, registry.at(str(directory), "copilot-cli"))
    assert explained.tool is not None
    return explained.tool.source


def test_the_nearer_directory_wins_and_in_one_directory_the_file_outside_github(
    sandbox: Sandbox, root: Path
) -> None:
    trust(sandbox, root)
    api = root / "packages/api"
    outer = sandbox.write(root / ".mcp.json", servers("git", "wiki"))
    sandbox.write(root / ".github/mcp.json", servers("git", "wiki"))
    nearer = sandbox.write(api / ".github/mcp.json", servers("git"))
    sandbox.write(root.parent / ".mcp.json", servers("ghost"))
    with sandbox.registry() as registry:
        assert source(registry, "git", api) == str(nearer)
        assert source(registry, "wiki", api) == str(outer)
        assert source(registry, "git", root) == str(outer)
    assert used(sandbox, api) == ["project git", "project wiki"]
