from pathlib import Path

import pytest

from support.builders import servers
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop")


def plugins_root(sandbox: Sandbox) -> Path:
    return sandbox.home / ".claude/plugins"


def add_marketplace(sandbox: Sandbox, name: str = "orchard", source: dict[str, str] | None = None) -> Path:
    location = plugins_root(sandbox) / "marketplaces" / name
    entries = [{"name": plugin, "source": f"./plugins/{plugin}"} for plugin in ("quill", "sprocket")]
    sandbox.write(location / ".claude-plugin/marketplace.json", {"name": name, "plugins": entries})
    known = {
        "source": source or {"source": "github", "repo": "ada/orchard"},
        "installLocation": str(location),
    }
    sandbox.write(plugins_root(sandbox) / "known_marketplaces.json", {name: known})
    return location


def add_copy(sandbox: Sandbox, version: str, *labels: str, plugin: str = "quill", **manifest: object) -> str:
    folder = plugins_root(sandbox) / "cache/orchard" / plugin / version
    sandbox.write(folder / ".claude-plugin/plugin.json", {"name": plugin, **manifest})
    sandbox.write(folder / ".mcp.json", servers(*labels)["mcpServers"])
    return str(folder)


def record(sandbox: Sandbox, *records: dict[str, str], plugin: str = "quill@orchard") -> None:
    sandbox.write(
        plugins_root(sandbox) / "installed_plugins.json", {"version": 2, "plugins": {plugin: list(records)}}
    )


def switch(sandbox: Sandbox, path: Path, **plugins: object) -> None:
    enabled = {f"{name}@orchard": value for name, value in plugins.items()}
    sandbox.write(path, {"enabledPlugins": enabled, "enableAllProjectMcpServers": True})


def visible(sandbox: Sandbox, directory: Path) -> list[str]:
    registry = sandbox.registry()
    listed = registry.tools(registry.at(str(directory)))
    return sorted(item.tool.name for item in listed if item.decision.is_available)


@pytest.fixture
def quill(sandbox: Sandbox) -> Path:
    """The plugin `quill`, installed for the user, not yet switched on; its settings file."""
    add_marketplace(sandbox)
    record(sandbox, {"scope": "user", "installPath": add_copy(sandbox, "1.0.0", "spell")})
    return sandbox.home / ".claude/settings.json"


@pytest.mark.usefixtures("quill")
def test_an_installed_plugin_that_is_not_switched_on_is_listed_as_off(sandbox: Sandbox, shop: Path) -> None:
    registry = sandbox.registry()
    decision = registry.explain("quill@orchard", registry.at(str(shop))).decision
    assert "disabled in the client" in decision.reason
    assert visible(sandbox, shop) == []


def test_a_plugin_that_is_switched_on_brings_its_servers(sandbox: Sandbox, shop: Path, quill: Path) -> None:
    switch(sandbox, quill, quill=True)
    assert visible(sandbox, shop) == ["mcp__plugin_quill_spell__*", "quill@orchard"]


@pytest.mark.parametrize("value", [False, "true", 1, None])
def test_only_true_switches_on(sandbox: Sandbox, shop: Path, quill: Path, value: object) -> None:
    switch(sandbox, quill, quill=value)
    assert visible(sandbox, shop) == []


def test_the_nearer_settings_decide(sandbox: Sandbox, shop: Path, quill: Path) -> None:
    switch(sandbox, quill, quill=True)
    switch(sandbox, shop / ".claude/settings.json", quill=False)
    assert visible(sandbox, shop) == []
    switch(sandbox, shop / ".claude/settings.local.json", quill=True)
    assert visible(sandbox, shop) == ["mcp__plugin_quill_spell__*", "quill@orchard"]


@pytest.mark.usefixtures("quill")
def test_a_plugin_that_only_a_project_switches_on_stays_there(sandbox: Sandbox, shop: Path) -> None:
    switch(sandbox, shop / ".claude/settings.json", quill=True)
    blog = sandbox.project("blog")
    assert visible(sandbox, shop) == ["mcp__plugin_quill_spell__*", "quill@orchard"]
    assert visible(sandbox, blog) == []


def test_the_first_record_that_applies_says_where_the_copy_lies(sandbox: Sandbox, shop: Path) -> None:
    add_marketplace(sandbox)
    user = {"scope": "user", "installPath": add_copy(sandbox, "1.0.0", "old")}
    mine = {"scope": "project", "projectPath": str(shop), "installPath": add_copy(sandbox, "1.1.0", "new")}
    other = {
        "scope": "local",
        "projectPath": "/elsewhere",
        "installPath": add_copy(sandbox, "9.0.0", "other"),
    }
    switch(sandbox, sandbox.home / ".claude/settings.json", quill=True)
    for records, label in (((user, mine), "old"), ((mine, user), "new"), ((other, user), "old")):
        record(sandbox, *records)
        assert visible(sandbox, shop)[0] == f"mcp__plugin_quill_{label}__*"
    record(sandbox, other)
    assert visible(sandbox, shop) == []


def test_a_record_of_the_old_form_is_for_everywhere(sandbox: Sandbox, shop: Path, quill: Path) -> None:
    switch(sandbox, quill, quill=True)
    old = {"installPath": add_copy(sandbox, "0.9.0", "ancient"), "version": "0.9.0"}
    sandbox.write(
        plugins_root(sandbox) / "installed_plugins.json", {"version": 1, "plugins": {"quill@orchard": old}}
    )
    assert visible(sandbox, shop)[0] == "mcp__plugin_quill_ancient__*"


def test_a_marketplace_that_is_a_directory_is_read_in_place(sandbox: Sandbox, shop: Path) -> None:
    location = add_marketplace(sandbox, source={"source": "directory", "path": "/ignored"})
    sandbox.write(location / "plugins/quill/.mcp.json", servers("here"))
    switch(sandbox, sandbox.home / ".claude/settings.json", quill=True)
    assert visible(sandbox, shop) == ["mcp__plugin_quill_here__*", "quill@orchard"]


def test_without_its_marketplace_a_plugin_is_not_loaded(sandbox: Sandbox, shop: Path, quill: Path) -> None:
    switch(sandbox, quill, quill=True)
    (plugins_root(sandbox) / "known_marketplaces.json").unlink()
    assert visible(sandbox, shop) == []


def test_the_manifests_servers_are_stronger_than_the_files(sandbox: Sandbox, shop: Path, quill: Path) -> None:
    switch(sandbox, quill, quill=True)
    add_copy(
        sandbox, "1.0.0", "spell", "file", mcpServers={"spell": {"type": "http", "url": "https://mcp.test/"}}
    )
    registry = sandbox.registry()
    listed = registry.tools(registry.at(str(shop)))
    sources = {item.tool.server: Path(item.tool.source).name for item in listed if item.tool.server}
    assert sources == {"spell": "plugin.json", "file": ".mcp.json"}


def test_one_bad_entry_in_its_manifest_makes_a_plugin_unusable(
    sandbox: Sandbox, shop: Path, quill: Path
) -> None:
    switch(sandbox, quill, quill=True)
    add_copy(sandbox, "1.0.0", "spell", mcpServers={"bad": {"url": "https://mcp.test/"}})
    registry = sandbox.registry()
    assert visible(sandbox, shop) == []
    assert "`url` without a remote `type`" in registry.problems(registry.at(str(shop)))[0].reason


def test_a_plugins_server_yields_to_one_of_the_user_with_the_same_command(
    sandbox: Sandbox, shop: Path, quill: Path
) -> None:
    switch(sandbox, quill, quill=True)
    sandbox.write_state("spell")
    assert visible(sandbox, shop) == ["mcp__spell__*", "quill@orchard"]
    sandbox.write_state("spell", local={shop: {"disabledMcpServers": ["spell"]}})
    assert visible(sandbox, shop) == ["mcp__plugin_quill_spell__*", "quill@orchard"]


@pytest.mark.parametrize("name", ["installed_plugins.json", "known_marketplaces.json"])
@pytest.mark.parametrize(
    "content", ["[]", '{"plugins": 7, "orchard": 7}', '{"plugins": {"quill@orchard": [7]}}']
)
def test_records_of_another_shape_load_nothing_and_break_nothing(
    sandbox: Sandbox, shop: Path, quill: Path, name: str, content: str
) -> None:
    switch(sandbox, quill, quill=True)
    sandbox.write(shop / ".mcp.json", servers("till"))
    sandbox.write(plugins_root(sandbox) / name, content)
    assert visible(sandbox, shop) == ["mcp__till__*"]


def test_a_server_file_of_the_wrong_shape_costs_only_itself(
    sandbox: Sandbox, shop: Path, quill: Path
) -> None:
    switch(sandbox, quill, quill=True)
    folder = Path(add_copy(sandbox, "1.0.0", mcpServers=servers("ink")["mcpServers"]))
    sandbox.write(folder / ".mcp.json", {"mcpServers": "spell"})
    assert visible(sandbox, shop) == ["mcp__plugin_quill_ink__*", "quill@orchard"]
    registry = sandbox.registry()
    (problem,) = registry.problems(registry.at(str(shop)))
    assert problem.source == str(folder / ".mcp.json")


@pytest.mark.usefixtures("quill")
def test_a_server_of_a_plugin_that_only_the_project_switched_on_needs_trust_until_the_plugin_changes(
    sandbox: Sandbox, shop: Path
) -> None:
    switch(sandbox, shop / ".claude/settings.json", quill=True)
    registry = sandbox.registry()
    at = registry.at(str(shop))
    (waiting,) = registry.trust.servers(at)
    assert waiting.declaration.launch is not None
    assert waiting.declaration.launch.variables == {
        "CLAUDE_PLUGIN_ROOT": str(plugins_root(sandbox) / "cache/orchard/quill/1.0.0"),
        "CLAUDE_PLUGIN_DATA": str(plugins_root(sandbox) / "data/quill-orchard"),
    }
    registry.trust.grant([waiting], at)
    assert [item.is_trusted for item in registry.trust.servers(at)] == [True]
    record(sandbox, {"scope": "user", "installPath": add_copy(sandbox, "2.0.0", "spell")})
    assert [(item.is_trusted, item.is_changed) for item in registry.trust.servers(at)] == [(False, True)]


def test_a_server_of_a_plugin_of_the_users_own_needs_no_trust(
    sandbox: Sandbox, shop: Path, quill: Path
) -> None:
    switch(sandbox, quill, quill=True)
    registry = sandbox.registry()
    assert registry.trust.servers(registry.at(str(shop))) == []


def test_a_plugin_that_the_user_switched_off_and_a_project_on_needs_trust(
    sandbox: Sandbox, shop: Path, quill: Path
) -> None:
    switch(sandbox, quill, quill=False)
    switch(sandbox, shop / ".claude/settings.json", quill=True)
    registry = sandbox.registry()
    assert [item.declaration.server for item in registry.trust.servers(registry.at(str(shop)))] == ["spell"]


def test_a_plugin_that_is_installed_for_one_project_is_not_seen_in_another(
    sandbox: Sandbox, shop: Path
) -> None:
    add_marketplace(sandbox)
    folder = add_copy(sandbox, "1.0.0", "spell")
    record(sandbox, {"scope": "project", "projectPath": str(shop), "installPath": folder})
    registry = sandbox.registry()
    assert registry.explain("quill@orchard", registry.at(str(shop))).tool is not None
    assert registry.explain("quill@orchard", registry.at(str(sandbox.project("blog")))).tool is None


def test_two_plugins_that_start_the_same_file_of_their_own_are_two_servers(
    sandbox: Sandbox, shop: Path
) -> None:
    entry = {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/server.js"]}
    location = add_marketplace(sandbox, source={"source": "directory", "path": "here"})
    for plugin in ("quill", "sprocket"):
        sandbox.write(location / "plugins" / plugin / ".mcp.json", {"s": entry})
    switch(sandbox, sandbox.home / ".claude/settings.json", quill=True, sprocket=True)
    names = [name for name in visible(sandbox, shop) if name.endswith("__*")]
    assert names == ["mcp__plugin_quill_s__*", "mcp__plugin_sprocket_s__*"]
