"""Commands that are named by where their files lie below `commands`."""

from pathlib import Path

import pytest

from remit.errors import BadFileError
from remit.names.name_tree import Command, Start
from remit.names.package_scan import scan

TOOL = (
    'from remit import tool\n\n@tool\ndef {}(title: str = "") -> str:\n    """Do it."""\n    return title\n'
)
PLAIN = 'def {}(title: str = "") -> str:\n    """Do it."""\n    return title\n'
CLICK = 'import click\n\n@click.command()\n@click.option("--title")\ndef {}(title):\n    """Do it."""\n'
TYPER = 'import typer\n\napp = typer.Typer()\n\n@app.command()\ndef {}(title: str = ""):\n    """Do it."""\n'
ARGPARSE = """
import argparse

def main():
    parser = argparse.ArgumentParser("{}", description="Do it.")
    parser.add_argument("--title")
    parser.parse_args()
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root / "src"


def found(source: Path) -> dict[str, Command]:
    return {command.name: command for command in scan(str(source)).names.commands}


def warned(source: Path) -> list[tuple[str, str]]:
    return [(each.file, each.reason) for each in scan(str(source)).warnings]


@pytest.mark.parametrize("text", [TOOL, PLAIN, CLICK, TYPER, ARGPARSE])
@pytest.mark.parametrize("below", ["", "commands", "supernal"])
def test_the_tree_of_files_is_the_tree_of_names(tmp_path: Path, text: str, below: str) -> None:
    top = "supernal/commands" if below == "supernal" else "commands"
    source = write(
        tmp_path,
        {
            f"{top}/{group}/{name}.py": text.format(f"{name}_{group}")
            for group in ("requirement", "user")
            for name in ("list", "create")
        },
    )
    if below == "supernal":
        (source / "supernal/__init__.py").touch()
    commands = found(source / below)
    assert list(commands) == ["requirement.create", "requirement.list", "user.create", "user.list"]
    target = commands["requirement.list"].target
    assert target.startswith(f"{top.replace('/', '.')}.requirement.list:")
    assert [each.name for each in commands["user.create"].parameters] == ["title"]
    assert {each.description for each in commands.values()} == {"Do it."}
    assert warned(source / below) == []


def test_several_commands_of_a_file_are_named_below_it(tmp_path: Path) -> None:
    group = """
import click

@click.group()
def requirement(): ...

@requirement.command("list")
def list_(): ...
"""
    two = PLAIN.format("unused") + TOOL.format("show") + TOOL.format("user")
    source = write(tmp_path, {"commands/requirement.py": group, "commands/user.py": two})
    assert {name: each.words for name, each in found(source).items()} == {
        "requirement.list": ("list",),
        "user": (),
        "user.show": (),
    }


def test_a_name_that_the_code_states_counts(tmp_path: Path) -> None:
    named = TOOL.format("add").replace("@tool", '@tool(name="requirement.add")')
    assert list(found(write(tmp_path, {"commands/x/y.py": named}))) == ["requirement.add"]


def test_files_that_avoid_a_keyword_and_packages_themselves_have_plain_names(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        {
            "commands/user/import_.py": PLAIN.format("import_"),
            "commands/team/__init__.py": TOOL.format("team"),
            "commands/tools/__main__.py": ARGPARSE.format("tools"),
        },
    )
    commands = found(source)
    assert list(commands) == ["team", "tools", "user.import"]
    assert commands["tools"].start is Start.MODULE


@pytest.mark.parametrize(
    ("functions", "chosen"),
    [
        (("show", "helper"), "show"),
        (("show_", "main"), "show_"),
        (("main", "helper"), "main"),
        (("_helper", "anything"), "anything"),
        (("one", "two"), None),
        (("_helper",), None),
    ],
)
def test_a_plain_module_holds_one_command_or_a_warning_says_why_not(
    tmp_path: Path, functions: tuple[str, ...], chosen: str | None
) -> None:
    text = "".join(map(PLAIN.format, functions))
    source = write(tmp_path, {"commands/user/show.py": text, "commands/user/list.py": TOOL.format("list_")})
    command = found(source).get("user.show")
    assert (None if command is None else command.target.partition(":")[2]) == chosen
    if chosen is None:
        ((file, reason),) = warned(source)
        assert file == "commands/user/show.py"
        assert ("@tool" in reason) == (len(functions) == 2)


def test_modules_that_start_with_an_underscore_are_no_commands(tmp_path: Path) -> None:
    source = write(tmp_path, {"commands/_shared.py": PLAIN.format("x"), "commands/a.py": PLAIN.format("a")})
    assert list(found(source)) == ["a"]
    assert warned(source) == []


def test_plain_functions_outside_of_commands_are_none(tmp_path: Path) -> None:
    source = write(tmp_path, {"app/main.py": PLAIN.format("main"), "app/cli.py": CLICK.format("go")})
    assert list(found(source)) == ["go"]


@pytest.mark.parametrize(
    "files",
    [
        {
            "commands/user.py": TOOL.format("list_") + TOOL.format("x"),
            "commands/user/list.py": PLAIN.format("x"),
        },
        {"commands/user/list.py": CLICK.format("x"), "commands/user/list_.py": PLAIN.format("x")},
    ],
)
def test_a_clash_names_both_files(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(BadFileError, match=r"two commands are called `user\.list`") as caught:
        scan(str(write(tmp_path, files)))
    assert all(file in str(caught.value) for file in files)
    assert caught.value.hint == "rename one of them"


def test_a_package_without_commands_warns(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        {
            "commands/user/deep/list.py": PLAIN.format("x"),
            "commands/empty/__init__.py": "",
            "commands/bare/_shared.py": PLAIN.format("x"),
        },
    )
    assert warned(source) == [
        ("commands/bare", "no command found in this package"),
        ("commands/empty", "no command found in this package"),
    ]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x.py").touch()
    assert warned(tmp_path / "other") == [(str(tmp_path / "other"), "no commands found")]
