"""A file that breaks loses nothing: not what it declared, not what it denied, not what it leads to."""

from pathlib import Path

import pytest

from remit.registry import Registry
from support.builders import servers, visible_names
from support.databases import run_sql
from support.sandbox import Sandbox


@pytest.fixture
def registry(sandbox: Sandbox) -> Registry:
    return sandbox.registry()


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


@pytest.fixture
def files(sandbox: Sandbox) -> dict[str, Path]:
    """The files that lead to the servers of the plugin `quill`, which is read where its marketplace lies."""
    plugins, market = sandbox.home / ".claude/plugins", sandbox.root / "market"
    known = {"source": {"source": "directory"}, "installLocation": str(market)}
    entry = {"name": "quill", "source": "./quill"}
    sandbox.write(market / "quill/.mcp.json", servers("spell"))
    return {
        "settings": sandbox.write(
            sandbox.home / ".claude/settings.json", {"enabledPlugins": {"quill@orchard": True}}
        ),
        "marketplaces": sandbox.write(plugins / "known_marketplaces.json", {"orchard": known}),
        "catalogue": sandbox.write(market / ".claude-plugin/marketplace.json", {"plugins": [entry]}),
        "manifest": sandbox.write(
            market / "quill/.claude-plugin/plugin.json", {"name": "feather", **servers("ink")}
        ),
    }


def client_servers(registry: Registry, shop: Path) -> int:
    (claude,) = registry.clients(registry.at(str(shop)))
    return claude.servers


@pytest.mark.parametrize("broken", ["settings", "marketplaces", "catalogue", "manifest"])
def test_a_plugins_servers_stay_while_a_file_that_leads_to_them_is_broken(
    sandbox: Sandbox, shop: Path, registry: Registry, files: dict[str, Path], broken: str
) -> None:
    here = registry.at(str(shop))
    before = visible_names(registry, here)
    assert before == ["plugin ink", "plugin quill@orchard", "plugin spell"]
    sandbox.write(files[broken], '{"half')
    assert visible_names(registry, here) == before
    files[broken].unlink()
    assert visible_names(registry, here) != before


def test_a_plugin_that_leaves_is_gone_though_another_file_is_broken(
    sandbox: Sandbox, shop: Path, registry: Registry, files: dict[str, Path]
) -> None:
    here = registry.at(str(shop))
    sandbox.write(shop / ".mcp.json", servers("till"))
    registry.scan(here)
    sandbox.write(shop / ".mcp.json", "{")
    sandbox.write(files["settings"], {"enableAllProjectMcpServers": True})
    assert visible_names(registry, here) == ["project till"]


DENIED = {"deniedMcpServers": [{"serverUrl": "https://*.evil.test/*"}]}
EVIL = servers("wiki", evil={"type": "http", "url": "https://mcp.evil.test/"})


@pytest.mark.parametrize("broken", [".claude.json", ".claude/settings.json"])
def test_a_server_denied_by_its_url_stays_denied_while_either_file_is_broken(
    sandbox: Sandbox, shop: Path, registry: Registry, broken: str
) -> None:
    here = registry.at(str(shop))
    sandbox.write(sandbox.home / ".claude/settings.json", DENIED)
    sandbox.write(sandbox.home / ".claude.json", EVIL)
    assert visible_names(registry, here) == ["global wiki"]
    sandbox.write(sandbox.home / broken, '{"half')
    assert visible_names(registry, here) == ["global wiki"]
    elsewhere = registry.at(str(sandbox.project("blog")))
    assert visible_names(registry, elsewhere) == ["global wiki"]


def test_a_remote_server_that_appears_while_a_policy_about_urls_is_broken_is_not_let_through(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    here = registry.at(str(shop))
    sandbox.write(sandbox.home / ".claude/settings.json", DENIED)
    sandbox.write_state("wiki")
    registry.scan(here)
    sandbox.write(sandbox.home / ".claude/settings.json", '{"half')
    sandbox.write(sandbox.home / ".claude.json", EVIL)
    assert visible_names(registry, here) == ["global wiki"]


@pytest.mark.parametrize("place", ["\ud800", "/a\ud800b", "\x00", "x" * 9_000])
def test_a_path_that_cannot_be_one_leads_nowhere(
    sandbox: Sandbox, shop: Path, registry: Registry, files: dict[str, Path], place: str
) -> None:
    known = {"orchard": {"source": {"source": "directory"}, "installLocation": place}}
    sandbox.write(files["marketplaces"], known)
    assert visible_names(registry, registry.at(str(shop))) == []


def test_a_policys_pattern_is_not_stored(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(sandbox.home / ".claude/settings.json", DENIED)
    registry.scan(registry.at(str(shop)))
    assert run_sql(sandbox.database, "select subject from rules where effect = 'denies'") == [
        ("forgotten-url",)
    ]


def test_a_file_that_breaks_after_an_uninstall_brings_remit_back_nowhere(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.install_gateway("git")
    here = registry.at(str(shop))
    state = sandbox.home / ".claude.json"
    assert {*visible_names(registry, here)} == {"global git", "global remit-memory"}
    sandbox.write(state, "{")
    assert {*visible_names(registry, here)} == {"global git", "global remit-memory"}
    for record in sandbox.root.rglob("installs/claude-code.json"):
        record.unlink()
    assert visible_names(registry, here) == ["global git"]
    assert client_servers(registry, shop) == 1


@pytest.mark.parametrize("broken", [".claude.json", ".mcp.json"])
def test_a_client_counts_the_servers_of_the_last_valid_version(
    sandbox: Sandbox, shop: Path, registry: Registry, broken: str
) -> None:
    files = {
        ".claude.json": sandbox.write_state("git", "wiki"),
        ".mcp.json": sandbox.write(shop / ".mcp.json", servers("till")),
    }
    registry.scan(registry.at(str(shop)))
    assert client_servers(registry, shop) == 3
    sandbox.write(files[broken], "{")
    assert client_servers(registry, shop) == 3
