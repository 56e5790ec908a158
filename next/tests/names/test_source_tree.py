"""The names of a program: from the tree of its files, and from click, typer and argparse."""

from pathlib import Path

import pytest

from remit.errors import BadFileError, NotFoundError
from remit.names import Command, Form, Start, generate
from support.programs import write_tree

PLAIN = 'def {}(title: str = "") -> str:\n    """Do it."""\n    return title\n'
TOOL = f"from remit.python_tools import tool\n\n@tool\n{PLAIN}"
CLICK = 'import click\n\n@click.command()\n@click.option("--title")\ndef {}(title):\n    """Do it."""\n'
ARGPARSE = """
import argparse

def main():
    parser = argparse.ArgumentParser("{}", description="Do it.")
    parser.add_argument("--title")
    parser.parse_args()
    raise SystemExit("it ran")
"""
GROUP = '''
import click
from enum import Enum

@click.group()
@click.version_option("1")
def cli(): ...

@cli.group(invoke_without_command=True)
def user():
    """Manage users."""

@user.command()
@click.argument("name")
@click.option("--level", type=click.IntRange(0, 3), required=True)
@click.option("--mode", type=click.Choice(["a", "b"]), multiple=True, help="How")
@click.option("--force/--no-force")
@click.option("-v", "--verbose", count=True)
@click.option("--size", nargs=2, type=float)
@click.option("--password", hide_input=True)
def delete(**_): ...

@cli.command(hidden=True)
def secret(): ...
'''
TYPER = '''
import enum
from typing import Annotated, Optional

import typer

class Color(enum.Enum):
    RED = "red"

app, users = typer.Typer(), typer.Typer()
app.add_typer(users, name="user")

@app.command()
def paint(size: int, color: Color = Color.RED, tags: Optional[list[str]] = None, loud: bool = False):
    """Paint it."""

@users.command("list")
def list_users(limit: Annotated[float, typer.Option(help="How many")] = 3): ...
'''


def commands(source: Path) -> dict[str, Command]:
    return {command.name: command for command in generate(str(source)).names.commands}


@pytest.mark.parametrize("text", [TOOL, PLAIN, CLICK, ARGPARSE])
def test_the_tree_of_files_is_the_tree_of_names(tmp_path: Path, text: str) -> None:
    files = {
        f"shop/commands/{group}/{name}.py": text.format(f"{name}_{group}")
        for group in ("requirement", "user")
        for name in ("list", "create")
    }
    write_tree(tmp_path, {"shop/__init__.py": "", **files})
    generated = generate(str(tmp_path / "shop"))
    assert [command.name for command in generated.names.commands] == [
        *("requirement.create", "requirement.list", "user.create", "user.list")
    ]
    assert generated.names.source == str(tmp_path)
    assert {command.description for command in generated.names.commands} == {"Do it."}
    assert all(command.target.startswith("shop.commands.") for command in generated.names.commands)
    assert generated.warnings == ()


def test_a_module_that_cannot_be_imported_keeps_its_name_and_is_marked(tmp_path: Path) -> None:
    files = {"commands/user/list.py": PLAIN.format("x"), "commands/user/sync.py": "import nothing_here"}
    generated = generate(str(write_tree(tmp_path, files)))
    assert [(command.name, command.problem) for command in generated.names.commands] == [
        ("user.list", ""),
        ("user.sync", "ModuleNotFoundError: No module named 'nothing_here'"),
    ]
    assert generated.warnings == (
        "commands/user/sync.py: ModuleNotFoundError: No module named 'nothing_here'",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import click, nothing_here", "ModuleNotFoundError: No module named 'nothing_here'"),
        ("import click\nraise SystemExit('no display')", "SystemExit: no display"),
        (
            "import click\nimport os, sys\nsys.stderr.write('crashed')\nsys.stderr.flush()\nos._exit(3)",
            "crashed",
        ),
    ],
)
def test_a_program_that_cannot_be_imported_says_so_in_one_sentence(
    tmp_path: Path, text: str, reason: str
) -> None:
    source = write_tree(tmp_path, {"cli.py": text}) / "cli.py"
    with pytest.raises(BadFileError) as caught:
        generate(str(source))
    assert str(caught.value) == f"`{source}` cannot be imported: cli.py: {reason}"


def test_a_click_program_is_walked_with_its_parameters(tmp_path: Path) -> None:
    generated = generate(str(write_tree(tmp_path, {"shop/__init__.py": "", "shop/cli.py": GROUP}) / "shop"))
    by_name = {command.name: command for command in generated.names.commands}
    assert {name: command.words for name, command in by_name.items()} == {
        "user": ("user",),
        "user.delete": ("user", "delete"),
    }
    assert generated.names.groups == {"user": "Manage users."}
    delete = by_name["user.delete"]
    assert (delete.start, delete.target) == (Start.CALL, "shop.cli:cli")
    facts = [(item.name, item.form, item.flag, item.type, item.is_required) for item in delete.parameters]
    assert facts == [
        ("name", Form.ARGUMENT, "", "string", True),
        ("level", Form.OPTION, "--level", "integer", True),
        ("mode", Form.OPTION, "--mode", "string", False),
        ("force", Form.FLAG, "--force", "boolean", False),
        ("verbose", Form.COUNT, "--verbose", "integer", False),
        ("size", Form.OPTION, "--size", "number", False),
    ]
    _, _, mode, force, _, size = delete.parameters
    assert (mode.choices, mode.is_many, mode.help) == (("a", "b"), True, "How")
    assert (force.off, size.is_spread) == ("--no-force", True)


def test_typers_parameters_have_the_types_of_their_functions(tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="typer is not installed")
    found = commands(write_tree(tmp_path, {"app.py": TYPER}) / "app.py")
    assert {name: command.words for name, command in found.items()} == {
        "paint": ("paint",),
        "user.list": ("user", "list"),
    }
    size, color, tags, loud = found["paint"].parameters
    assert (size.type, size.form, size.is_required) == ("integer", Form.ARGUMENT, True)
    assert (color.choices, tags.is_many, loud.off) == (("red",), True, "--no-loud")
    (limit,) = found["user.list"].parameters
    assert (limit.type, limit.help) == ("number", "How many")


def test_an_argparse_program_is_read_where_it_parses_its_command_line(tmp_path: Path) -> None:
    text = """
import argparse

def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    up = commands.add_parser("up", help="Bring it up", aliases=["start"])
    up.add_argument("places", nargs="+", type=int)
    up.add_argument("--wait", action=argparse.BooleanOptionalAction)
    up.add_argument("-q", "--quiet", action="store_true")
    up.add_argument("--tag", action="append")
    up.add_argument("--old", help=argparse.SUPPRESS)
    parser.parse_args()
    raise SystemExit("it ran")
"""
    found = commands(write_tree(tmp_path, {"deploy.py": text}) / "deploy.py")
    (up,) = found.values()
    assert (up.name, up.words, up.description, up.target) == ("up", ("up",), "Bring it up", "deploy:main")
    facts = [(item.form, item.flag, item.off, item.type, item.is_many) for item in up.parameters]
    assert facts == [
        (Form.ARGUMENT, "", "", "integer", True),
        (Form.FLAG, "--wait", "--no-wait", "boolean", False),
        (Form.FLAG, "--quiet", "", "boolean", False),
        (Form.OPTION, "--tag", "", "string", True),
    ]


def test_several_commands_of_a_file_are_named_below_it_and_a_stated_name_counts(tmp_path: Path) -> None:
    two = PLAIN.format("unused") + TOOL.format("show") + TOOL.format("user")
    named = TOOL.format("add").replace("@tool", '@tool(name="requirement.add")')
    files = {
        "commands/user.py": two,
        "commands/x/y.py": named,
        "commands/team/__init__.py": TOOL.format("team"),
        "commands/user_/import_.py": PLAIN.format("import_"),
        "commands/_shared.py": PLAIN.format("x"),
        "app/main.py": PLAIN.format("main"),
    }
    assert list(commands(write_tree(tmp_path, files))) == [
        *("requirement.add", "team", "user", "user.import", "user.show")
    ]


def test_a_file_whose_command_is_unclear_is_marked(tmp_path: Path) -> None:
    files = {
        "commands/list.py": PLAIN.format("x"),
        "commands/show.py": PLAIN.format("one") + PLAIN.format("two"),
    }
    generated = generate(str(write_tree(tmp_path, files)))
    (warning,) = generated.warnings
    assert warning.startswith("commands/show.py: cannot tell which function is the command")


def test_two_files_with_one_name_are_both_told(tmp_path: Path) -> None:
    files = {"commands/user/list.py": CLICK.format("x"), "commands/user/list_.py": PLAIN.format("x")}
    with pytest.raises(
        BadFileError, match=r"two commands are called `user\.list`: in .*list.py and in .*list_.py"
    ):
        generate(str(write_tree(tmp_path, files)))


def test_a_source_without_commands_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFileError, match="has no commands"):
        generate(str(write_tree(tmp_path, {"a.py": "import os"})))
    with pytest.raises(NotFoundError):
        generate(str(tmp_path / "gone"))
