"""Gemini CLI: whole entries, trusted folders, lists, the machine's files, extensions, and policies."""

from pathlib import Path

import pytest

from support.homes import Home, command, outcome, reasons, servers, statuses, winner

USER = ".gemini/settings.json"
TRUSTED = ".gemini/trustedFolders.json"
GIT = {"command": "git-mcp"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, "gemini-cli")


@pytest.fixture
def shop(home: Home) -> Path:
    path = home.project("shop")
    home.write(TRUSTED, {str(path): "TRUST_FOLDER"})
    return path


def test_a_projects_entry_counts_whole_over_the_users(home: Home, shop: Path) -> None:
    home.write(USER, servers(git={"command": "user", "args": ["--all"]}, wiki={"command": "user"}))
    home.write(shop / USER, servers(git={"command": "project"}))
    assert outcome(home.read(shop)) == {"project git project": "enabled", "global wiki user": "enabled"}


def test_only_the_launch_directorys_settings_count_and_the_home_has_none(home: Home, shop: Path) -> None:
    (shop / "api").mkdir()
    home.write(shop / USER, servers("git"))
    assert statuses(home.read(shop / "api")) == {}
    home.write(USER, servers("git"))
    home.write(TRUSTED, {str(home.path): "TRUST_FOLDER"})
    assert statuses(home.read(home.path)) == {"global git": "enabled"}


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ({}, "pending"),
        ({"{root}": "TRUST_FOLDER"}, "enabled"),
        ({"{root}": "TRUST_FOLDER", "{shop}": "DO_NOT_TRUST"}, "pending"),
        ({"{root}": "DO_NOT_TRUST", "{shop}": "TRUST_FOLDER"}, "enabled"),
        ({"{shop}/below": "TRUST_PARENT"}, "enabled"),
        ({"{shop}/below": "TRUST_FOLDER"}, "pending"),
        ({"{shop}": "PERHAPS"}, "pending"),
        ({"{shop}": "TRUST_FOLDER", "{root}": ["TRUST_FOLDER"]}, "pending"),
    ],
)
def test_the_longest_trust_rule_wins_and_one_invalid_rule_voids_all(
    home: Home, shop: Path, answers: dict[str, object], status: str
) -> None:
    content = {path.format(root=home.root, shop=shop): level for path, level in answers.items()}
    home.write(TRUSTED, content)
    home.write(USER, servers("git", "wiki"))
    home.write(shop / USER, servers("git"))
    found = statuses(home.read(shop))
    assert found["project git"] == found["global wiki"] == status


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({"GEMINI_CLI_TRUST_WORKSPACE": "true"}, "enabled"),
        ({"GEMINI_CLI_TRUST_WORKSPACE": "1"}, "pending"),
        ({"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_RESTRICTED_MODE": "true"}, "pending"),
        ({"GEMINI_CLI_TRUSTED_FOLDERS_PATH": "trust.json"}, "enabled"),
    ],
)
def test_variables_decide_about_trust_too(
    home: Home, shop: Path, variables: dict[str, str], status: str
) -> None:
    home.write(TRUSTED, {})
    home.write(shop / "trust.json", {str(shop): "TRUST_FOLDER"})
    home.write(USER, servers("git"))
    home.variables |= variables
    assert statuses(home.read(shop)) == {"global git": status}


def test_trust_can_be_switched_off_but_not_by_the_project(home: Home, shop: Path) -> None:
    home.write(TRUSTED, {})
    off = {"security": {"folderTrust": {"enabled": False}}}
    home.write(shop / USER, {**servers("git"), **off})
    for content, status in (({}, "pending"), (off, "enabled"), ({"security": 1}, "pending")):
        home.write(USER, content)
        assert statuses(home.read(shop)) == {"project git": status}


def test_every_list_must_allow_a_server_and_none_may_exclude_it_whatever_its_case(
    home: Home, shop: Path
) -> None:
    home.write(USER, {**servers("Git", "wiki", "tides"), "mcp": {"allowed": ["git ", "WIKI"]}})
    lists = {"allowed": ["git", "wiki"], "excluded": ["WIKI"]}
    home.write(shop / USER, {**servers("mine"), "mcp": lists})
    assert statuses(home.read(shop)) == {
        "global Git": "enabled",
        "global wiki": "denied",
        "global tides": "denied",
        "project mine": "denied",
    }
    home.write(TRUSTED, {})
    assert statuses(home.read(shop))["global wiki"] == "pending", "an untrusted project's lists do not count"


def test_what_the_user_switched_off_is_disabled(home: Home, shop: Path) -> None:
    home.write(USER, servers("Git", "wiki"))
    switches = {"git": {"enabled": False}, "wiki": {"enabled": True}}
    home.write(".gemini/mcp-server-enablement.json", switches)
    assert statuses(home.read(shop)) == {"global Git": "disabled", "global wiki": "enabled"}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/gemini-cli"),
        ("darwin", "machine/Library/Application Support/GeminiCli"),
        ("win32", "machineC:\\ProgramData\\gemini-cli"),
    ],
)
def test_the_machines_defaults_are_the_weakest_and_its_settings_the_strongest(
    home: Home, shop: Path, platform: str, folder: str
) -> None:
    home.platform = platform
    home.write(home.root / folder / "system-defaults.json", servers("git", "wiki"))
    home.write(USER, servers(git={"command": "user"}))
    home.write(shop / USER, servers("tides"))
    home.write(home.root / folder / "settings.json", servers(tides={"command": "system"}))
    assert outcome(home.read(shop)) == {
        "global git user": "enabled",
        "global wiki run-wiki": "enabled",
        "managed tides system": "enabled",
    }


def test_a_system_file_named_by_a_variable_must_be_roots(home: Home, shop: Path) -> None:
    planted = home.write(shop / "system.json", servers("git"))
    planted.chmod(0o666)
    home.variables["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = str(planted)
    reading = home.read(shop)
    assert (statuses(reading), [problem.source for problem in reading.problems]) == ({}, [str(planted)])


def test_a_variable_may_name_another_home(home: Home, shop: Path) -> None:
    home.write(home.root / "elsewhere" / USER, servers("git"))
    home.write(home.root / "elsewhere" / TRUSTED, {str(shop): "TRUST_FOLDER"})
    home.variables["GEMINI_CLI_HOME"] = str(home.root / "elsewhere")
    assert statuses(home.read(shop)) == {"global git": "enabled"}


@pytest.mark.parametrize(
    ("entry", "transport", "words"),
    [
        ({"command": "x", "cwd": "sub"}, "stdio", "x"),
        ({"httpUrl": "https://a.test/", "url": "https://b.test/"}, "http", "https://a.test/"),
        ({"url": "https://a.test/", "command": "x"}, "http", "https://a.test/"),
        ({"url": "https://a.test/", "type": "sse"}, "sse", "https://a.test/"),
    ],
)
def test_a_url_wins_over_a_command(
    home: Home, shop: Path, entry: dict[str, object], transport: str, words: str
) -> None:
    home.write(USER, servers(git=entry))
    declaration = winner(home.read(shop))
    assert declaration.launch is not None
    assert (declaration.launch.transport, command(declaration)) == (transport, words)


def extension(home: Home, name: str, *labels: str, folder: Path | None = None) -> None:
    place = folder or home.path / ".gemini/extensions" / name
    home.write(place / "gemini-extension.json", {"name": name, **servers(*labels)})


def test_an_extension_brings_servers_that_yield_by_name_alone(home: Home, shop: Path) -> None:
    extension(home, "quill", "git", "spell")
    home.write(USER, servers("git", other={"command": "run-spell"}))
    assert statuses(home.read(shop)) == {
        "plugin quill": "enabled",
        "plugin spell": "enabled",
        "global git": "enabled",
        "global other": "enabled",
    }


def test_an_extension_may_lie_elsewhere_and_be_switched_off_by_directory(home: Home, shop: Path) -> None:
    extension(home, "quill", "spell", folder=home.root / "work/quill")
    link = {"type": "link", "source": str(home.root / "work/quill")}
    home.write(".gemini/extensions/quill/.gemini-extension-install.json", link)
    assert statuses(home.read(shop)) == {"plugin quill": "enabled", "plugin spell": "enabled"}
    for rules, is_on in (
        ([f"!{home.root}/*"], False),
        ([f"!{home.root}/co*"], False),
        ([f"!{shop}/"], False),
        ([f"!{home.root}/*", f"{shop}/*"], True),
        ([f"!{str(shop)[:-1]}/*"], True),
        ([5], True),
    ):
        home.write(".gemini/extensions/extension-enablement.json", {"quill": {"overrides": rules}})
        assert ("plugin spell" in statuses(home.read(shop))) is is_on, rules


def effects(home: Home, shop: Path) -> list[str]:
    return [f"{rule.effect} {rule.text}" for rule in home.read(shop).permissions]


def test_tools_that_entries_and_settings_include_exclude_and_allow_become_rules(
    home: Home, shop: Path
) -> None:
    entry = {**GIT, "includeTools": ["status", "reset(--soft)"], "excludeTools": ["reset"], "trust": True}
    home.write(USER, servers(git=entry))
    assert effects(home, shop) == [
        "deny mcp__git__reset",
        "restricts mcp__git",
        "lists mcp__git__status",
        "lists mcp__git__reset",
        "allow mcp__git",
    ]
    lists = {"exclude": ["mcp_git_status", "run_shell_command(rm)"], "allowed": ["mcp_git_*", "mcp_*"]}
    home.write(USER, {**servers(git=GIT), "tools": lists})
    assert effects(home, shop) == [
        "deny mcp__git__status",
        "deny run_shell_command(rm)",
        "allow mcp__git__*",
        "allow mcp__git",
    ]


def test_policy_files_count_by_priority(home: Home, shop: Path) -> None:
    home.write(USER, servers(git=GIT, till=GIT, wiki=GIT))
    text = """rule = [
        {mcpName = "git", toolName = "reset", decision = "deny", priority = 10},
        {mcpName = "git", toolName = ["push", "status"], decision = "ask_user"},
        {mcpName = "git", toolName = "status", decision = "allow", priority = 5},
        {mcpName = "git", toolName = "status", decision = "deny", priority = 1},
        {mcpName = "git", toolName = "log", decision = "deny", argsPattern = "x"},
        {mcpName = "git", toolName = "log", decision = "nonsense"},
        {mcpName = "till", decision = "deny"},
        {toolName = "mcp_wiki_*", decision = "deny"},
        {decision = "deny"},
    ]"""
    home.write(".gemini/policies/own.toml", text)
    home.write(".gemini/policies/read.me", "not a policy")
    assert effects(home, shop) == [
        "deny mcp__git__reset",
        "ask mcp__git__push",
        "allow mcp__git__status",
        "deny mcp__till",
        "deny mcp__wiki__*",
    ]
    assert reasons(home.read(shop)) == []
