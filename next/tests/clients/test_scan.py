"""Scans: what is stored when files change, what stays when they break, and what is read again."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from remit.clients import Scanner, SettingsFacts, declaration_line, line_of
from remit.decision import REMIT, Declaration, Face, Kind, Resolved, Scope, View, server_name
from remit.files import Edit, Format, apply_edits
from remit.store import Problem
from support.builders import SHOP, server
from support.homes import Home, loaded, named, servers

STATE, SETTINGS = ".claude.json", ".claude/settings.json"
HALF = '{"half'
DENIED = {"deniedMcpServers": [{"serverUrl": "https://*.evil.test/*"}]}
EVIL = servers("wiki", evil={"type": "http", "url": "https://mcp.evil.test/"})


def test_an_unchanged_workspace_writes_nothing_and_parses_nothing(
    home: Home, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(STATE, servers("git"))
    now = {"ns": 0}
    scanner = Scanner(home.store, home.machine, lambda: 1, now_ns=lambda: now["ns"])
    now["ns"] = 2**63  # long after the files were written
    scanner.refresh(home.context(shop))
    revision = home.store.catalog.revision()
    written = home.store.database.rows("view", **_view(home, shop))
    monkeypatch.setitem(sys.modules, "remit.clients.reader", None)
    Scanner(home.store, home.machine, lambda: 2).refresh(home.context(shop))
    assert home.store.catalog.revision() == revision
    assert home.store.database.rows("view", **_view(home, shop)) == written


def _view(home: Home, shop: Path) -> dict[str, str]:
    workspace = home.context(shop).workspace
    place = {"workspace": workspace.dir, "flags": "", "project": workspace.project.hash}
    return {"client": home.client, **place}


def test_a_new_changed_or_removed_file_is_noticed_at_once(home: Home, shop: Path) -> None:
    context = home.context(shop, client="continue")
    block = shop / ".continue/mcpServers/git.yaml"
    assert home.scanned(shop, client="continue") == []
    home.write(block, "mcpServers: [{name: git, command: x}]")
    assert home.scanned(shop, client="continue") == ["project git"]
    home.write(block, "mcpServers: [{name: wiki, command: x}]")
    changes = home.scanner.scan(context)
    assert [named(item) for item in (*changes.added, *changes.removed)] == ["project wiki", "project git"]
    block.unlink()
    assert home.scanned(shop, client="continue") == []


def test_a_file_that_the_client_rewrites_with_the_same_servers_changes_no_catalog(
    home: Home, shop: Path
) -> None:
    home.write(STATE, servers("git"))
    home.scanned(shop)
    revision = home.store.catalog.revision()
    home.write(STATE, {**servers("git"), "numStartups": 7})
    assert home.scanned(shop) == ["global git"]
    assert home.store.catalog.revision() == revision


def test_launches_are_returned_and_never_stored(home: Home, shop: Path) -> None:
    home.write(STATE, servers(git={"command": "x", "env": {"TOKEN": "hush-hush"}}))
    context = home.context(shop)
    home.scanner.refresh(context)
    for scanner in (home.scanner, Scanner(home.store, home.machine, lambda: 1)):
        [item] = scanner.last_resolved(context)
        assert item.declaration.launch is not None
        assert item.declaration.launch.env == {"TOKEN": "hush-hush"}
    last = home.store.scans.last(context.view(home.client))
    assert last is not None
    assert last.resolved[0].declaration.launch is None
    assert "hush" not in repr(last)


def test_readings_are_fresh_and_store_what_changed(home: Home, shop: Path) -> None:
    home.write(STATE, servers("git"))
    home.write(".cursor/mcp.json", servers("kite"))
    context = home.context(shop)._replace(client=None)
    readings = home.scanner.readings(context)
    assert loaded(readings["claude-code"]) == ["global git"]
    assert loaded(readings["cursor"]) == ["global kite"]
    assert home.store.scans.last(context.view("cursor")) is not None


def test_facts_are_stored_and_read_back(home: Home, shop: Path) -> None:
    home.write(shop / SETTINGS, servers("git"))
    text = "---\nname: scout\ndescription: d\nmcpServers: wiki\n---\n"
    home.write(shop / ".claude/agents/scout.md", text)
    home.write(shop / ".claude/skills/t/.claude-plugin/plugin.json", {"name": "t"})
    home.write(shop / ".claude/skills/t/hooks/hooks.json", {"modules": ["./m.ts"]})
    home.write(STATE, {"projects": {str(shop): {"hasTrustDialogAccepted": True}}})
    context = home.context(shop)
    reading = home.scanner.readings(context)[home.client]
    stored = home.store.scans.clients(context.view(home.client))[home.client].facts
    facts = SettingsFacts.parse(stored)
    assert facts == reading.facts
    assert (facts.searches, len(facts.ignored), len(facts.missing), len(facts.mods)) == (True, 1, 1, 1)
    assert SettingsFacts.parse({"of_tomorrow": 1}) == SettingsFacts(ignored=[], missing=[], mods=[])


def test_clients_are_listed_with_their_files(home: Home, shop: Path) -> None:
    home.write(STATE, servers("git", "wiki"))
    home.write(shop / ".cursor/mcp.json", servers("kite"))
    presences = {
        item.client: item for item in home.scanner.presences(home.context(shop)._replace(client=None))
    }
    claude, cursor = presences["claude-code"], presences["cursor"]
    assert (claude.servers, claude.is_found, claude.files) == (2, True, [str(home.path / STATE)])
    assert (cursor.servers, cursor.is_found) == (1, False)
    assert home.store.scans.inputs(home.context(shop).view("cursor")) == {}


def own_server(
    view: View, resolved: Sequence[Resolved], is_served: bool
) -> tuple[Sequence[Resolved], Sequence[Problem]]:
    if not is_served:
        return resolved, ()
    place = (view.client, Kind.MCP_SERVER, Scope.GLOBAL, None, None, None)
    own = Declaration(*place, "remit-memory", server_name("remit-memory"), source=REMIT)
    return [*resolved, Resolved(own)], [Problem(REMIT, "", "added")]


def test_the_own_server_is_added_once_a_gateway_runs_and_stays_between_runs(home: Home, shop: Path) -> None:
    home.write(STATE, servers("git"))

    def names(face: Face) -> list[str]:
        scanner = Scanner(home.store, home.machine, lambda: 1, own_server, now_ns=lambda: 2**63)
        context = home.context(shop, face=face)
        scanner.refresh(context)
        assert loaded(scanner.last_resolved(context)) == _stored(home, shop)
        return _stored(home, shop)

    assert names(Face.CLIENT) == ["global git"]
    assert names(Face.GATEWAY) == ["global git", "global remit-memory"]
    assert names(Face.CLIENT) == ["global git", "global remit-memory"]


def _stored(home: Home, shop: Path) -> list[str]:
    last = home.store.scans.last(home.context(shop).view(home.client))
    assert last is not None
    return loaded(last.resolved)


@pytest.fixture
def plugin(home: Home) -> dict[str, Path]:
    """The files that lead to the servers of the plugin `quill`, which is read where its marketplace lies."""
    market = home.root / "market"
    known = {"source": {"source": "directory"}, "installLocation": str(market)}
    home.write(market / "quill/.mcp.json", servers("spell"))
    manifest = {"name": "feather", **servers("ink")}
    catalogue = {"plugins": [{"name": "quill", "source": "./quill"}]}
    return {
        "settings": home.write(SETTINGS, {"enabledPlugins": {"quill@orchard": True}}),
        "marketplaces": home.write(".claude/plugins/known_marketplaces.json", {"orchard": known}),
        "catalogue": home.write(market / ".claude-plugin/marketplace.json", catalogue),
        "manifest": home.write(market / "quill/.claude-plugin/plugin.json", manifest),
    }


@pytest.mark.parametrize("broken", ["settings", "marketplaces", "catalogue", "manifest"])
def test_a_plugins_servers_stay_while_a_file_that_leads_to_them_is_broken(
    home: Home, shop: Path, plugin: dict[str, Path], broken: str
) -> None:
    before = home.scanned(shop)
    assert before == ["plugin ink", "plugin quill@orchard", "plugin spell"]
    home.write(plugin[broken], HALF)
    assert home.scanned(shop) == before
    assert home.scanned(shop) == before, "what stayed once stays"
    elsewhere = home.project("blog")
    assert home.scanned(elsewhere) == before
    plugin[broken].unlink()
    assert home.scanned(shop) != before


def test_a_plugin_that_leaves_is_gone_though_another_file_is_broken(
    home: Home, shop: Path, plugin: dict[str, Path]
) -> None:
    home.write(shop / ".mcp.json", servers("till"))
    home.scanned(shop)
    home.write(shop / ".mcp.json", "{")
    home.write(plugin["settings"], {"enableAllProjectMcpServers": True})
    assert home.scanned(shop) == ["project till"]


@pytest.mark.parametrize("broken", [STATE, SETTINGS])
def test_a_server_denied_by_its_url_stays_denied_while_either_file_is_broken(
    home: Home, shop: Path, broken: str
) -> None:
    home.write(SETTINGS, DENIED)
    home.write(STATE, EVIL)
    assert home.scanned(shop) == ["global wiki"]
    home.write(broken, HALF)
    assert home.scanned(shop) == ["global wiki"]
    assert home.scanned(home.project("blog")) == ["global wiki"]


def test_a_server_that_appears_while_a_policy_is_broken_is_judged_by_its_last_version(
    home: Home, shop: Path
) -> None:
    home.write(SETTINGS, DENIED)
    home.write(STATE, servers("wiki"))
    home.scanned(shop)
    home.write(SETTINGS, HALF)
    home.write(STATE, EVIL)
    assert home.scanned(shop) == ["global wiki"]


def test_a_secret_in_a_policys_url_is_not_stored_and_denies_every_url_instead(home: Home, shop: Path) -> None:
    token = "ghp_" + "k3J9x" * 6
    home.write(SETTINGS, {"deniedMcpServers": [{"serverUrl": f"https://a.test/?key={token}"}]})
    home.write(STATE, servers(far={"type": "http", "url": "https://b.test/"}))
    assert home.scanned(shop) == ["global far"]
    files = home.store.scans.files(home.client, [str(home.path / SETTINGS)], home.context(shop).workspace)
    assert token not in repr(files)
    home.write(SETTINGS, HALF)
    assert home.scanned(shop) == []


def test_rules_that_left_a_file_before_it_broke_stay_away(home: Home, shop: Path) -> None:
    home.write(STATE, servers("git"))
    for content in ({"deniedMcpServers": [{"serverName": "git"}]}, {}, HALF):
        home.write(SETTINGS, content)
        home.scanned(shop)
    assert home.scanned(shop) == ["global git"]


def test_a_broken_file_still_denies_and_no_longer_allows(home: Home, shop: Path) -> None:
    home.write(SETTINGS, {"permissions": {"deny": ["Bash"], "allow": ["mcp__git"]}})
    context = home.context(shop)
    assert len(home.scanner.readings(context)[home.client].permissions) == 2
    home.write(SETTINGS, "{")
    reading = home.scanner.readings(context)[home.client]
    assert [rule.text for rule in reading.permissions] == ["Bash"]
    assert reading.problems[0].reason.endswith("; using the last valid version")


def test_an_entry_of_a_broken_project_file_has_no_digest_that_trust_could_match(
    home: Home, shop: Path
) -> None:
    home.write(SETTINGS, {"enableAllProjectMcpServers": True})
    files = [home.write(STATE, servers("git")), home.write(shop / ".mcp.json", servers("till"))]
    assert home.scanned(shop) == ["global git", "project till"]
    for file in files:
        home.write(file, "{")
    assert home.scanned(shop) == ["global git", "project till"]
    last = home.scanner.last_resolved(home.context(shop))
    assert [(item.declaration.server, item.declaration.digest is None) for item in last] == [
        ("git", False),
        ("till", True),
    ]
    [claude] = home.scanner.presences(home.context(shop))
    assert claude.servers == 2


def test_a_file_that_breaks_after_an_uninstall_brings_no_gateway_back(home: Home, shop: Path) -> None:
    path = home.write(STATE, servers("git"))
    gateway = {"command": "/bin/remit", "args": ["serve"]}
    edits = [Edit(("mcpServers", "remit"), gateway)]
    text, edited = apply_edits(path.read_text(), str(path), Format.JSON, edits)
    home.write(path, text)
    home.edited[str(path)] = edited
    assert home.scanned(shop) == ["global git", "global remit"]
    home.write(path, "{")
    assert home.scanned(shop) == ["global git", "global remit"]
    home.edited.clear()
    assert home.scanned(shop) == ["global git"]


def test_a_managed_file_that_breaks_keeps_its_servers_and_excludes_the_others(home: Home, shop: Path) -> None:
    home.write(STATE, servers("git"))
    home.write(home.managed / "managed-mcp.json", servers("corp"))
    assert home.scanned(shop) == ["managed corp"]
    home.write(home.managed / "managed-mcp.json", "{")
    assert home.scanned(shop) == ["managed corp"]


@pytest.mark.parametrize(
    "content",
    [
        {"other": 1, "mcpServers": {"a": {}, "git": {"command": "x"}}},
        {"other": 1, "servers": {"a": {}, "git": {"command": "x"}}},
        {"other": 1, "mcp": {"servers": {"git": {"command": "x"}}}},
        {"other": 1, "mcp": {"a": {}, "git": {"command": "x"}}},
        {"other": 1, "context_servers": {"git": {"command": "x"}}},
        {"other": 1, "extensions": {"git": {"command": "x"}}},
        {"other": 1, "git": {"command": "x"}},
    ],
)
def test_the_line_of_a_server_is_found_in_the_tables_of_all_clients(home: Home, content: object) -> None:
    text = json.dumps(content, indent=1)
    path = home.write("servers.json", text)
    wanted = next(at for at, line in enumerate(text.splitlines(), 1) if '"git"' in line)
    assert declaration_line(server("git", source=str(path)), SHOP) == wanted


def test_lines_are_found_in_toml_and_below_a_project_and_not_in_broken_or_linked_files(home: Home) -> None:
    toml = home.write("config.toml", 'model = "x"\n\n[mcp_servers.git]\ncommand = "git"\n')
    assert declaration_line(server("git", source=str(toml)), SHOP) == 3
    projects = {SHOP.project.path: servers("git")}
    state = home.write("state.json", json.dumps({**servers("git"), "projects": projects}, indent=1))
    local = server("git", scope=Scope.LOCAL, source=str(state))
    assert declaration_line(local, SHOP) > declaration_line(local._replace(scope=Scope.GLOBAL), SHOP) > 0
    assert declaration_line(local._replace(agent="scout"), SHOP) == 0
    for name in ("broken.toml", "broken.json", "missing.json"):
        if name != "missing.json":
            home.write(name, "[mcp_servers.git")
        assert line_of(str(home.path / name), "mcp_servers", "git") == 0
    (home.path / "link.json").symlink_to(state)
    assert (line_of(str(state), "mcpServers") > 0, line_of(str(home.path / "link.json"), "mcpServers")) == (
        True,
        0,
    )


def test_every_file_that_was_looked_for_is_an_input_even_when_absent(home: Home, shop: Path) -> None:
    home.scanned(shop)
    inputs = home.scanner.inputs(home.context(shop))
    assert {str(shop / ".mcp.json"), "/.mcp.json", str(home.path / STATE)} <= inputs.keys()
    assert {"~", "$CLAUDE_CONFIG_DIR"} <= inputs.keys()
