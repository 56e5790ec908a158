"""What is read of the commands in source files, none of which is ever run."""

from pathlib import Path

import pytest

from remit.errors import BadFileError, NoSuchFileError
from remit.names.name_tree import Command, Form, Label, Parameter, Start
from remit.names.package_scan import Scanned, scan


def package(root: Path, **files: str) -> Path:
    """Write a package of some modules."""
    home = root / "app"
    home.mkdir()
    (home / "__init__.py").touch()
    for name, text in files.items():
        (home / f"{name}.py").write_text(text)
    return home


def found(scanned: Scanned) -> dict[str, Command]:
    return {command.name: command for command in scanned.names.commands}


def words(scanned: Scanned) -> dict[str, tuple[str, ...]]:
    return {command.name: command.words for command in scanned.names.commands}


def test_groups_of_click_make_a_tree_wherever_they_are_put_together(tmp_path: Path) -> None:
    home = package(
        tmp_path,
        cli="""
import click
from app.requirements import requirement
from . import users as people
from .users import show as show_user

@click.group()
def cli(): ...

cli.add_command(requirement)
for each in (people.user, people.audit):
    cli.add_command(each)
cli.add_command(show_user, name="whoami")
""",
        requirements='''
import click as c

@c.group()
def requirement():
    """Requirements of the project."""

@requirement.command("list")
def list_():
    """List them.

    All of them."""

@requirement.command()
@c.argument("title")
@c.option("-p", "--priority", type=c.Choice(["low", "high"]), default="low", help="How urgent")
@c.option("--tag", "tags", multiple=True)
@c.option("--dry-run/--no-dry-run")
@c.option("-v", "verbose", count=True)
@c.option("--amount", default=3)
@c.option("--size", nargs=2, type=float)
@c.option("--password", hide_input=True)
@c.option("--version", is_flag=True, is_eager=True)
@c.confirmation_option()
def create_command(): ...

@requirement.command(hidden=True)
def secret(): ...
''',
        users="""
from click import Group, argument, command, group, option

user = Group("user")
FORCE = option("--force", is_flag=True)

@user.command("list")
def list_(): ...

@user.command("delete")
@argument("names", nargs=-1, required=True)
@FORCE
def remove(): ...

@command()
def show(): ...

@group(invoke_without_command=True)
def audit(): ...

@audit.command("list")
def list_(): ...
""",
    )
    scanned = scan(str(home))
    assert words(scanned) == {
        "requirement.list": ("requirement", "list"),
        "requirement.create": ("requirement", "create"),
        "user.list": ("user", "list"),
        "user.delete": ("user", "delete"),
        "audit": ("audit",),
        "audit.list": ("audit", "list"),
        "whoami": ("whoami",),
    }
    commands = found(scanned)
    assert {command.target for command in commands.values()} == {"app.cli:cli"}
    assert commands["requirement.list"].description == "List them."
    assert scanned.names.groups == {"requirement": "Requirements of the project."}
    assert commands["requirement.create"].parameters == (
        Parameter("title", Form.ARGUMENT, is_required=True),
        Parameter("priority", Form.OPTION, "--priority", choices=("low", "high"), help="How urgent"),
        Parameter("tags", Form.OPTION, "--tag", is_many=True),
        Parameter("dry_run", Form.FLAG, "--dry-run", "--no-dry-run", type="boolean"),
        Parameter("verbose", Form.COUNT, "-v", type="integer"),
        Parameter("amount", Form.OPTION, "--amount", type="integer"),
        Parameter("size", Form.OPTION, "--size", type="number", is_many=True, is_spread=True),
        Parameter("yes", Form.FLAG, "--yes", type="boolean", help="Confirm the action without prompting."),
    )
    assert commands["user.delete"].parameters == (
        Parameter("names", Form.ARGUMENT, is_required=True, is_many=True),
        Parameter("force", Form.FLAG, "--force", type="boolean"),
    )
    assert scanned.warnings == ()


def test_apps_of_typer_are_read_from_their_signatures(tmp_path: Path) -> None:
    home = package(
        tmp_path,
        cli="""
from enum import Enum
from typing import Annotated, Optional

import typer
from .users import users

class Level(str, Enum):
    LOW = "low"
    HIGH = "high"

app = typer.Typer()
app.add_typer(users, name="user")

@app.callback()
def main(verbose: bool = False): ...

@app.command()
def show_all(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Whose")],
    level: Level = Level.LOW,
    count: Annotated[int, typer.Option("--count", "-c")] = 1,
    tags: Optional[list[str]] = None,
    force: bool = False,
    quiet: bool = typer.Option(False, "--quiet"),
    token: str = typer.Option(..., hide_input=True),
    place: "str | None" = typer.Option(None, help="Where"),
): ...
""",
        users="""
import typer
users = typer.Typer(help="People.")

@users.command("list")
def list_(): ...

@users.command("rm")
@users.command("delete")
def delete(name: str): ...
""",
        single="""
import typer
app = typer.Typer()

@app.command()
def only(name: str): ...
""",
    )
    scanned = scan(str(home))
    assert words(scanned) == {
        "show-all": ("show-all",),
        "user.list": ("user", "list"),
        "user.delete": ("user", "delete"),
        "user.rm": ("user", "rm"),
        "only": (),
    }
    assert found(scanned)["show-all"].parameters == (
        Parameter("name", Form.ARGUMENT, is_required=True, help="Whose"),
        Parameter("level", Form.OPTION, "--level", choices=("low", "high")),
        Parameter("count", Form.OPTION, "--count", type="integer"),
        Parameter("tags", Form.OPTION, "--tags", is_many=True),
        Parameter("force", Form.FLAG, "--force", "--no-force", type="boolean"),
        Parameter("quiet", Form.FLAG, "--quiet", type="boolean"),
        Parameter("place", Form.OPTION, "--place", help="Where"),
    )


def test_subparsers_of_argparse_are_read_where_one_scope_makes_them(tmp_path: Path) -> None:
    home = package(
        tmp_path,
        main="""
import argparse

def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    add = commands.add_parser("add", help="Add files.")
    add.add_argument("files", nargs="+")
    add.add_argument("--level", type=int, choices=[1, 2])
    more = add.add_argument_group("more")
    more.add_argument("-n", "--dry-run", action="store_true")
    more.add_argument("--only", nargs="*")
    more.add_argument("--not", dest="without", action="append")
    remote = commands.add_parser("remote").add_subparsers()
    p = remote.add_parser("list")
    p = remote.add_parser("remove")
    p.add_argument("name", nargs="?")
    parser.parse_args()
""",
    )
    commands = found(scan(str(home)))
    assert {name: (each.start, each.target, each.words) for name, each in commands.items()} == {
        "add": (Start.CALL, "app.main:main", ("add",)),
        "remote.list": (Start.CALL, "app.main:main", ("remote", "list")),
        "remote.remove": (Start.CALL, "app.main:main", ("remote", "remove")),
    }
    assert commands["add"].description == "Add files."
    assert commands["add"].parameters == (
        Parameter("files", Form.ARGUMENT, is_required=True, is_many=True),
        Parameter("level", Form.OPTION, "--level", type="integer", choices=(1, 2)),
        Parameter("dry_run", Form.FLAG, "--dry-run", type="boolean"),
        Parameter("only", Form.OPTION, "--only", is_many=True, is_spread=True),
        Parameter("without", Form.OPTION, "--not", is_many=True),
    )
    assert commands["remote.remove"].parameters == (Parameter("name", Form.ARGUMENT),)


def test_a_parser_of_a_module_is_started_as_a_program(tmp_path: Path) -> None:
    parser = """
import argparse
parser = argparse.ArgumentParser()
parser.add_subparsers().add_parser("build").add_argument("--fast", action=argparse.BooleanOptionalAction)
"""
    home = package(tmp_path, __main__=parser, other=f"{parser}\nif __name__ == '__main__': ...", lost=parser)
    (home / "__main__.py").rename(home / "kept.py")
    scanned = scan(str(home))
    assert {name: (each.start, each.target) for name, each in found(scanned).items()} == {
        "kept.build": (Start.UNKNOWN, "app.kept"),
        "lost.build": (Start.UNKNOWN, "app.lost"),
        "other.build": (Start.MODULE, "app.other"),
    }
    assert found(scanned)["other.build"].parameters == (
        Parameter("fast", Form.FLAG, "--fast", "--no-fast", type="boolean"),
    )
    (home / "kept.py").rename(home / "__main__.py")
    assert {each.target for each in found(scan(str(home))).values()} == {"app", "app.other"}


def test_functions_that_are_marked_as_tools_bring_their_labels(tmp_path: Path) -> None:
    home = package(
        tmp_path,
        tools='''
from typing import Annotated
import remit
from remit import location_scope, requires

@remit.tool(namespace="post", danger="moderate")
@location_scope(pages=["/blog"])
@requires("signed-in", when="git.branch != 'main'")
@requires("open")
async def publish(title: Annotated[str, "What it is called"], tags: list[str] = []) -> None:
    """Publish a post."""

@remit.tool
def plain(): ...

def other(): ...
''',
    )
    commands = found(scan(str(home)))
    assert set(commands) == {"post.publish", "plain"}
    assert commands["post.publish"] == Command(
        "post.publish",
        Start.FUNCTION,
        "app.tools:publish",
        description="Publish a post.",
        parameters=(
            Parameter("title", Form.KEYWORD, is_required=True, help="What it is called"),
            Parameter("tags", Form.KEYWORD, is_many=True),
        ),
        label=Label(
            states=("signed-in", "open"),
            when="git.branch != 'main'",
            pages=("/blog",),
            danger="moderate",
            ai_enabled=True,
        ),
    )


def test_groups_may_be_classes_of_their_own_and_load_commands_late(tmp_path: Path) -> None:
    home = package(
        tmp_path,
        cli="""
import click
from app.late import shell

class Base(click.Group):
    def __init__(self, **given):
        super().__init__(**given)
        self.add_command(shell, "sh")

class Lazy(Base): ...

cli = Lazy(name="x", lazy_subcommands={"slow": "app.late:slow"}, commands={"quick": shell})
""",
        late="""
import click

@click.command()
def shell(): ...

@click.command()
@click.argument("x")
def slow(): ...
""",
    )
    assert words(scan(str(home))) == {"quick": ("quick",), "sh": ("sh",), "slow": ("slow",)}


def test_commands_of_two_programs_that_share_a_name_are_told_apart(tmp_path: Path) -> None:
    program = """
import click
@click.group()
def {0}(): ...
@{0}.command()
def run(): ...
@{0}.command()
def {0}_it(): ...
"""
    home = package(tmp_path, one=program.format("ship"), two=program.format("dock"))
    assert set(words(scan(str(home)))) == {"ship.run", "dock.run", "ship-it", "dock-it"}


def test_nothing_of_a_package_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    spring = f"open({str(trap)!r}, 'w').name"
    home = package(tmp_path, cli=f"import click\n{spring}\n@click.command(name={spring})\ndef go(): ...\n")
    (home / "__init__.py").write_text(spring)
    assert set(words(scan(str(home)))) == {"go"}
    assert not trap.exists()


def test_what_cannot_be_read_is_left_out_with_a_warning(tmp_path: Path) -> None:
    home = package(
        tmp_path,
        broken="def (:",
        huge="#" * (2**20 + 1),
        deep="x = " + "(" * 5000 + ")" * 5000,
        circle="""
import click
@click.group()
def a(): ...
@click.group()
def b(): ...
a.add_command(b)
b.add_command(a)
""",
        dynamic="""
import click
@click.group()
def cli(): ...
def register(group, names):
    group.add_command(cli)
    for name in names:
        cli.add_command(name)
    @group.command()
    @click.option("--x")
    def inner(): ...
@cli.command()
def good(): ...
""",
    )
    outside = tmp_path / "outside.py"
    outside.write_text("import click\n@click.command()\ndef stolen(): ...\n")
    (home / "link.py").symlink_to(outside)
    (home / "around").symlink_to(home)
    scanned = scan(str(home))
    assert set(words(scanned)) == {"good"}
    told = [f"{each.place} {each.reason}" for each in scanned.warnings]
    assert [each.split(" ")[0] for each in told] == [
        "app/broken.py:1",
        "app/circle.py",
        "app/circle.py",
        "app/deep.py:1",
        "app/dynamic.py:6",
        "app/dynamic.py:8",
        "app/dynamic.py:11",
        "app/huge.py",
    ]
    assert "not valid Python; it is left out" in told[0]
    assert "contains itself" in told[1]
    assert "1,048,577 bytes; at most 1,048,576 are read" in told[-1]
    assert not any(str(tmp_path) in each for each in told)


def test_a_source_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFileError, match="there is no package"):
        scan(str(tmp_path / "missing"))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(BadFileError, match="is not a Python file"):
        scan(str(tmp_path / "notes.txt"))


def test_a_single_file_is_a_package_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("import click\n@click.command()\ndef main(): ...\n")
    scanned = scan(str(tmp_path / "tool.py"))
    assert scanned.names.package == "tool"
    assert found(scanned)["tool"].target == "tool:main"
