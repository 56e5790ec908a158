"""Codex: merged files, trust, requirements, plugins, and the tools that it enables."""

from pathlib import Path

import pytest

from support.homes import Home, outcome, reasons

USER = ".codex/config.toml"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, "codex")


@pytest.fixture
def shop(home: Home) -> Path:
    path = home.project("shop")
    home.write(path / ".git/HEAD", "ref: refs/heads/main\n")
    return path


def server(name: str, command: str, more: str = "") -> str:
    return f'[mcp_servers.{name}]\ncommand = "{command}"\n{more}\n'


def trust(directory: Path, level: str = "trusted") -> str:
    return f'[projects."{directory}"]\ntrust_level = "{level}"\n'


def test_a_project_file_is_merged_over_the_users_key_by_key(home: Home, shop: Path) -> None:
    home.write(USER, server("git", "git-user", 'args = ["--all"]\nenv = { A = "1" }') + trust(shop))
    home.write(shop / USER, '[mcp_servers.git]\nargs = ["--here"]\nenv = { B = "2" }\n')
    reading = home.read(shop)
    assert outcome(reading) == {"project git git-user --here": "enabled"}
    [winner] = [item for item in reading.declarations if item.scope == "project"]
    assert winner.launch is not None
    assert winner.launch.env == {"A": "1", "B": "2"}


def test_without_trust_a_projects_server_waits_and_shadows_nothing(home: Home, shop: Path) -> None:
    home.write(USER, server("git", "git-user"))
    home.write(shop / USER, server("git", "git-here"))
    assert outcome(home.read(shop)) == {"global git git-user": "enabled", "project git git-here": "pending"}


@pytest.mark.parametrize(
    ("levels", "inner"),
    [
        ({"": "trusted"}, "enabled"),
        ({"": "trusted", "api": "untrusted"}, "pending"),
        ({"..": "trusted"}, "pending"),
    ],
)
def test_the_first_answer_for_the_directory_its_root_or_the_main_checkout_decides(
    home: Home, shop: Path, levels: dict[str, str], inner: str
) -> None:
    home.write(shop / "api" / USER, server("wiki", "inner"))
    home.write(USER, "".join(trust((shop / path).resolve(), level) for path, level in levels.items()))
    assert outcome(home.read(shop / "api")) == {"project wiki inner": inner}


def test_without_a_marker_only_the_launch_directory_has_a_project_file(home: Home) -> None:
    notes = home.project("notes", git=False)
    home.write(notes / USER, server("git", "outer"))
    home.write(notes / "deep" / USER, server("wiki", "inner"))
    answers = trust(notes) + trust(notes / "deep")
    home.write(USER, answers)
    assert outcome(home.read(notes / "deep")) == {"project wiki inner": "enabled"}
    home.write(notes / "ROOT", "")
    home.write(USER, f'project_root_markers = ["ROOT"]\n{answers}')
    assert len(outcome(home.read(notes / "deep"))) == 2
    home.write(USER, f"project_root_markers = 1\n{answers}")
    assert len(outcome(home.read(notes / "deep"))) == 1


def test_the_users_folder_is_no_project_file_and_a_variable_may_move_it(home: Home, shop: Path) -> None:
    home.write(USER, server("git", "usual") + trust(home.path))
    assert outcome(home.read(home.path)) == {"global git usual": "enabled"}
    home.write(shop / "own/config.toml", server("git", "moved"))
    home.variables["CODEX_HOME"] = "own"
    assert outcome(home.read(shop)) == {"global git moved": "enabled"}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/codex"),
        ("darwin", "machine/etc/codex"),
        ("win32", "machineC:\\ProgramData/OpenAI/Codex"),
    ],
)
def test_the_machines_file_is_the_weakest_and_the_managed_one_the_strongest(
    home: Home, shop: Path, platform: str, folder: str
) -> None:
    home.platform = platform
    home.write(home.root / folder / "config.toml", server("git", "machine") + server("wiki", "machine"))
    home.write(USER, server("git", "user") + trust(shop))
    home.write(shop / USER, server("tides", "project"))
    home.write(home.root / folder / "managed_config.toml", '[mcp_servers.tides]\nargs = ["--safe"]\n')
    assert outcome(home.read(shop)) == {
        "global git user": "enabled",
        "global wiki machine": "enabled",
        "project tides project --safe": "enabled",
    }


def test_an_administrators_list_denies_what_it_does_not_name_with_the_same_command_or_url(
    home: Home, shop: Path
) -> None:
    remote = '[mcp_servers.far]\nurl = "https://mcp.test/"\n'
    home.write(USER, server("git", "good") + server("wiki", "bad") + server("tides", "x") + remote)
    home.write(shop / USER, server("git", "untrusted") + server("new", "untrusted"))
    identities = {"git": 'command = "good"', "wiki": 'command = "good"', "far": 'url = "https://mcp.test/"'}
    requirements = home.root / "machine/etc/codex/requirements.toml"
    lines = [f"[mcp_servers.{name}.identity]\n{identity}\n" for name, identity in identities.items()]
    home.write(requirements, "".join(lines))
    assert outcome(home.read(shop)) == {
        "global git good": "enabled",
        "global far https://mcp.test/": "enabled",
        "project git untrusted": "pending",
        "project new untrusted": "denied",
        "global wiki bad": "denied",
        "global tides x": "denied",
    }
    home.write(requirements, 'allowed_approval_policies = ["never"]\n')
    assert "denied" not in outcome(home.read(shop)).values()


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("args = []", "neither `command` nor `url` is given, here or in a file that this one overrides"),
        ('command = "x"\nurl = "y"', "`url` cannot be combined with `command`"),
        ('url = "x"\nargs = ["y"]', "`args` cannot be combined with `url`"),
        ('url = "x"\nbearer_token = "hush"', "`bearer_token` is not supported; use `bearer_token_env_var`"),
        ('command = "x"\nenabled = "no"', "enabled: expected true or false, found text"),
        ('command = "x"\nenv = { A = 1 }', "env, item 1: expected text, found a number"),
    ],
)
def test_an_invalid_entry_is_named_and_the_others_are_declared(
    home: Home, shop: Path, entry: str, reason: str
) -> None:
    home.write(USER, server("good", "x") + f"[mcp_servers.bad]\n{entry}\n")
    reading = home.read(shop)
    assert outcome(reading) == {"global good x": "enabled"}
    assert [(problem.place, problem.reason) for problem in reading.problems] == [("mcp_servers.bad", reason)]


def test_a_mistake_counts_only_in_the_merged_entry_of_files_that_count(home: Home, shop: Path) -> None:
    home.write(USER, "[mcp_servers.git]\nenabled = false\n" + trust(shop))
    home.write(shop / USER, server("git", "here"))
    reading = home.read(shop)
    assert (outcome(reading), reading.problems) == ({"project git here": "disabled"}, [])
    blog = home.project("blog")
    assert [problem.place for problem in home.read(blog).problems] == ["mcp_servers.git"]


def test_variables_that_are_passed_on_are_kept_by_name(home: Home, shop: Path) -> None:
    remote = '[mcp_servers.r]\nurl = "u"\nbearer_token_env_var = "T"\nenv_http_headers = { X = "Y" }\n'
    more = 'env_vars = ["A", { name = "B", source = "remote" }]\nenv = { C = "${A}" }\ncwd = "sub"'
    home.write(USER, remote + server("p", "x", more))
    launches = {item.server: item.launch for item in home.read(shop).declarations}
    assert launches["r"] is not None
    assert launches["r"].headers == {"X": "${named:Y}", "Authorization": "Bearer ${named:T}"}
    assert launches["p"] is not None
    assert launches["p"].env == {"A": "${named:A}", "B": "${named:B}", "C": "${A}"}
    assert launches["p"].cwd == "sub"


def plugin(home: Home, version: str, servers: object) -> None:
    folder = home.path / ".codex/plugins/cache/orchard/quill" / version
    home.write(folder / ".codex-plugin/plugin.json", {"name": "quill"})
    home.write(folder / ".mcp.json", servers)


def test_a_plugin_brings_servers_of_its_local_or_highest_version(home: Home, shop: Path) -> None:
    home.write(USER, '[plugins."quill@orchard"]\nenabled = true\n')
    plugin(home, "9.0.0", {"spell": {"command": "nine"}})
    plugin(home, "10.0.0", {"mcpServers": {"spell": {"command": "ten"}}})
    assert outcome(home.read(shop)) == {"plugin quill@orchard": "enabled", "plugin spell ten": "enabled"}
    plugin(home, "local", {"spell": {"command": "local"}})
    assert "plugin spell local" in outcome(home.read(shop))


def test_the_settings_switch_plugins_and_their_servers_and_win_by_name(home: Home, shop: Path) -> None:
    on = '[plugins."quill@orchard"]\n[plugins."quill@orchard".mcp_servers.spell]\nenabled = false\n'
    plugin(home, "abc", {"spell": {"command": "s"}, "git": {"command": "plugin"}, "bad": {"command": 5}})
    home.write(USER, on + server("git", "user"))
    assert outcome(home.read(shop)) == {
        "plugin quill@orchard": "enabled",
        "plugin spell s": "disabled",
        "global git user": "enabled",
    }
    home.write(USER, '[plugins."quill@orchard"]\nenabled = false\n')
    assert outcome(home.read(shop)) == {"plugin quill@orchard": "disabled"}
    home.write(USER, on + "[features]\nplugins = false\n")
    assert outcome(home.read(shop)) == {}


def test_an_administrators_list_has_a_part_for_plugins_and_an_empty_one_covers_them_too(
    home: Home, shop: Path
) -> None:
    plugin(home, "1.0.0", {"spell": {"command": "s"}, "rhyme": {"command": "r"}})
    home.write(USER, '[plugins."quill@orchard"]\n')
    own = '[mcp_servers.git.identity]\ncommand = "x"\n'
    part = '[plugins."quill@orchard".mcp_servers.spell.identity]\ncommand = "s"\n'
    both = ["plugin rhyme r", "plugin spell s"]
    for content, denied in ((own, []), (part, both[:1]), ("[mcp_servers]\n", both)):
        home.write(home.root / "machine/etc/codex/requirements.toml", content)
        found = outcome(home.read(shop))
        assert sorted(name for name, status in found.items() if status == "denied") == denied


def test_a_plugin_that_only_the_project_names_belongs_to_it(home: Home, shop: Path) -> None:
    plugin(home, "1.0.0", {"spell": {"command": "s"}})
    home.write(USER, trust(shop))
    home.write(shop / USER, '[plugins."quill@orchard"]\n')
    hashes = {item.project_hash for item in home.read(shop).declarations}
    assert hashes == {home.context(shop).workspace.project.hash}


def test_enabled_disabled_and_approved_tools_become_permission_rules(home: Home, shop: Path) -> None:
    lists = 'enabled_tools = ["status", "reset"]\ndisabled_tools = ["reset"]\n'
    modes = "".join(
        f'[mcp_servers.git.tools.{tool}]\napproval_mode = "{mode}"\n'
        for tool, mode in (("log", "prompt"), ("show", "approve"), ("x", "auto"))
    )
    home.write(USER, server("git", "g", lists + modes))
    rules = home.read(shop).permissions
    assert [f"{rule.effect} {rule.text}" for rule in rules] == [
        "restricts mcp__git",
        "lists mcp__git__status",
        "lists mcp__git__reset",
        "deny mcp__git__reset",
        "ask mcp__git__log",
        "allow mcp__git__show",
    ]
    assert {rule.origin.key for rule in rules} == {"mcp_servers.git"}
    home.write(shop / USER, "[mcp_servers.git]\ndisabled_tools = []\n")
    assert len(home.read(shop).permissions) == 6, "an untrusted project's file does not count"
    assert reasons(home.read(shop)) == []
