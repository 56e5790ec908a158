"""A file that breaks loses nothing: not what it declared, not what it denied, not what it leads to."""

from pathlib import Path

import pytest

from remit.registry import Registry
from support import Desk, names, servers, stored


@pytest.fixture
def registry(desk: Desk) -> Registry:
    return desk.registry()


@pytest.fixture
def shop(desk: Desk) -> Path:
    return desk.project("shop")


@pytest.fixture
def files(desk: Desk) -> dict[str, Path]:
    """The files that lead to the servers of the plugin `quill`, which is read where its marketplace lies."""
    plugins, market = desk.home / ".claude/plugins", desk.root / "market"
    known = {"source": {"source": "directory"}, "installLocation": str(market)}
    entry = {"name": "quill", "source": "./quill"}
    desk.write(market / "quill/.mcp.json", servers("spell"))
    return {
        "settings": desk.write(
            desk.home / ".claude/settings.json", {"enabledPlugins": {"quill@orchard": True}}
        ),
        "marketplaces": desk.write(plugins / "known_marketplaces.json", {"orchard": known}),
        "catalogue": desk.write(market / ".claude-plugin/marketplace.json", {"plugins": [entry]}),
        "manifest": desk.write(
            market / "quill/.claude-plugin/plugin.json", {"name": "feather", **servers("ink")}
        ),
    }


@pytest.mark.parametrize("broken", ["settings", "marketplaces", "catalogue", "manifest"])
def test_a_plugins_servers_stay_while_a_file_that_leads_to_them_is_broken(
    desk: Desk, shop: Path, registry: Registry, files: dict[str, Path], broken: str
) -> None:
    here = registry.at(str(shop))
    before = names(registry, here)
    assert before == ["plugin ink", "plugin quill@orchard", "plugin spell"]
    desk.write(files[broken], '{"half')
    assert names(registry, here) == before
    files[broken].unlink()
    assert names(registry, here) != before


def test_a_plugin_that_leaves_is_gone_though_another_file_is_broken(
    desk: Desk, shop: Path, registry: Registry, files: dict[str, Path]
) -> None:
    here = registry.at(str(shop))
    desk.write(shop / ".mcp.json", servers("till"))
    registry.scan(here)
    desk.write(shop / ".mcp.json", "{")
    desk.write(files["settings"], {"enableAllProjectMcpServers": True})
    assert names(registry, here) == ["project till"]


DENIED = {"deniedMcpServers": [{"serverUrl": "https://*.evil.test/*"}]}
EVIL = servers("wiki", evil={"type": "http", "url": "https://mcp.evil.test/"})


@pytest.mark.parametrize("broken", [".claude.json", ".claude/settings.json"])
def test_a_server_denied_by_its_url_stays_denied_while_either_file_is_broken(
    desk: Desk, shop: Path, registry: Registry, broken: str
) -> None:
    here = registry.at(str(shop))
    desk.write(desk.home / ".claude/settings.json", DENIED)
    desk.write(desk.home / ".claude.json", EVIL)
    assert names(registry, here) == ["global wiki"]
    desk.write(desk.home / broken, '{"half')
    assert names(registry, here) == ["global wiki"]
    elsewhere = registry.at(str(desk.project("blog")))
    assert names(registry, elsewhere) == ["global wiki"]


def test_a_remote_server_that_appears_while_a_policy_about_urls_is_broken_is_not_let_through(
    desk: Desk, shop: Path, registry: Registry
) -> None:
    here = registry.at(str(shop))
    desk.write(desk.home / ".claude/settings.json", DENIED)
    desk.write_state("wiki")
    registry.scan(here)
    desk.write(desk.home / ".claude/settings.json", '{"half')
    desk.write(desk.home / ".claude.json", EVIL)
    assert names(registry, here) == ["global wiki"]


@pytest.mark.parametrize("place", ["\ud800", "/a\ud800b", "\x00", "x" * 9_000])
def test_a_path_that_cannot_be_one_leads_nowhere(
    desk: Desk, shop: Path, registry: Registry, files: dict[str, Path], place: str
) -> None:
    known = {"orchard": {"source": {"source": "directory"}, "installLocation": place}}
    desk.write(files["marketplaces"], known)
    assert names(registry, registry.at(str(shop))) == []


def test_a_policys_pattern_is_not_stored(desk: Desk, shop: Path, registry: Registry) -> None:
    desk.write(desk.home / ".claude/settings.json", DENIED)
    registry.scan(registry.at(str(shop)))
    assert stored(desk.database, "select subject from rules where effect = 'denies'") == [("forgotten-url",)]
