"""Files of names: written, read again, and never run."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.errors import BadFileError
from remit.names.generated_files import names_as_json, names_as_python, read_names
from remit.names.name_tree import Command, Form, Label, Names, Parameter, Start

NAMES = Names(
    "app",
    (
        Command("class", Start.CALL, "app:cli", ("class",)),
        Command("import.1st", Start.CALL, "app:cli", ("import", "1st")),
        Command(
            "user",
            Start.FUNCTION,
            "app:user",
            description='Say "hi" \\ ☃\n\ttwice',
            parameters=(Parameter("x", Form.OPTION, "--x", choices=("a", 1, None), is_many=True),),
            label=Label(states=("a",), pages=("/x",), ai_enabled=True),
        ),
        Command("user.a-b", Start.CALL, "app:cli", ("user", "a-b")),
        Command("user.a_b", Start.CALL, "app:cli", ("user", "a_b")),
        Command("user.deep.down", Start.CALL, "app:cli", ("user", "deep", "down")),
    ),
    {"user": 'People \\ "quoted"'},
)


def test_names_are_a_tree_of_constants() -> None:
    made: dict[str, Any] = {}
    exec(names_as_python(NAMES), made)  # noqa: S102 - our own words
    assert made["class_"] == "class"
    assert made["import_"]._1st == "import.1st"
    user = made["user"]
    assert (user.NAME, user.a_b, user.a_b_, user.deep.down) == (
        "user",
        "user.a-b",
        "user.a_b",
        "user.deep.down",
    )
    assert user.__doc__ == 'People \\ "quoted".'
    assert made["NAMES"] == json.loads(names_as_json(NAMES))


@pytest.mark.parametrize("name", ["names.py", "names.json"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    text = names_as_json(NAMES) if name.endswith("json") else names_as_python(NAMES)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_names(str(tmp_path / name)) == NAMES


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.py", "import os\nNAMES = os.environ"),
        ("names.py", "NAMES = " + "[" * 10_000),
        ("names.py", "x = 1"),
        ("names.json", "{}"),
        ("names.json", "[" * 100_000),
        ("names.json", '{"version": 99, "package": "x", "groups": {}, "commands": {}}'),
        ("names.json", '{"version": 1, "package": "x", "groups": {}, "commands": {"x": 1}}'),
        ("names.json", '{"version": 1, "package": "x", "groups": [], "commands": {}}'),
    ],
)
def test_what_is_no_file_of_names_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadFileError, match="is not a file of names"):
        read_names(str(tmp_path / name))
