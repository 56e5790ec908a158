"""The names of commands on the command line, as a user meets them."""

import json
from pathlib import Path

import pytest

from support.sandbox import Sandbox

CLI = """
import click

@click.group()
def cli(): ...

@cli.group()
def user(): ...

@user.command("list")
def list_users(): ...

@user.command()
def delete(): ...

@cli.command()
def status(): ...
"""


@pytest.fixture
def app(sandbox: Sandbox) -> Path:
    sandbox.write(sandbox.root / "app" / "cli.py", CLI)
    sandbox.write(sandbox.root / "app" / "__init__.py", "")
    return sandbox.root


def test_names_are_generated_labelled_and_shown_as_a_tree(sandbox: Sandbox, app: Path) -> None:
    assert (
        sandbox.remit("names", "generate", "app", "--out", "names.py").stdout
        == "names.py written: 3 commands\n"
    )
    assert sandbox.remit("names").stdout.splitlines() == [
        "status  not labelled",
        "user",
        "  delete  not labelled",
        "  list  not labelled",
    ]
    labelled = sandbox.remit("names", "label", "names.py")
    assert labelled.stdout.splitlines() == [
        "added status",
        "added user.delete",
        "added user.list",
        "scopes.toml written: 3 commands",
    ]
    scopes = (app / "scopes.toml").read_text()
    sandbox.write(app / "scopes.toml", scopes + '[tools."user.*"]\nstates = ["signed-in"]\napproval = true\n')
    assert sandbox.remit("names").stdout.splitlines() == [
        "status  safe",
        "user",
        "  delete  destructive · not for AI · approval · needs signed-in",
        "  list  safe · approval · needs signed-in",
    ]
    told = json.loads(sandbox.remit("names", "--json").stdout)
    assert told["commands"][1] == {
        "name": "user.delete",
        "description": "",
        "labelled": True,
        "ai_enabled": False,
        "danger": "destructive",
        "approval": True,
        "needs": [
            {"states": {"all": ["signed-in"], "any": None, "none": []}, "when": None, "location": None}
        ],
        "parameters": [],
    }


def test_a_change_of_the_code_is_found_by_check(sandbox: Sandbox, app: Path) -> None:
    sandbox.remit("names", "generate", "app", "--out", "names.json")
    sandbox.remit("names", "label", "names.json")
    sandbox.write(app / "app" / "cli.py", CLI.replace("def delete", "def remove"))
    checked = sandbox.remit("names", "generate", "app", "--out", "names.json", "--check", "--json")
    assert checked.returncode == 1
    assert json.loads(checked.stdout) == {
        "file": "names.json",
        "changed": True,
        "commands": ["status", "user.list", "user.remove"],
        "warnings": [],
    }
    assert sandbox.remit("names", "generate", "app", "--out", "names.json").returncode == 0
    checked = sandbox.remit("names", "label", "names.json", "--check", "--json")
    assert checked.returncode == 1
    assert json.loads(checked.stdout) == {
        "file": "scopes.toml",
        "changed": True,
        "added": ["user.remove"],
        "removed": ["user.delete"],
    }
    assert checked.stderr == "warning: scopes.toml: the command `user.delete` no longer exists\n"
    assert sandbox.remit("names", "label", "names.json").returncode == 0
    assert sandbox.remit("names", "label", "names.json", "--check").returncode == 0
    served = sandbox.remit("names", "server", "names.json", "scopes.toml", "--out", "server.py", "--check")
    assert (served.returncode, served.stdout) == (1, "server.py is out of date: 3 commands\n")
    assert not (app / "server.py").exists()


def test_without_a_file_what_is_generated_is_printed(sandbox: Sandbox, app: Path) -> None:
    printed = sandbox.remit("names", "generate", "app")
    assert 'list = "user.list"' in printed.stdout
    assert json.loads(sandbox.remit("names", "generate", "app", "--json").stdout)["package"] == "app"
    sandbox.write(app / "names.py", printed.stdout)
    sandbox.write(app / "scopes.toml", '[tools.status]\nstates = ["git-initialised"]\n')
    served = sandbox.remit("names", "server", "names.py", "scopes.toml")
    assert served.stdout.startswith('"""The MCP server of `app`;')
    assert served.stderr.splitlines() == [
        "warning: scopes.toml: `user.delete` is not listed, so no agent may use it",
        "warning: scopes.toml: `user.list` is not listed, so no agent may use it",
        "warning: scopes.toml: the state `git-initialised` is not declared here",
        "hint: did you mean `git-initialized`?",
    ]
    told = json.loads(sandbox.remit("names", "server", "names.py", "scopes.toml", "--json").stdout)
    assert (told["file"], told["unlabelled"]) == (None, ["user.delete", "user.list"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["generate", "missing"], "there is no package `missing`"),
        (["generate", "app", "--out", "mine.py"], "mine.py exists and was not generated"),
        (["generate", "app", "--out", "no/names.py"], "no/names.py cannot be written: no such file"),
        (["generate", "app", "--check"], "--check needs a file to compare with"),
        (["label", "mine.py"], "mine.py is not a file of names"),
        (["label", "names.py"], "there is no file `names.py`"),
        (["server", "names.json", "scopes.toml"], "there is no file `names.json`"),
        ([], "there is no file `names.py`"),
    ],
)
@pytest.mark.usefixtures("app")
def test_mistakes_are_told_and_change_nothing(sandbox: Sandbox, words: list[str], message: str) -> None:
    sandbox.write(sandbox.root / "mine.py", "print('mine')\n")
    done = sandbox.remit("names", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert (sandbox.root / "mine.py").read_text() == "print('mine')\n"


def test_what_of_the_code_cannot_be_read_is_a_warning(sandbox: Sandbox, app: Path) -> None:
    sandbox.write(app / "app" / "broken.py", "def (:")
    done = sandbox.remit("names", "generate", "app", "--out", "names.py")
    assert done.returncode == 0
    assert done.stderr == "warning: app/broken.py:1: not valid Python; it is left out\n"


def test_what_was_generated_can_be_undone(sandbox: Sandbox, app: Path) -> None:
    sandbox.remit("names", "generate", "app", "--out", "names.py")
    assert sandbox.remit("undo", "--yes").stdout == "Undone: `remit names`\n"
    assert not (app / "names.py").exists()
