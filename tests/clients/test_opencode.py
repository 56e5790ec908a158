import json
from pathlib import Path

import pytest

from remit.clients.opencode import CLIENT, parse_servers
from remit.clients.parsing.client_reader import Parsed, read_client
from remit.clients.parsing.entry_fields import Fields
from remit.decision.client_reading import ClientReading
from remit.decision.client_settings import ClientSettings
from remit.decision.resolve import resolve
from remit.decision.views import View
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support import Desk, git


def read(desk: Desk, directory: Path, platform: str = "linux") -> ClientReading:
    machine = Machine(str(desk.home), desk.variables, platform, root=str(desk.root / "machine"))
    return read_client(CLIENT, View(CLIENT.name, locate(str(directory))), machine, now_ns=0)


def outcome(reading: ClientReading) -> dict[str, tuple[str, str]]:
    """The command that counts of each server, with where it stands and what became of it."""
    resolved = resolve(reading.declarations, ClientSettings(reading.rules, behavior=reading.behavior))
    return {
        f"{item.declaration.scope} {item.declaration.server}": (
            "" if item.declaration.launch is None else item.declaration.launch.command,
            item.config_status.value,
        )
        for item in resolved
        if item.shadowed_by is None
    }


def config(*more: dict[str, object], **commands: str) -> dict[str, object]:
    servers = {name: {"type": "local", "command": [command]} for name, command in commands.items()}
    return {"mcp": {**servers, **{name: entry for each in more for name, entry in each.items()}}}


def repository(desk: Desk) -> Path:
    path = desk.project("shop", git=False)
    git("init", cwd=path)
    return path


def user_file(desk: Desk, name: str = "opencode.json") -> Path:
    return desk.home / ".config/opencode" / name


def test_a_project_file_is_laid_over_the_users_and_asks_nobody(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(user_file(desk), config(git="user", wiki="user"))
    desk.write(shop / "opencode.json", config({"wiki": {"enabled": False}}, git="project"))
    assert outcome(read(desk, shop)) == {
        "project git": ("project", "enabled"),
        "project wiki": ("user", "disabled"),
    }


def test_files_are_read_up_to_the_root_of_the_checkout_the_nearest_last(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(desk.root / "code/opencode.json", config(outside="x"))
    desk.write(shop / "opencode.json", config(git="outer", wiki="outer"))
    desk.write(shop / "api/opencode.jsonc", "// near\n" + json.dumps(config(git="inner")))
    assert outcome(read(desk, shop / "api")) == {
        "project git": ("inner", "enabled"),
        "project wiki": ("outer", "enabled"),
    }


@pytest.mark.parametrize("mark", ["nothing", "an empty directory", "a file of something else"])
def test_without_a_repository_files_are_read_to_the_top(desk: Desk, mark: str) -> None:
    notes = desk.project("notes", git=mark == "an empty directory")
    if mark == "a file of something else":
        desk.write(notes / ".git", "junk")
    desk.write(desk.root / "opencode.json", config(far="x"))
    assert outcome(read(desk, notes)) == {"project far": ("x", "enabled")}


def test_a_linked_worktree_is_a_checkout_of_its_own(desk: Desk) -> None:
    shop = repository(desk)
    git("commit", "--allow-empty", "--message", "start", cwd=shop)
    git("worktree", "add", str(desk.root / "tree"), cwd=shop)
    desk.write(desk.root / "opencode.json", config(far="x"))
    desk.write(desk.root / "tree/opencode.json", config(git="tree"))
    assert outcome(read(desk, desk.root / "tree")) == {"project git": ("tree", "enabled")}


def test_of_the_folders_the_outermost_wins_and_the_users_before_any_projects(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(shop / "api/opencode.json", config(git="file", wiki="file", tides="file"))
    desk.write(shop / "api/.opencode/opencode.json", config(git="inner", wiki="inner"))
    desk.write(shop / ".opencode/opencode.json", config(git="outer"))
    assert outcome(read(desk, shop / "api")) == {
        "project git": ("outer", "enabled"),
        "project wiki": ("inner", "enabled"),
        "project tides": ("file", "enabled"),
    }
    desk.write(desk.home / ".opencode/opencode.json", config(git="home"))
    assert outcome(read(desk, shop / "api"))["global git"] == ("home", "enabled")
    assert "project git" not in outcome(read(desk, shop / "api"))


def test_variables_name_more_files_and_give_the_last_word_to_a_session(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(desk.root / "xdg/opencode/config.json", config(git="xdg", wiki="xdg", tides="xdg", a="xdg"))
    desk.write(desk.root / "own.json", config(wiki="own", tides="own", a="own"))
    desk.write(desk.root / "folder/opencode.json", config(tides="folder", a="folder"))
    desk.variables |= {
        "XDG_CONFIG_HOME": str(desk.root / "xdg"),
        "OPENCODE_CONFIG": str(desk.root / "own.json"),
        "OPENCODE_CONFIG_DIR": str(desk.root / "folder"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config(a="session")),
    }
    assert outcome(read(desk, shop)) == {
        "global git": ("xdg", "enabled"),
        "global wiki": ("own", "enabled"),
        "global tides": ("folder", "enabled"),
        "dynamic a": ("session", "enabled"),
    }


@pytest.mark.parametrize(("value", "is_read"), [("1", False), ("true", False), ("0", True), ("", True)])
def test_a_variable_leaves_out_the_projects_files(desk: Desk, value: str, is_read: bool) -> None:
    shop = repository(desk)
    desk.write(shop / "opencode.json", config(git="x"))
    desk.write(shop / ".opencode/opencode.json", config(wiki="x"))
    desk.variables["OPENCODE_DISABLE_PROJECT_CONFIG"] = value
    assert bool(outcome(read(desk, shop))) is is_read


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/opencode"),
        ("darwin", "machine/Library/Application Support/opencode"),
        ("win32", "machineC:\\ProgramData/opencode"),
    ],
)
def test_the_administrators_files_are_the_strongest(desk: Desk, platform: str, folder: str) -> None:
    shop = repository(desk)
    desk.write(shop / "opencode.json", config(git="project"))
    desk.variables["OPENCODE_CONFIG_CONTENT"] = json.dumps(config(git="session"))
    desk.write(desk.root / folder / "opencode.jsonc", config({"git": {"enabled": False}}))
    # The project has a part in it: though the administrator has the last word, it is the project's.
    assert outcome(read(desk, shop, platform)) == {"project git": ("session", "disabled")}


def test_what_a_project_has_a_part_in_is_the_projects_whoever_has_the_last_word(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(shop / "opencode.json", config(docs="project"))
    desk.write(desk.home / ".opencode/opencode.json", config({"docs": {"enabled": True}}))
    assert outcome(read(desk, shop)) == {"project docs": ("project", "enabled")}
    desk.write(desk.home / ".opencode/opencode.json", config(docs="user"))
    assert outcome(read(desk, shop)) == {"global docs": ("user", "enabled")}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"command": ["x"]}, "`type` is missing"),
        ({"type": "stdio", "command": ["x"]}, "type: not one of local, remote"),
        ({"type": "local", "command": "x"}, "command: expected a list, found text"),
        ({"type": "local", "command": []}, "command: must not be empty"),
        ({"type": "remote"}, "`url` is missing"),
        ({"type": "local", "command": ["x"], "enabled": "no"}, "enabled: expected true or false, found text"),
        (None, "expected an object, found null"),
    ],
)
def test_a_bad_entry_is_named_and_the_others_are_read(entry: object, reason: str) -> None:
    parsed = Parsed(source="/opencode.json")
    found = parse_servers(Fields(config({"bad": entry}, good="x")), parsed)
    assert list(found) == ["good"]
    assert [(item.place, item.reason) for item in parsed.problems] == [("mcp.bad", reason)]


@pytest.mark.parametrize("content", [[], {"mcp": []}, {"mcp": None}])
def test_a_file_of_another_shape_declares_nothing_and_says_so(desk: Desk, content: object) -> None:
    desk.write(user_file(desk), content)
    reading = read(desk, repository(desk))
    assert (reading.declarations, len(reading.problems)) == ([], 1)


def test_the_newer_layout_has_its_own_switch() -> None:
    entry = {"type": "local", "command": ["x"]}
    servers = {"on": entry, "off": {**entry, "disabled": True}, "old": {**entry, "enabled": False}}
    parsed = Parsed(source="/opencode.json")
    mcp = {"servers": servers, "timeout": {"startup": 5}, "beside": entry}
    found = parse_servers(Fields({"mcp": mcp}), parsed)
    assert {name: fields["enabled"] for name, fields in found.items() if "enabled" in fields} == {  # pyright: ignore[reportOperatorIssue, reportIndexIssue, reportUnknownVariableType]
        "on": True,
        "off": False,
        "old": False,
    }
    assert "beside" in found
    assert parsed.problems == []


def test_a_server_may_be_called_servers_and_disabled_means_nothing_in_the_older_layout() -> None:
    entry = {"type": "local", "command": ["x"], "disabled": True}
    assert parse_servers(Fields({"mcp": {"servers": entry}}), Parsed(source="/f")) == {"servers": entry}


def test_empty_files_and_bad_ones_cost_only_themselves(desk: Desk) -> None:
    shop = repository(desk)
    desk.write(user_file(desk), config(git="x"))
    desk.write(user_file(desk, "config.json"), "")
    desk.write(shop / "opencode.json", "{")
    desk.variables["OPENCODE_CONFIG_CONTENT"] = "{hush"
    reading = read(desk, shop)
    assert outcome(reading) == {"global git": ("x", "enabled")}
    sources = [problem.source for problem in reading.problems]
    assert sources == [str(shop / "opencode.json"), "$OPENCODE_CONFIG_CONTENT"]
    assert "hush" not in repr(reading)
