"""Claude Code's plugins: which are on, where their copies lie, what they bring, and what policies allow."""

from pathlib import Path
from typing import Any

import pytest

from support.homes import Home, loaded, reasons, servers, statuses

PLUGINS = ".claude/plugins"
SETTINGS = ".claude/settings.json"
ON = ["plugin quill@orchard", "plugin spell"]


def add_marketplace(home: Home, name: str = "orchard", source: dict[str, str] | None = None) -> Path:
    location = home.path / PLUGINS / "marketplaces" / name
    entries = [{"name": plugin, "source": f"./plugins/{plugin}"} for plugin in ("quill", "sprocket")]
    home.write(location / ".claude-plugin/marketplace.json", {"name": name, "plugins": entries})
    source = source or {"source": "github", "repo": "ada/orchard"}
    known = {"source": source, "installLocation": str(location)}
    home.write(f"{PLUGINS}/known_marketplaces.json", {name: known})
    return location


def add_copy(home: Home, version: str, *labels: str, plugin: str = "quill", **manifest: object) -> str:
    folder = home.path / PLUGINS / "cache/orchard" / plugin / version
    home.write(folder / ".claude-plugin/plugin.json", {"name": plugin, **manifest})
    home.write(folder / ".mcp.json", servers(*labels)["mcpServers"])
    return str(folder)


def record(home: Home, *records: object, plugin: str = "quill@orchard") -> None:
    home.write(f"{PLUGINS}/installed_plugins.json", {"version": 2, "plugins": {plugin: list(records)}})


def switch(home: Home, path: Path | str = SETTINGS, **plugins: object) -> None:
    home.write(path, {"enabledPlugins": {f"{name}@orchard": value for name, value in plugins.items()}})


@pytest.fixture
def quill(home: Home) -> str:
    """The plugin `quill`, installed for the user, not yet switched on; its folder."""
    add_marketplace(home)
    folder = add_copy(home, "1.0.0", "spell")
    record(home, {"scope": "user", "installPath": folder})
    return folder


@pytest.mark.usefixtures("quill")
def test_only_literal_true_enables_a_plugin(home: Home, shop: Path) -> None:
    assert statuses(home.read(shop)) == {"plugin quill@orchard": "disabled"}
    for value in (False, "true", 1, None):
        switch(home, quill=value)
        assert loaded(home.read(shop)) == []
    switch(home, quill=True)
    assert loaded(home.read(shop)) == ON
    assert home.read(shop).declarations[1].name == "mcp__plugin_quill_spell__*"


@pytest.mark.usefixtures("quill")
def test_the_nearer_settings_decide(home: Home, shop: Path) -> None:
    switch(home, quill=True)
    switch(home, shop / SETTINGS, quill=False)
    assert loaded(home.read(shop)) == []
    switch(home, shop / ".claude/settings.local.json", quill=True)
    assert loaded(home.read(shop)) == ON


@pytest.mark.usefixtures("quill")
def test_a_plugin_that_a_project_enables_is_the_projects(home: Home, shop: Path) -> None:
    switch(home, quill=True)
    assert {item.project_hash for item in home.read(shop).declarations} == {None}
    switch(home, quill=False)
    switch(home, shop / SETTINGS, quill=True)
    hashes = {item.project_hash for item in home.read(shop).declarations}
    assert hashes == {home.context(shop).workspace.project.hash}
    assert loaded(home.read(home.project("blog"))) == []


def test_the_first_applicable_record_locates_a_plugin(home: Home, shop: Path) -> None:
    add_marketplace(home)
    user = {"scope": "user", "installPath": add_copy(home, "1.0.0", "old")}
    here = {"scope": "project", "projectPath": str(shop), "installPath": add_copy(home, "1.1.0", "new")}
    other = {"scope": "local", "projectPath": "/elsewhere", "installPath": add_copy(home, "9.0.0", "other")}
    switch(home, quill=True)
    for records, label in (((user, here), "old"), ((here, user), "new"), ((other, user), "old")):
        record(home, *records)
        assert f"plugin {label}" in loaded(home.read(shop))
    record(home, other)
    assert loaded(home.read(shop)) == []
    first_version = {"installPath": add_copy(home, "0.9.0", "ancient"), "version": "0.9.0"}
    home.write(
        f"{PLUGINS}/installed_plugins.json", {"version": 1, "plugins": {"quill@orchard": first_version}}
    )
    assert "plugin ancient" in loaded(home.read(shop)), "a record of the first version is for everywhere"


@pytest.mark.parametrize("kind", ["github", "directory"])
def test_a_plugin_that_is_installed_for_one_project_shows_in_no_other(
    home: Home, shop: Path, kind: str
) -> None:
    location = add_marketplace(home, source={"source": kind, "path": "x"})
    home.write(location / "plugins/quill/.mcp.json", servers("spell"))
    folder = add_copy(home, "1.0.0", "spell")
    record(home, {"scope": "project", "projectPath": str(shop), "installPath": folder})
    switch(home, shop / SETTINGS, quill=True)
    assert loaded(home.read(shop)) == ON
    assert {item.project_hash for item in home.read(shop).declarations} != {None}
    assert home.read(home.project("blog")).declarations == []


def test_a_marketplace_that_is_a_directory_is_read_in_place_without_a_record(home: Home, shop: Path) -> None:
    location = add_marketplace(home, source={"source": "directory", "path": "/ignored"})
    home.write(location / "plugins/quill/.mcp.json", servers("here"))
    record(home, {"scope": "user", "installPath": add_copy(home, "1.0.0", "copy")})
    switch(home, quill=True)
    assert loaded(home.read(shop)) == ["plugin here", "plugin quill@orchard"]
    (home.path / PLUGINS / "installed_plugins.json").unlink()
    assert loaded(home.read(shop)) == ["plugin here", "plugin quill@orchard"]


def test_a_plugin_of_an_archive_is_read_where_it_was_unpacked(home: Home, shop: Path) -> None:
    location = add_marketplace(home, source={"source": "directory", "path": "x"})
    record(home, {"scope": "user", "installPath": add_copy(home, "1.0.0", "spell")})
    switch(home, quill=True)
    for kind in ("archive", "command"):
        source = {"source": kind, "url": "https://plugins.test/quill.zip"}
        content = {"plugins": [{"name": "quill", "source": source}]}
        home.write(location / ".claude-plugin/marketplace.json", content)
        assert loaded(home.read(shop)) == ON
    home.write(home.managed / "managed-settings.json", {"disableCommandPluginSources": True})
    assert loaded(home.read(shop)) == []


GITHUB = {"source": "github", "repo": "ada/orchard"}


@pytest.mark.usefixtures("quill")
@pytest.mark.parametrize(
    ("policy", "is_loaded"),
    [
        ({"strictKnownMarketplaces": []}, False),
        ({"strictKnownMarketplaces": [GITHUB]}, True),
        ({"strictKnownMarketplaces": [{"source": "github", "repo": "ada/*"}]}, True),
        ({"strictKnownMarketplaces": [{"source": "github", "repo": "ada/other"}]}, False),
        ({"allowedMarketplaces": [{"source": "hostPattern", "hostPattern": "^github\\.com$"}]}, True),
        ({"strictKnownMarketplaces": [{"source": "hostPattern", "hostPattern": "("}]}, False),
        ({"blockedMarketplaces": []}, True),
        ({"blockedMarketplaces": [GITHUB]}, False),
        ({"blockedMarketplaces": [{"source": "github", "repo": "ada/*"}]}, False),
        ({"blockedMarketplaces": [{"source": "github", "repo": "bob/*"}]}, True),
        ({"blockedMarketplaces": [{"source": "pathPattern", "pathPattern": ".*"}]}, True),
    ],
)
def test_an_administrator_allows_and_blocks_marketplaces(
    home: Home, shop: Path, policy: object, is_loaded: bool
) -> None:
    switch(home, quill=True)
    managed = home.write(home.managed / "managed-settings.json", policy)
    assert (loaded(home.read(shop)) == ON) is is_loaded
    managed.rename(home.path / SETTINGS)
    switch(home, shop / ".claude/settings.local.json", quill=True)
    assert loaded(home.read(shop)) == ON, "nobody else can"


def test_without_its_marketplace_a_plugin_is_not_loaded(home: Home, shop: Path, quill: str) -> None:
    assert quill
    switch(home, quill=True)
    (home.path / PLUGINS / "known_marketplaces.json").unlink()
    assert loaded(home.read(shop)) == []


@pytest.mark.usefixtures("quill")
def test_the_manifests_servers_are_stronger_than_the_files_and_one_bad_entry_voids_the_plugin(
    home: Home, shop: Path
) -> None:
    switch(home, quill=True)
    remote = {"spell": {"type": "http", "url": "https://mcp.test/"}}
    add_copy(home, "1.0.0", "spell", "file", mcpServers=remote)
    sources = {item.server: Path(item.source).name for item in home.read(shop).declarations if item.server}
    assert sources == {"spell": "plugin.json", "file": ".mcp.json"}
    add_copy(home, "1.0.0", "spell", mcpServers={"bad": {"url": "https://mcp.test/"}})
    assert loaded(home.read(shop)) == []
    assert "`url` without a remote `type`" in reasons(home.read(shop))[0]


@pytest.mark.usefixtures("quill")
def test_a_plugins_server_yields_to_an_enabled_one_with_the_same_command(home: Home, shop: Path) -> None:
    switch(home, quill=True)
    home.write(".claude.json", servers("spell"))
    assert loaded(home.read(shop)) == ["global spell", "plugin quill@orchard"]
    home.write(
        ".claude.json", {**servers("spell"), "projects": {str(shop): {"disabledMcpServers": ["spell"]}}}
    )
    assert loaded(home.read(shop)) == ON


@pytest.mark.usefixtures("quill")
@pytest.mark.parametrize("name", ["installed_plugins.json", "known_marketplaces.json"])
@pytest.mark.parametrize(
    "content", ["[]", '{"plugins": 7, "orchard": 7}', '{"plugins": {"quill@orchard": [7]}}']
)
def test_records_of_another_shape_load_nothing_and_break_nothing(
    home: Home, shop: Path, name: str, content: str
) -> None:
    switch(home, quill=True)
    home.write(".claude.json", servers("till"))
    home.write(f"{PLUGINS}/{name}", content)
    assert loaded(home.read(shop)) == ["global till"]


def test_a_server_file_of_the_wrong_shape_costs_only_itself(home: Home, shop: Path, quill: str) -> None:
    switch(home, quill=True)
    add_copy(home, "1.0.0", mcpServers=servers("ink")["mcpServers"])
    home.write(Path(quill) / ".mcp.json", {"mcpServers": "spell"})
    assert loaded(home.read(shop)) == ["plugin ink", "plugin quill@orchard"]
    assert [problem.source for problem in home.read(shop).problems] == [f"{quill}/.mcp.json"]


def test_a_plugins_paths_are_part_of_its_entries_and_tell_two_plugins_apart(home: Home, shop: Path) -> None:
    entry = {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/server.js"]}
    location = add_marketplace(home, source={"source": "directory", "path": "here"})
    for plugin in ("quill", "sprocket"):
        home.write(location / "plugins" / plugin / ".mcp.json", {"s": entry})
    switch(home, quill=True, sprocket=True)
    items = [item for item in home.read(shop).resolved if item.declaration.server]
    assert [item.shadowed_by for item in items] == [None, None]
    launch = items[0].declaration.launch
    assert launch is not None
    assert launch.variables == {
        "CLAUDE_PLUGIN_ROOT": str(location / "plugins/quill"),
        "CLAUDE_PLUGIN_DATA": str(home.path / PLUGINS / "data/quill-orchard"),
    }


@pytest.mark.usefixtures("quill")
def test_commands_and_agents_of_a_manifest_replace_the_folders_and_skills_add(home: Home, shop: Path) -> None:
    switch(home, quill=True)
    text = "---\nname: n\ndescription: d\n---\n"
    manifest: dict[str, Any] = {"commands": ["./more"], "agents": "./more/a.md", "skills": ["./extra"]}
    folder = Path(add_copy(home, "1.0.0", **manifest))
    for name in ("commands/x", "agents/y", "skills/s/SKILL", "more/z", "more/a", "extra/SKILL"):
        home.write(folder / f"{name}.md", text)
    kinds = {item.name: item.kind for item in home.read(shop).declarations if item.server is None}
    assert kinds == {
        "quill@orchard": "plugin",
        "/quill:z": "slash_command",
        "/quill:a": "slash_command",
        "quill:s": "skill",
        "quill:extra": "skill",
        "quill:n": "subagent",
    }
    add_copy(
        home, "1.0.0", commands={"go": {"content": "c", "description": "Goes"}, "z": {"source": "more/z.md"}}
    )
    items = {item.name: item.description for item in home.read(shop).declarations}
    assert items["/quill:go"] == "Goes"
    assert items["/quill:z"] == "d"
    add_copy(home, "1.0.0", commands=["../out"])
    assert "stay inside the plugin" in reasons(home.read(shop))[0]


@pytest.mark.usefixtures("quill")
def test_a_plugins_skill_without_a_description_is_for_people(home: Home, shop: Path) -> None:
    switch(home, quill=True)
    home.write(Path(add_copy(home, "1.0.0")) / "skills/s/SKILL.md", "text")
    assert statuses(home.read(shop))["plugin quill:s"] == "manual"


def add_skill_plugin(home: Home, base: Path, name: str = "tool") -> Path:
    folder = base / ".claude/skills" / name
    home.write(folder / ".claude-plugin/plugin.json", {"name": name})
    home.write(folder / ".mcp.json", servers("spell"))
    return folder


def test_a_skill_folder_with_a_manifest_is_a_plugin_a_projects_once_it_is_trusted(
    home: Home, shop: Path
) -> None:
    add_skill_plugin(home, home.path)
    assert loaded(home.read(shop)) == ["plugin spell", "plugin tool@skills-dir"]
    home.write(SETTINGS, {"enabledPlugins": {"tool@skills-dir": False}})
    assert loaded(home.read(shop)) == []
    add_skill_plugin(home, shop, "theirs")
    assert statuses(home.read(shop))["plugin theirs@skills-dir"] == "pending"
    home.write(".claude.json", {"projects": {str(shop): {"hasTrustDialogAccepted": True}}})
    assert loaded(home.read(shop)) == ["plugin spell", "plugin theirs@skills-dir"]
    home.write(home.managed / "managed-settings.json", {"strictKnownMarketplaces": []})
    assert loaded(home.read(shop)) == []
    skills = {"strictKnownMarketplaces": [{"source": "skills-dir"}]}
    home.write(home.managed / "managed-settings.json", skills)
    assert loaded(home.read(shop)) == ["plugin spell", "plugin theirs@skills-dir"]
    home.write(home.managed / "managed-settings.json", {"strictPluginOnlyCustomization": ["agents"]})
    assert loaded(home.read(shop)) == []


def test_a_variable_names_folders_of_plugins(home: Home, shop: Path) -> None:
    one = home.write(home.root / "work/one/.mcp.json", servers("first")).parent
    two = home.write(home.root / "work/two/.mcp.json", servers("second")).parent
    home.variables["CLAUDE_CODE_PLUGIN_DIRS"] = f"{one}:{two}:{home.root}/gone"
    found = loaded(home.read(shop))
    assert found == ["plugin first", "plugin one@inline", "plugin second", "plugin two@inline"]
    home.write(home.managed / "managed-settings.json", {"disableSideloadFlags": True})
    assert loaded(home.read(shop)) == []


@pytest.mark.usefixtures("quill")
def test_modules_that_run_inside_the_client_are_named_with_their_file_and_plugin(
    home: Home, shop: Path
) -> None:
    folder = Path(add_copy(home, "1.0.0", hooks={"modules": ["./more.ts"]}))
    hooks = home.write(folder / "hooks/hooks.json", {"modules": ["./guard.ts", 3]})
    assert home.read(shop).facts.mods == []
    switch(home, quill=True)
    manifest = str(folder / ".claude-plugin/plugin.json")
    assert home.read(shop).facts.mods == [
        (str(folder / "hooks/guard.ts"), str(hooks), "quill@orchard", False),
        (str(folder / ".claude-plugin/more.ts"), manifest, "quill@orchard", False),
    ]
    theirs = add_skill_plugin(home, shop, "theirs")
    home.write(theirs / "hooks/hooks.json", {"modules": ["./m.js"]})
    home.write(".claude.json", {"projects": {str(shop): {"hasTrustDialogAccepted": True}}})
    mod = home.read(shop).facts.mods[-1]
    assert (mod.file, mod.is_repositorys) == (str(theirs / "hooks/m.js"), True)
