import json
from pathlib import Path

import pytest

from remit.clients.opencode import CLIENT, parse_servers
from remit.clients.parsing.client_reader import ParsedFile, read_client
from remit.clients.parsing.entry_fields import EntryFields
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import ClientReading
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support.processes import git
from support.sandbox import Sandbox


def read(sandbox: Sandbox, directory: Path, platform: str = "linux") -> ClientReading:
    machine = Machine(str(sandbox.home), sandbox.variables, platform, root=str(sandbox.root / "machine"))
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


def repository(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop", git=False)
    git("init", cwd=path)
    return path


def user_file(sandbox: Sandbox, name: str = "opencode.json") -> Path:
    return sandbox.home / ".config/opencode" / name


def test_a_project_file_is_laid_over_the_users_and_asks_nobody(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(user_file(sandbox), config(git="user", wiki="user"))
    sandbox.write(shop / "opencode.json", config({"wiki": {"enabled": False}}, git="project"))
    assert outcome(read(sandbox, shop)) == {
        "project git": ("project", "enabled"),
        "project wiki": ("user", "disabled"),
    }


def test_files_are_read_up_to_the_root_of_the_checkout_the_nearest_last(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(sandbox.root / "code/opencode.json", config(outside="x"))
    sandbox.write(shop / "opencode.json", config(git="outer", wiki="outer"))
    sandbox.write(shop / "api/opencode.jsonc", "// near\n" + json.dumps(config(git="inner")))
    assert outcome(read(sandbox, shop / "api")) == {
        "project git": ("inner", "enabled"),
        "project wiki": ("outer", "enabled"),
    }


@pytest.mark.parametrize("mark", ["nothing", "an empty directory", "a file of something else"])
def test_without_a_repository_files_are_read_to_the_top(sandbox: Sandbox, mark: str) -> None:
    notes = sandbox.project("notes", git=mark == "an empty directory")
    if mark == "a file of something else":
        sandbox.write(notes / ".git", "junk")
    sandbox.write(sandbox.root / "opencode.json", config(far="x"))
    assert outcome(read(sandbox, notes)) == {"project far": ("x", "enabled")}


def test_a_linked_worktree_is_a_checkout_of_its_own(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    git("commit", "--allow-empty", "--message", "start", cwd=shop)
    git("worktree", "add", str(sandbox.root / "tree"), cwd=shop)
    sandbox.write(sandbox.root / "opencode.json", config(far="x"))
    sandbox.write(sandbox.root / "tree/opencode.json", config(git="tree"))
    assert outcome(read(sandbox, sandbox.root / "tree")) == {"project git": ("tree", "enabled")}


def test_of_the_folders_the_outermost_wins_and_the_users_before_any_projects(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(shop / "api/opencode.json", config(git="file", wiki="file", tides="file"))
    sandbox.write(shop / "api/.opencode/opencode.json", config(git="inner", wiki="inner"))
    sandbox.write(shop / ".opencode/opencode.json", config(git="outer"))
    assert outcome(read(sandbox, shop / "api")) == {
        "project git": ("outer", "enabled"),
        "project wiki": ("inner", "enabled"),
        "project tides": ("file", "enabled"),
    }
    sandbox.write(sandbox.home / ".opencode/opencode.json", config(git="home"))
    assert outcome(read(sandbox, shop / "api"))["global git"] == ("home", "enabled")
    assert "project git" not in outcome(read(sandbox, shop / "api"))


def test_variables_name_more_files_and_give_the_last_word_to_a_session(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(
        sandbox.root / "xdg/opencode/config.json", config(git="xdg", wiki="xdg", tides="xdg", a="xdg")
    )
    sandbox.write(sandbox.root / "own.json", config(wiki="own", tides="own", a="own"))
    sandbox.write(sandbox.root / "folder/opencode.json", config(tides="folder", a="folder"))
    sandbox.variables |= {
        "XDG_CONFIG_HOME": str(sandbox.root / "xdg"),
        "OPENCODE_CONFIG": str(sandbox.root / "own.json"),
        "OPENCODE_CONFIG_DIR": str(sandbox.root / "folder"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config(a="session")),
    }
    assert outcome(read(sandbox, shop)) == {
        "global git": ("xdg", "enabled"),
        "global wiki": ("own", "enabled"),
        "global tides": ("folder", "enabled"),
        "dynamic a": ("session", "enabled"),
    }


@pytest.mark.parametrize(("value", "is_read"), [("1", False), ("true", False), ("0", True), ("", True)])
def test_a_variable_leaves_out_the_projects_files(sandbox: Sandbox, value: str, is_read: bool) -> None:
    shop = repository(sandbox)
    sandbox.write(shop / "opencode.json", config(git="x"))
    sandbox.write(shop / ".opencode/opencode.json", config(wiki="x"))
    sandbox.variables["OPENCODE_DISABLE_PROJECT_CONFIG"] = value
    assert bool(outcome(read(sandbox, shop))) is is_read


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/opencode"),
        ("darwin", "machine/Library/Application Support/opencode"),
        ("win32", "machineC:\\ProgramData/opencode"),
    ],
)
def test_the_administrators_files_are_the_strongest(sandbox: Sandbox, platform: str, folder: str) -> None:
    shop = repository(sandbox)
    sandbox.write(shop / "opencode.json", config(git="project"))
    sandbox.variables["OPENCODE_CONFIG_CONTENT"] = json.dumps(config(git="session"))
    sandbox.write(sandbox.root / folder / "opencode.jsonc", config({"git": {"enabled": False}}))
    # The project has a part in it: though the administrator has the last word, it is the project's.
    assert outcome(read(sandbox, shop, platform)) == {"project git": ("session", "disabled")}


def test_what_a_project_has_a_part_in_is_the_projects_whoever_has_the_last_word(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(shop / "opencode.json", config(docs="project"))
    sandbox.write(sandbox.home / ".opencode/opencode.json", config({"docs": {"enabled": True}}))
    assert outcome(read(sandbox, shop)) == {"project docs": ("project", "enabled")}
    sandbox.write(sandbox.home / ".opencode/opencode.json", config(docs="user"))
    assert outcome(read(sandbox, shop)) == {"global docs": ("user", "enabled")}


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
    parsed = ParsedFile(source="/opencode.json")
    found = parse_servers(EntryFields(config({"bad": entry}, good="x")), parsed)
    assert list(found) == ["good"]
    assert [(item.place, item.reason) for item in parsed.problems] == [("mcp.bad", reason)]


@pytest.mark.parametrize("content", [[], {"mcp": []}, {"mcp": None}])
def test_a_file_of_another_shape_declares_nothing_and_says_so(sandbox: Sandbox, content: object) -> None:
    sandbox.write(user_file(sandbox), content)
    reading = read(sandbox, repository(sandbox))
    assert (reading.declarations, len(reading.problems)) == ([], 1)


def test_the_newer_layout_has_its_own_switch() -> None:
    entry = {"type": "local", "command": ["x"]}
    servers = {"on": entry, "off": {**entry, "disabled": True}, "old": {**entry, "enabled": False}}
    parsed = ParsedFile(source="/opencode.json")
    mcp = {"servers": servers, "timeout": {"startup": 5}, "beside": entry}
    found = parse_servers(EntryFields({"mcp": mcp}), parsed)
    assert {name: fields["enabled"] for name, fields in found.items() if "enabled" in fields} == {  # pyright: ignore[reportOperatorIssue, reportIndexIssue, reportUnknownVariableType]
        "on": True,
        "off": False,
        "old": False,
    }
    assert "beside" in found
    assert parsed.problems == []


def test_a_server_may_be_called_servers_and_disabled_means_nothing_in_the_older_layout() -> None:
    entry = {"type": "local", "command": ["x"], "disabled": True}
    assert parse_servers(EntryFields({"mcp": {"servers": entry}}), ParsedFile(source="/f")) == {
        "servers": entry
    }


def test_empty_files_and_bad_ones_cost_only_themselves(sandbox: Sandbox) -> None:
    shop = repository(sandbox)
    sandbox.write(user_file(sandbox), config(git="x"))
    sandbox.write(user_file(sandbox, "config.json"), "")
    sandbox.write(shop / "opencode.json", "{")
    sandbox.variables["OPENCODE_CONFIG_CONTENT"] = "{hush"
    reading = read(sandbox, shop)
    assert outcome(reading) == {"global git": ("x", "enabled")}
    sources = [problem.source for problem in reading.problems]
    assert sources == [str(shop / "opencode.json"), "$OPENCODE_CONFIG_CONTENT"]
    assert "hush" not in repr(reading)
