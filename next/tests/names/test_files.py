"""Files of names and scopes: written, read again, and kept to the byte."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from remit.errors import BadFileError
from remit.names import (
    Command,
    Form,
    Names,
    Parameter,
    Start,
    label,
    labeled_commands,
    names_text,
    read_names,
    server_text,
    write,
)
from remit.names.scopes_file import ServerSettings, parse_scopes

NAMES = Names(
    "app",
    "/",
    (
        Command("class", Start.CALL, "app:cli", ("class",)),
        Command("import.1st", Start.CALL, "app:cli", ("import", "1st")),
        Command(
            "user",
            Start.CALL,
            "app:user",
            description='Say "hi" \\ ☃\n\ttwice',
            parameters=(Parameter("x", Form.OPTION, "--x", choices=("a", 1, None), is_many=True),),
            rules=({"danger": "low", "approval": True}, {"states": {"all": ["open"]}}),
        ),
        Command("user.a-b", Start.CALL, "app:cli", ("user", "a-b")),
        Command("user.a_b", Start.CALL, "app:cli", ("user", "a_b"), problem="no such module"),
        Command("user.deep.down", Start.FUNCTION, "app:down", schema={"type": "object"}),
    ),
    {"user": 'People \\ "quoted"'},
)


def names(*commands: str) -> Names:
    return Names("app", "/", tuple(Command(name, Start.CALL, "app:cli") for name in sorted(commands)))


def test_names_are_a_tree_of_constants(tmp_path: Path) -> None:
    made: dict[str, Any] = {}
    exec(names_text(NAMES, str(tmp_path / "names.py")), made)  # noqa: S102 - written by the test
    assert (made["class_"], made["import_"]._1st) == ("class", "import.1st")
    user = made["user"]
    constants = (user.NAME, user.a_b, user.a_b_, user.deep.down)
    assert constants == ("user", "user.a-b", "user.a_b", "user.deep.down")
    assert user.__doc__ == 'People \\ "quoted".'
    assert made["NAMES"] == json.loads(names_text(NAMES, str(tmp_path / "names.json")))


@pytest.mark.parametrize("name", ["names.py", "names.json"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    assert write(names_text(NAMES, path), path)
    assert read_names(path) == NAMES
    assert not write(names_text(NAMES, path), path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.py", "import os\nNAMES = os.environ"),
        ("names.py", "NAMES = " + "[" * 10_000),
        ("names.py", "x = 1"),
        ("names.json", "[" * 100_000),
        ("names.json", '{"version": 99, "program": "x", "source": ".", "groups": {}, "commands": {}}'),
        ("names.json", '{"version": 1, "program": "x", "source": ".", "groups": {}, "commands": {"x": 1}}'),
    ],
)
def test_what_is_no_file_of_names_is_refused_and_never_run(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadFileError, match="is not a file of names"):
        read_names(str(tmp_path / name))


def test_a_file_that_was_not_generated_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text("# mine\n")
    with pytest.raises(BadFileError, match="exists and was not generated"):
        write(server_text("names.py", "scopes.toml", str(path)), str(path))
    assert path.read_text() == "# mine\n"


def test_new_names_are_off_for_agents_unless_they_only_read(tmp_path: Path) -> None:
    path = str(tmp_path / "scopes.toml")
    made = label(names("user.list", "user.delete", "user.create", "user.frob"), path)
    assert tomllib.loads(made.text)["tools"] == {
        "user.create": {"ai_enabled": False, "danger": "moderate"},
        "user.delete": {"ai_enabled": False, "danger": "destructive"},
        "user.frob": {"ai_enabled": False, "danger": "low"},
        "user.list": {"ai_enabled": True, "danger": "safe"},
    }
    made = label(NAMES, path)
    assert tomllib.loads(made.text)["tools"]["user"] == {
        "ai_enabled": False,
        "danger": "low",
        "approval": True,
    }


@pytest.mark.parametrize(
    "before",
    [
        b'# mine\n[tools."user.list"]   # keep\nai_enabled=true\r\n\n\n\t# odd  \n',
        b'tools."user.list".danger = "safe"',
        b"\xef\xbb\xbf[tools.'user.list']\r\nstates = [ 'a',\r\n 'b' ]\r\n",
    ],
)
def test_what_a_person_wrote_is_kept_to_the_byte(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "scopes.toml"
    path.write_bytes(before)
    wanted = names("user.list", "user.delete")
    made = label(wanted, str(path))
    assert made.added == ("user.delete",)
    write(made.text, str(path))
    assert path.read_bytes().startswith(before)
    again = label(wanted, str(path))
    assert (again.text.encode(), again.added) == (path.read_bytes(), ())


def test_names_that_are_gone_are_told_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "scopes.toml"
    before = '[tools."user.list"]\nai_enabled = true\n[tools."user.*"]\ndanger = "low"\n'
    path.write_text(before)
    made = label(names("user.show"), str(path))
    assert (made.added, made.removed) == (("user.show",), ("user.list",))
    assert made.text.startswith(before)


def test_the_strictest_of_code_and_scopes_counts() -> None:
    text = """
[tools.'user*']
ai_enabled = true
danger = 'moderate'
approval = false
[tools.'user.deep.*']
ai_enabled = false
"""
    labeled = {item.command.name: item for item in labeled_commands(NAMES, parse_scopes(text, "scopes.toml"))}
    user, deep = labeled["user"], labeled["user.deep.down"]
    assert (user.danger, user.approval, user.ai_enabled) == ("moderate", True, True)
    assert (deep.ai_enabled, labeled["class"].ai_enabled, labeled["class"].is_labeled) == (
        False,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tools.x", "not valid TOML"),
        ("[tools.x]\ndangr = 'safe'", "line 2: tools.x.dangr"),
        ("[tools.x]\nwhen = 'git.branch =='", "line 2: tools.x.when"),
        ("[servers.x]\nallow = true", "`servers` is not allowed"),
        ("[states.x]\nfiel = 'x'", "states.x"),
        ("[server]\ncommand = 'x'", "`server` has a `name`"),
        ("[server]\ntimeout = 0", "`server` has a `name`"),
        ("server = 1", "`server` has a `name`"),
    ],
)
def test_a_scopes_file_with_a_mistake_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(BadFileError) as caught:
        parse_scopes(text, "scopes.toml")
    assert str(caught.value).startswith("scopes.toml: ")
    assert message in str(caught.value)


def test_a_scopes_file_may_say_how_the_program_is_started() -> None:
    text = '[server]\nname = "sc"\ncommand = ["sc", "--quiet"]\ntimeout = 5\n'
    assert parse_scopes(text, "x").server == ServerSettings("sc", ("sc", "--quiet"), 5.0)
