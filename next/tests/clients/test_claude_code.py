"""Claude Code's servers: which files count where, approval, policies, answers, and what Remit wrote."""

from pathlib import Path
from typing import Any

import pytest

from remit.clients import Effect
from remit.decision import LaunchFlags, Status
from remit.files import Edit, EditedFile, Format, apply_edits
from support.git import git
from support.homes import Home, loaded, named, outcome, reasons, servers, statuses, winner

STATE, SETTINGS, LOCAL = ".claude.json", ".claude/settings.json", ".claude/settings.local.json"
APPROVE = {"enableAllProjectMcpServers": True}


def state(home: Home, shop: Path, *labels: str, **project: object) -> Path:
    return home.write(STATE, {**servers(*labels), "projects": {str(shop): project}})


def rules(home: Home, shop: Path, content: object, path: str | Path = SETTINGS) -> list[str]:
    home.write(path, content)
    return [f"{rule.effect} {rule.subject}" for rule in home.read(shop).rules]


def test_project_files_count_here_and_in_every_directory_above_the_repository_too(
    home: Home, shop: Path
) -> None:
    for dir, label in ((shop, "top"), (shop / "api", "api"), (shop / "web", "web"), (shop.parent, "above")):
        home.write(dir / ".mcp.json", servers(label))
    assert [named(item) for item in home.read(shop / "api").declarations] == [
        *("project api", "project top", "project above")
    ]
    home.write(SETTINGS, APPROVE)
    home.write(shop / "api/.mcp.json", servers("top"))
    assert winner(home.read(shop / "api"), "top").dir == str(shop / "api")


def test_a_flat_map_of_servers_and_a_map_of_another_type_declare_nothing_and_say_why(
    home: Home, shop: Path
) -> None:
    wrong: list[tuple[object, str]] = [
        ({"ledger": {"command": "x"}}, "`mcpServers` is missing"),
        ([], "expected an object, found a list"),
        ({"mcpServers": []}, "mcpServers: expected an object, found a list"),
        ('{"mcpServers": {}} // note', "not valid JSON: Extra data"),
    ]
    for content, reason in wrong:
        home.write(shop / ".mcp.json", content)
        assert reasons(home.read(shop)) == [reason]


@pytest.mark.parametrize(
    ("oauth", "registered"),
    [
        ({"clientId": "shop", "callbackPort": 8080}, ("shop", 8080)),
        ({"clientId": "shop", "callbackPort": "8080"}, ("shop", 0)),
        ({"clientId": ""}, None),
        ({"callbackPort": 8080}, None),
        ("shop", None),
    ],
)
def test_the_oauth_client_of_a_server_is_read(
    home: Home, shop: Path, oauth: object, registered: object
) -> None:
    home.write(shop / ".mcp.json", servers(git={"type": "http", "url": "https://mcp.test/", "oauth": oauth}))
    [declaration] = home.read(shop).declarations
    assert declaration.launch is not None
    assert declaration.launch.registered == registered


def test_reserved_names_are_skipped_alone(home: Home, shop: Path) -> None:
    home.write(shop / ".mcp.json", servers("workspace", "__proto__", "good"))
    reading = home.read(shop)
    assert [item.server for item in reading.declarations] == ["good"]
    assert set(reasons(reading)) == {"the name is reserved by the client"}


def test_local_servers_are_keyed_by_the_main_checkout_and_seen_from_its_subdirectories(home: Home) -> None:
    main = home.project("main", git=False)
    git("init", cwd=main)
    git("commit", "--allow-empty", "--message", "start", cwd=main)
    git("worktree", "add", str(home.root / "tree"), cwd=main)
    (home.root / "tree/src").mkdir()
    home.write(STATE, {"projects": {str(main): servers("ledger"), str(home.root / "tree"): servers("ghost")}})
    assert loaded(home.read(home.root / "tree/src")) == ["local ledger"]


def test_each_part_of_the_state_file_is_read_for_itself(home: Home, shop: Path) -> None:
    project = {"mcpServers": 7, "disabledMcpServers": ["tides", 3], "disabledMcpjsonServers": ["a.b"]}
    home.write(STATE, {"mcpServers": [], "projects": {str(shop): project}})
    reading = home.read(shop)
    assert [(rule.effect, rule.subject) for rule in reading.rules] == [
        ("rejects", "a_b"),
        ("disables", "tides"),
    ]
    assert reasons(reading) == [
        "mcpServers: expected an object, found a list",
        "mcpServers: expected an object, found a number",
        "expected text",
    ]


def test_the_servers_of_the_command_line_are_the_strongest(home: Home, shop: Path) -> None:
    given = home.write(home.root / "given.json", servers("git"))
    state(home, shop, "git", **servers("git"))
    reading = home.read(shop, flags=LaunchFlags(mcp_configs=(str(given),)))
    assert loaded(reading) == ["dynamic git"]


def test_a_projects_server_waits_for_approval_unless_there_is_no_terminal(home: Home, shop: Path) -> None:
    home.write(SETTINGS, {"disabledMcpjsonServers": ["a.b"]})
    home.write(shop / ".mcp.json", servers("till", "a_b", "a.b"))
    state(home, shop, "till", "a_b")
    headless = home.read(shop, flags=LaunchFlags(is_headless=True))
    assert loaded(home.read(shop)) == ["global a_b", "global till"], (
        "what waits or is rejected shadows nothing"
    )
    assert loaded(headless) == ["global a_b", "project till"], "rejection compares normalized names"


@pytest.mark.parametrize(
    ("trusted", "level", "approved"),
    [
        (None, SETTINGS, True),
        (None, "{shop}/" + SETTINGS, False),
        (None, "{shop}/" + LOCAL, False),
        ("api", "{shop}/api/" + SETTINGS, False),
        ("api", "{shop}/api/" + LOCAL, True),
        ("", "{shop}/api/" + SETTINGS, True),
    ],
)
def test_approvals_of_the_project_count_once_it_is_trusted_and_personal_ones_once_the_folder_is(
    home: Home, shop: Path, trusted: str | None, level: str, approved: bool
) -> None:
    (shop / "api").mkdir()
    home.write(shop / ".mcp.json", servers("till"))
    if trusted is not None:
        home.write(STATE, {"projects": {str(shop / trusted): {"hasTrustDialogAccepted": True}}})
    home.write(level.format(shop=shop), {"enabledMcpjsonServers": ["till"]})
    directory = shop / "api" if "api" in level else shop
    assert (loaded(home.read(directory)) == ["project till"]) is approved


def test_settings_of_the_root_count_below_it_only_where_they_are_personal(home: Home, shop: Path) -> None:
    (shop / "api").mkdir()
    home.write(SETTINGS, APPROVE)
    home.write(shop / ".mcp.json", servers("till", "scale"))
    home.write(shop / SETTINGS, {"disabledMcpjsonServers": ["till"]})
    home.write(shop / LOCAL, {"disabledMcpjsonServers": ["scale"]})
    assert loaded(home.read(shop)) == []
    assert loaded(home.read(shop / "api")) == ["project till"]


def test_managed_servers_are_all_there_are_even_if_their_file_is_broken(home: Home, shop: Path) -> None:
    state(home, shop, "wiki", **servers("ledger"))
    home.write(home.managed / "managed-mcp.json", servers("corp", "crm"))
    home.write(home.managed / "managed-settings.d/10.json", {"deniedMcpServers": [{"serverName": "crm"}]})
    assert loaded(home.read(shop)) == ["managed corp"]
    home.write(home.managed / "managed-mcp.json", "[]")
    assert loaded(home.read(shop)) == []
    (home.managed / "managed-mcp.json").unlink()
    assert loaded(home.read(shop)) == ["global wiki", "local ledger"]


def test_an_administrators_settings_may_have_remote_servers_without_variables(home: Home, shop: Path) -> None:
    entries = {
        "good": {"type": "http", "url": "https://corp.test/"},
        "plain": {"type": "http", "url": "http://corp.test/"},
        "variable": {"type": "http", "url": "https://${HOST}/"},
        "process": {"command": "x"},
    }
    home.write(home.managed / "managed-settings.json", {"managedMcpServers": entries})
    home.write(SETTINGS, {"managedMcpServers": entries})
    assert loaded(home.read(shop)) == ["managed good"]


DENIED = [
    ({"serverName": "a_b"}, ["a.b", "fetch", "far"]),
    ({"serverCommand": ["run-far"]}, ["a.b", "a_b", "fetch"]),
    ({"serverCommand": ["run-far", "-y"]}, ["a.b", "a_b", "far", "fetch"]),
    ({"serverUrl": "https://*.test/*"}, ["a.b", "a_b", "far"]),
    ({"serverUrl": "https://MCP.test"}, ["a.b", "a_b", "far"]),
    ({"serverUrl": "https://mcp.test/x"}, ["a.b", "a_b", "far", "fetch"]),
]


@pytest.mark.parametrize(("denied", "left"), DENIED)
def test_a_policy_denies_by_exact_name_command_or_url(
    home: Home, shop: Path, denied: object, left: list[str]
) -> None:
    home.write(STATE, servers("a.b", "a_b", "far", fetch={"type": "http", "url": "https://mcp.test/"}))
    home.write(SETTINGS, {"deniedMcpServers": [denied]})
    assert loaded(home.read(shop)) == sorted(f"global {label}" for label in left)


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        ([], []),
        ([{"serverName": "far"}], ["far"]),
        ([{"serverName": "a.b"}], []),
        ([{"serverName": "far"}, {"serverName": "fetch"}, {"serverUrl": "https://other.test/*"}], ["far"]),
        ([{"serverName": "far"}, {"serverName": "fetch"}, {"serverCommand": ["run-a.b"]}], ["a.b", "fetch"]),
        ([{"serverUrl": "*"}], ["fetch"]),
    ],
)
def test_an_allow_list_admits_by_place_where_it_has_any_and_an_empty_one_admits_nothing(
    home: Home, shop: Path, allowed: list[object], left: list[str]
) -> None:
    home.write(STATE, servers("a.b", "far", fetch={"type": "http", "url": "https://mcp.test/"}))
    home.write(SETTINGS, {"allowedMcpServers": allowed})
    assert loaded(home.read(shop)) == [f"global {label}" for label in left]


def test_lists_of_several_files_add_up_unless_only_the_administrators_counts(home: Home, shop: Path) -> None:
    state(home, shop, "git", "wiki")
    home.write(SETTINGS, {"allowedMcpServers": [{"serverName": "git"}]})
    home.write(shop / SETTINGS, {"allowedMcpServers": [{"serverName": "wiki"}]})
    assert loaded(home.read(shop)) == ["global git", "global wiki"]
    only = {"allowManagedMcpServersOnly": True, "allowedMcpServers": [{"serverName": "wiki"}]}
    home.write(shop / SETTINGS, {"allowManagedMcpServersOnly": True})
    assert loaded(home.read(shop)) == ["global git"], "a repository cannot reserve the list"
    home.write(home.managed / "managed-settings.json", only)
    assert loaded(home.read(shop)) == ["global wiki"]


def test_a_list_of_too_many_urls_denies_every_url_and_allows_fewer(home: Home, shop: Path) -> None:
    urls = [{"serverUrl": f"https://a{number}.test/*"} for number in range(301)]
    denied = rules(home, shop, {"deniedMcpServers": [{"serverName": "git"}, *urls]})
    assert denied == ["denies name:git", "denies url:*"]
    assert len(rules(home, shop, {"allowedMcpServers": urls})) == 301


@pytest.mark.parametrize(
    "entry", [None, {}, {"other": 1}, {"serverName": "a", "serverCommand": ["a"]}, {"serverName": 3}]
)
def test_a_wrong_item_of_a_policy_is_only_itself_void(home: Home, shop: Path, entry: object) -> None:
    content = {"deniedMcpServers": [entry, {"serverName": "git", "note": "kept"}]}
    assert rules(home, shop, content) == ["denies name:git"]


VOIDING: list[dict[str, Any]] = [
    {"enableAllProjectMcpServers": "yes"},
    {"disabledMcpjsonServers": ["git", 3]},
    {"enabledMcpjsonServers": {}},
    {"permissions": {"allow": "Bash"}},
    {"permissions": {"defaultMode": "nonsense"}},
    {"skillOverrides": {"ship": "hidden"}},
    {"hooks": {"PreToolUse": [{"matcher": ["Bash"], "hooks": []}]}},
    {"hooks": {"PreToolUse": [{"hooks": [{"command": "x", "onFailure": "deny"}]}]}},
    {"hooks": {"PreToolUse": [{"hooks": [{"command": "x", "timeout": 0}]}]}},
]


@pytest.mark.parametrize("wrong", VOIDING)
def test_one_wrong_value_voids_the_whole_file_its_deny_rules_too(
    home: Home, shop: Path, wrong: dict[str, Any]
) -> None:
    valid: dict[str, Any] = {"deniedMcpServers": [{"serverName": "git"}], "permissions": {"deny": ["Bash"]}}
    assert rules(home, shop, valid) == ["denies_tool Bash", "denies name:git"]
    permissions = {**valid["permissions"], **wrong.get("permissions", {})}
    assert rules(home, shop, {**valid, **wrong, "permissions": permissions}) == []
    assert len(home.read(shop).problems) == 1


def test_unknown_keys_and_events_and_a_number_among_deny_rules_cost_only_themselves(
    home: Home, shop: Path
) -> None:
    content = {"permissions": {"deny": [3, "Bash"]}, "hooks": {"NoEvent": [{"hooks": [{"x": 1}]}]}, "zz": 1}
    assert rules(home, shop, content) == ["denies_tool Bash"]
    assert reasons(home.read(shop)) == ["expected text"]


def test_disabled_servers_stay_as_declared_in_any_scope_and_bring_a_plugins_copy_back(
    home: Home, shop: Path
) -> None:
    state(home, shop, "tides", "wiki", disabledMcpServers=["tides"])
    assert statuses(home.read(shop)) == {"global tides": "disabled", "global wiki": "enabled"}


def test_secrets_that_rotate_do_not_change_an_entry_but_what_it_runs_does(home: Home, shop: Path) -> None:
    def digest(**entry: object) -> str | None:
        home.write(shop / ".mcp.json", servers(a=entry))
        return home.read(shop).declarations[0].digest

    old, new = "tk_8f3kQz71LmP0aXw2", "tk_Zr5vB9cN4yT6hJd1"
    assert digest(command="x", env={"TOKEN": old}) == digest(command="x", env={"TOKEN": new})
    assert digest(command="x", env={"TOKEN": old}) != digest(command="x", env={"TOKEN": "${OTHER}"})
    assert digest(command="x", env={"PERL5DB": "old"}) != digest(command="x", env={"PERL5DB": "new"})
    assert digest(command="x") != digest(command="y")


def test_names_that_no_database_can_hold_become_ones_that_can(home: Home, shop: Path) -> None:
    home.write(shop / ".mcp.json", '{"mcpServers": {"sur\\ud800": {"command": "x"}, "\\ud800": []}}')
    reading = home.read(shop)
    assert [(item.name, item.server) for item in reading.declarations] == [("mcp__sur___*", "sur\ufffd")]
    assert reading.problems[0].place == "mcpServers.\ufffd"


@pytest.mark.parametrize(
    ("variable", "settings", "searches"),
    [
        (None, {}, True),
        ("1", {}, True),
        ("false", {}, False),
        ("auto", {}, False),
        (None, {"env": {"ENABLE_TOOL_SEARCH": "false"}}, False),
        ("false", {"env": {"ENABLE_TOOL_SEARCH": "true"}}, True),
        (None, "broken", True),
    ],
)
def test_the_client_searches_by_itself_unless_a_variable_turns_it_off(
    home: Home, shop: Path, variable: str | None, settings: object, searches: bool
) -> None:
    home.variables |= {} if variable is None else {"ENABLE_TOOL_SEARCH": variable}
    home.write(SETTINGS, settings)
    assert home.read(shop).facts.searches is searches
    assert home.read(shop, client="cursor").facts.searches is False


@pytest.mark.parametrize(
    ("path", "scope", "instead"),
    [
        (SETTINGS, "global", "{home}/.claude.json"),
        ("{shop}/" + SETTINGS, "project", "{shop}/.mcp.json"),
        ("{shop}/" + LOCAL, "local", "{home}/.claude.json"),
    ],
)
def test_servers_in_settings_are_named_as_ignored_with_the_file_that_counts(
    home: Home, shop: Path, path: str, scope: str, instead: str
) -> None:
    file = home.write(path.format(shop=shop), servers(git={"command": "x"}, bad={"url": "u"}))
    reading = home.read(shop)
    expected = instead.format(shop=shop, home=home.path)
    assert reading.facts.ignored == [("git", scope, str(file), expected)]
    assert (reading.declarations, reading.problems) == ([], [])


def test_servers_that_agents_list_but_no_file_declares_are_named(home: Home, shop: Path) -> None:
    text = "---\nname: scout\ndescription: d\nmcpServers: [git, wiki, {own: {command: x}}]\n---\n"
    agent = home.write(shop / ".claude/agents/scout.md", text)
    state(home, shop, "git")
    assert home.read(shop).facts.missing == [("scout", str(agent), "wiki")]


def test_what_a_repository_lets_the_client_run_is_listed_without_secrets(home: Home, shop: Path) -> None:
    token = "ghp_" + "k3J9x" * 6
    hook = {"command": "/bin/sh", "args": ["-c", "touch x", 3]}
    content: dict[str, object] = {
        "hooks": {"Stop": [{"hooks": [hook, {"type": "prompt"}]}], "Start": {}},
        "statusLine": {"command": f"./status.sh --token {token} " + "x " * 20},
        "apiKeyHelper": {},
    }
    home.write(SETTINGS, content)
    assert home.read(shop).executed == []
    path = home.write(shop / SETTINGS, content)
    first, second = home.read(shop).executed
    assert first == (str(path), "Stop", "/bin/sh -c touch x")
    assert second.key == "statusLine"
    assert token not in second.command
    assert second.command.endswith("x …")


def test_personal_settings_are_the_users_unless_git_tracks_them(home: Home) -> None:
    shop = home.project(git=False)
    home.write(shop / LOCAL, {"apiKeyHelper": "./key.sh", "permissions": {"allow": ["mcp__git"]}})

    def of_the_repository() -> tuple[int, bool]:
        reading = home.read(shop)
        return len(reading.executed), not reading.permissions

    assert of_the_repository() == (1, False), "nothing tells who wrote it"
    git("init", cwd=shop)
    home.write(shop / "a", "")
    git("add", "a", cwd=shop)
    assert of_the_repository() == (0, False)
    git("add", "--force", LOCAL, cwd=shop)
    assert of_the_repository() == (1, True)
    home.write(STATE, {"projects": {str(shop): {"hasTrustDialogAccepted": True}}})
    assert of_the_repository() == (1, False)


def test_permissions_count_by_level_and_trust(home: Home, shop: Path) -> None:
    def effects() -> list[str]:
        return [f"{rule.effect} {rule.text}" for rule in home.read(shop).permissions]

    home.write(shop / SETTINGS, {"permissions": {"deny": ["Bash"], "ask": ["Edit"], "allow": ["mcp__git"]}})
    home.write(SETTINGS, {"allowManagedPermissionRulesOnly": True})
    assert effects() == ["deny Bash", "ask Edit"]
    state(home, shop, hasTrustDialogAccepted=True)
    assert effects() == ["deny Bash", "ask Edit", "allow mcp__git"]
    assert home.read(shop).permissions[0].origin[:2] == (str(shop / SETTINGS), "permissions.deny")
    only = {"allowManagedPermissionRulesOnly": True, "permissions": {"ask": ["Read"]}}
    home.write(home.managed / "managed-settings.json", only)
    assert effects() == ["ask Read"]


def test_lists_over_the_limit_deny_and_ask_about_everything(home: Home, shop: Path) -> None:
    many = [f"Tool{number}" for number in range(10_001)]
    for name, has_all in (("deny", True), ("ask", True), ("allow", False)):
        home.write(SETTINGS, {"permissions": {name: many}})
        texts = [rule.text for rule in home.read(shop).permissions]
        assert len(texts) == 10_000 + has_all
        assert ("*" in texts) is has_all
    home.write(SETTINGS, {"permissions": {"deny": [f"mcp__{number}__*" for number in range(1_005)]}})
    texts = [rule.text for rule in home.read(shop).permissions]
    assert (len(texts), texts[-1]) == (1_001, "*")


def test_hooks_and_mods_can_be_reserved_by_the_administrator_alone(home: Home, shop: Path) -> None:
    content = {
        "allowManagedHooksOnly": True,
        "pluginConfigs": {"x": {"options": {"allowManagedModsOnly": 1}}},
    }
    assert rules(home, shop, content) == []
    assert rules(home, shop, {"disableAllHooks": True}) == ["disables_hooks disableAllHooks"]
    assert not home.read(shop).facts.has_managed_settings
    managed = home.managed / "managed-settings.json"
    assert "disables_hooks allowManagedHooksOnly" in rules(home, shop, content, managed)
    assert home.read(shop).facts[-2:] == (True, True)


GATEWAY = {"type": "stdio", "command": "/bin/remit", "args": ["serve", "--client", "claude-code"]}


def edit(home: Home, path: Path | str, *edits: Edit) -> EditedFile:
    """Edit a file as Remit does, and record it."""
    file = home.path / path
    text = file.read_text() if file.exists() else None
    after, edited = apply_edits(text, str(file), Format.JSON, edits)
    home.write(file, after)
    home.edited[str(file)] = edited
    return edited


def test_the_gateway_counts_as_itself_only_while_the_record_names_its_file(home: Home, shop: Path) -> None:
    state(home, shop, "git")
    edited = edit(home, STATE, Edit(("mcpServers", "remit"), GATEWAY))
    assert statuses(home.read(shop)) == {"global git": "enabled", "global remit": "itself"}
    home.write(shop / ".mcp.json", servers(remit=GATEWAY))
    assert statuses(home.read(shop))["project remit"] == "pending", "a project cannot pose as the gateway"
    (shop / ".mcp.json").unlink()
    home.edited = {str(home.path / "elsewhere.json"): edited}
    assert statuses(home.read(shop))["global remit"] == "nested"
    home.edited = {str(home.path / STATE): edited}
    home.write(STATE, servers(remit={**GATEWAY, "args": ["serve", "--other"]}))
    assert statuses(home.read(shop)) == {"global remit": "nested"}


def test_what_remit_wrote_is_no_denial_and_what_the_user_wrote_is(home: Home, shop: Path) -> None:
    state(home, shop, "git", "wiki", disabledMcpServers=["wiki"])
    home.write(SETTINGS, {"permissions": {"deny": ["Bash"]}})
    home.write(".claude/skills/ship/SKILL.md", "---\ndescription: ships\n---\n")
    key = ("projects", str(shop), "disabledMcpServers")
    edit(home, STATE, Edit(("mcpServers", "remit"), GATEWAY), Edit(key, "git", is_item=True, switches="git"))
    edit(
        home,
        SETTINGS,
        Edit(("deniedMcpServers",), [{"serverCommand": ["run-git"]}]),
        Edit(("permissions", "deny"), "Agent(x)", is_item=True),
        Edit(("skillOverrides", "ship"), "off"),
    )
    reading = home.read(shop)
    assert statuses(reading) == {
        "global git": "enabled",
        "global wiki": "disabled",
        "global remit": "itself",
        "global ship": "enabled",
    }
    assert [rule.text for rule in reading.permissions] == ["Bash"]


def test_a_managed_file_that_only_remit_wrote_leaves_the_other_servers_to_remit(
    home: Home, shop: Path
) -> None:
    state(home, shop, "git")
    path = home.managed / "managed-mcp.json"
    edit(home, path, Edit(("mcpServers", "remit"), GATEWAY))
    assert statuses(home.read(shop)) == {"managed remit": "itself", "global git": "enabled"}
    home.write(path, servers("corp", remit=GATEWAY))
    assert statuses(home.read(shop))["global git"] == "denied"


def test_an_approval_that_does_not_count_is_found_for_people(home: Home, shop: Path) -> None:
    from remit.clients import ineffective_approval

    home.write(shop / ".mcp.json", servers("till"))
    home.write(shop / SETTINGS, {"enabledMcpjsonServers": ["till"], **APPROVE})
    rule = ineffective_approval(home.read(shop).rules, "till")
    assert rule is not None
    assert (rule.effect, rule.source) == (Effect.APPROVES, str(shop / SETTINGS))
    state(home, shop, hasTrustDialogAccepted=True)
    assert ineffective_approval(home.read(shop).rules, "till") is None


def test_a_server_that_starts_another_gateway_is_judged_like_any_other(home: Home, shop: Path) -> None:
    home.write(shop / ".mcp.json", servers(mine={"command": "uvx", "args": ["remit", "serve"]}))
    assert outcome(home.read(shop)) == {"project mine uvx remit serve": "pending"}
    home.write(SETTINGS, APPROVE)
    assert home.read(shop).declarations[0].status is Status.NESTED
