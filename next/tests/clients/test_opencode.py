"""opencode: merged files and folders, variables, the administrator's files, and ordered permissions."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.git import git
from support.homes import Home, outcome, reasons

USER = ".config/opencode/opencode.json"
FILE = "opencode.json"
LOCAL = {"type": "local", "command": ["x"]}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, "opencode")


@pytest.fixture
def shop(home: Home) -> Path:
    path = home.project("shop", git=False)
    git("init", cwd=path)
    return path


def config(*more: dict[str, object], **commands: str) -> dict[str, Any]:
    entries = {name: {"type": "local", "command": [word]} for name, word in commands.items()}
    return {"mcp": {**entries, **{name: entry for item in more for name, entry in item.items()}}}


def test_a_project_file_is_merged_over_the_users_and_asks_nobody(home: Home, shop: Path) -> None:
    home.write(USER, config(git="user", wiki="user"))
    home.write(shop / FILE, config({"wiki": {"enabled": False}}, git="project"))
    assert outcome(home.read(shop)) == {"project git project": "enabled", "project wiki user": "disabled"}


def test_files_are_read_up_to_the_root_of_the_checkout_the_nearest_last(home: Home, shop: Path) -> None:
    home.write(home.root / "code" / FILE, config(outside="x"))
    home.write(shop / FILE, config(git="outer", wiki="outer"))
    home.write(shop / "api/opencode.jsonc", "// near\n" + json.dumps(config(git="inner")))
    assert outcome(home.read(shop / "api")) == {
        "project git inner": "enabled",
        "project wiki outer": "enabled",
    }


@pytest.mark.parametrize("mark", ["nothing", "an empty directory", "a file of something else"])
def test_without_a_repository_files_are_read_up_to_the_top(home: Home, mark: str) -> None:
    notes = home.project("notes", git=mark == "an empty directory")
    if mark == "a file of something else":
        home.write(notes / ".git", "junk")
    home.write(home.root / FILE, config(far="x"))
    assert outcome(home.read(notes)) == {"project far x": "enabled"}


def test_a_linked_worktree_is_a_checkout_of_its_own(home: Home, shop: Path) -> None:
    git("commit", "--allow-empty", "--message", "start", cwd=shop)
    git("worktree", "add", str(home.root / "tree"), cwd=shop)
    home.write(home.root / FILE, config(far="x"))
    home.write(home.root / "tree" / FILE, config(git="tree"))
    assert outcome(home.read(home.root / "tree")) == {"project git tree": "enabled"}


def test_of_the_folders_the_outermost_is_the_strongest_and_the_users_before_any_projects(
    home: Home, shop: Path
) -> None:
    home.write(shop / "api" / FILE, config(git="file", wiki="file", tides="file"))
    home.write(shop / "api/.opencode" / FILE, config(git="inner", wiki="inner"))
    home.write(shop / ".opencode" / FILE, config(git="outer"))
    assert outcome(home.read(shop / "api")) == {
        "project git outer": "enabled",
        "project wiki inner": "enabled",
        "project tides file": "enabled",
    }
    home.write(".opencode/opencode.json", config(git="home"))
    found = outcome(home.read(shop / "api"))
    assert "global git home" in found
    assert not any(name.startswith("project git") for name in found)


def test_variables_name_more_files_and_a_session_is_stronger(home: Home, shop: Path) -> None:
    everything = dict.fromkeys(("git", "wiki", "tides", "a"), "xdg")
    home.write(home.root / "xdg/opencode/config.json", config(**everything))
    home.write(home.root / "own.json", config(wiki="own", tides="own", a="own"))
    home.write(home.root / "folder" / FILE, config(tides="folder", a="folder"))
    home.variables |= {
        "XDG_CONFIG_HOME": str(home.root / "xdg"),
        "OPENCODE_CONFIG": str(home.root / "own.json"),
        "OPENCODE_CONFIG_DIR": str(home.root / "folder"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config(a="session")),
    }
    assert list(outcome(home.read(shop))) == [
        "global git xdg",
        "global wiki own",
        "global tides folder",
        "dynamic a session",
    ]


@pytest.mark.parametrize(("value", "is_read"), [("1", False), ("true", False), ("0", True), ("", True)])
def test_a_variable_leaves_out_the_projects_files(home: Home, shop: Path, value: str, is_read: bool) -> None:
    home.write(shop / FILE, config(git="x"))
    home.write(shop / ".opencode" / FILE, config(wiki="x"))
    home.variables["OPENCODE_DISABLE_PROJECT_CONFIG"] = value
    assert bool(outcome(home.read(shop))) is is_read


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/opencode"),
        ("darwin", "machine/Library/Application Support/opencode"),
        ("win32", "machineC:\\ProgramData/opencode"),
    ],
)
def test_the_administrators_files_are_the_strongest(
    home: Home, shop: Path, platform: str, folder: str
) -> None:
    home.platform = platform
    home.write(shop / FILE, config(git="project"))
    home.variables["OPENCODE_CONFIG_CONTENT"] = json.dumps(config(git="session"))
    home.write(home.root / folder / "opencode.jsonc", config({"git": {"enabled": False}}))
    # The project has a part in it: though the administrator has the last word, it is the project's.
    assert outcome(home.read(shop)) == {"project git session": "disabled"}


def test_a_server_that_a_project_contributes_to_is_the_projects(home: Home, shop: Path) -> None:
    home.write(shop / FILE, config(docs="project"))
    home.write(".opencode/opencode.json", config({"docs": {"enabled": True}}))
    assert outcome(home.read(shop)) == {"project docs project": "enabled"}
    home.write(".opencode/opencode.json", config(docs="user"))
    assert outcome(home.read(shop)) == {"global docs user": "enabled"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"command": ["x"]}, "`type` is missing"),
        ({"type": "stdio", "command": ["x"]}, "type: not one of local, remote"),
        ({"type": "local", "command": "x"}, "command: expected a list, found text"),
        ({"type": "local", "command": []}, "command: must not be empty"),
        ({"type": "remote"}, "`url` is missing"),
        ({**LOCAL, "enabled": "no"}, "enabled: expected true or false, found text"),
        (None, "expected an object, found null"),
    ],
)
def test_an_invalid_entry_is_named_and_the_others_are_read(
    home: Home, shop: Path, entry: object, reason: str
) -> None:
    home.write(USER, config({"bad": entry}, good="x"))
    reading = home.read(shop)
    assert list(outcome(reading)) == ["global good x"]
    assert [(problem.place, problem.reason) for problem in reading.problems] == [("mcp.bad", reason)]


@pytest.mark.parametrize("content", [[], {"mcp": []}, {"mcp": None}])
def test_a_file_of_another_shape_declares_nothing_and_is_a_problem(
    home: Home, shop: Path, content: object
) -> None:
    home.write(USER, content)
    reading = home.read(shop)
    assert (reading.declarations, len(reading.problems)) == ([], 1)


def test_the_newer_layout_has_its_own_switch_and_a_server_may_be_called_servers(
    home: Home, shop: Path
) -> None:
    servers = {"on": LOCAL, "off": {**LOCAL, "disabled": True}, "old": {**LOCAL, "enabled": False}}
    home.write(USER, {"mcp": {"servers": servers, "timeout": {"startup": 5}, "beside": LOCAL}})
    assert outcome(home.read(shop)) == {
        "global beside x": "enabled",
        "global on x": "enabled",
        "global off x": "disabled",
        "global old x": "disabled",
    }
    home.write(USER, {"mcp": {"servers": {**LOCAL, "disabled": True}}})
    assert outcome(home.read(shop)) == {"global servers x": "enabled"}


def test_empty_files_and_broken_ones_cost_only_themselves(home: Home, shop: Path) -> None:
    home.write(USER, config(git="x"))
    home.write(".config/opencode/config.json", "")
    home.write(shop / FILE, "{")
    home.variables["OPENCODE_CONFIG_CONTENT"] = "{hush"
    reading = home.read(shop)
    assert outcome(reading) == {"global git x": "enabled"}
    sources = [problem.source for problem in reading.problems]
    assert sources == [str(shop / FILE), "$OPENCODE_CONFIG_CONTENT"]
    assert "hush" not in repr(reading)


def test_permissions_are_rules_in_their_order(home: Home, shop: Path) -> None:
    permission = {
        "git_log": "ask",
        "*_push": "deny",
        "git_push": "allow",
        "bash": {"rm *": "deny", "ls": 3},
        "edit": 3,
        "till*": "ask",
    }
    content = config(git="g", till="t")
    home.write(USER, {**content, "tools": {"git_*": False, "git_status": True}, "permission": permission})
    reading = home.read(shop)
    assert [f"{rule.effect} {rule.text}" for rule in reading.permissions] == [
        "orders ",
        "deny mcp__git__*",
        "allow mcp__git__status",
        "ask mcp__git__log",
        "deny mcp__git__*_push",
        "deny mcp__till__*_push",
        "allow mcp__git__push",
        "deny bash(rm *)",
        "ask mcp__till",
    ]
    home.write(USER, {**content, "permission": "ask"})
    assert [rule.text for rule in home.read(shop).permissions] == ["", "mcp__git", "mcp__till"]
    home.write(USER, {**content, "permission": "nonsense"})
    assert (home.read(shop).permissions, reasons(home.read(shop))) == ([], [])
