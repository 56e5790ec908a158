"""The program of the document: named, labeled, and served as the states allow."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from remit.names import generate
from support.programs import make_server, served, write_tree

pytestmark = pytest.mark.long

TREE = {
    "commands/requirement/list.py": '''
from pathlib import Path

def list_requirements() -> list[str]:
    """List the requirements."""
    print("printed beside the answer")
    return sorted(path.stem for path in Path("requirements").glob("*.md"))
''',
    "commands/requirement/create.py": '''
from pathlib import Path

from commands.requirement import _files

def create(title: str, text: str = "") -> str:
    """Create a requirement."""
    if not title:
        raise ValueError("a requirement needs a title")
    _files.write(title, text)
    return f"created {title}"
''',
    "commands/requirement/_files.py": """
from pathlib import Path

def write(title, text):
    Path("requirements").mkdir(exist_ok=True)
    Path("requirements", f"{title}.md").write_text(text)
""",
    "commands/user/list.py": '''
import click

@click.command("list")
@click.option("--limit", type=int, default=3)
@click.option("--draft", is_flag=True)
@click.argument("names", nargs=-1)
def list_users(limit: int, draft: bool, names: tuple[str, ...]) -> None:
    """List the users."""
    if limit == 0:
        click.echo("x" * 250_000)
    if limit > 9:
        raise OSError("there are not so many")
    if limit > 7:
        raise click.UsageError("too many")
    click.echo(f"{limit} {draft} {' '.join(names)}".strip())
''',
    "commands/user/create.py": """
import argparse
import subprocess
import sys

CHILD = '''
import fcntl, time
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print(flush=True)
time.sleep(60)
'''

def main() -> None:
    parser = argparse.ArgumentParser(description="Create a user.")
    parser.add_argument("name")
    print("created", parser.parse_args().name, flush=True)
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE)
    child.stdout.readline()
    child.wait()
""",
}

SCOPES = """\
[server]
timeout = 2

[states.project-loaded]
description = "A supernal project is loaded"
file = "supernal.yaml"
[states.editing]
on = "requirement.create"

[tools."requirement.*"]
states = ["project-loaded"]
[tools."requirement.list"]
ai_enabled = true
danger = "safe"
states = ["editing"]
[tools."requirement.create"]
ai_enabled = true
danger = "moderate"
[tools."user.list"]
ai_enabled = true
[tools."user.create"]
ai_enabled = true
when = "state('project-loaded') && os != 'plan9'"
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    source = write_tree(tmp_path / "supernal" / "src", TREE)
    (tmp_path / "shop").mkdir()
    (tmp_path / "home").mkdir()
    return make_server(source, tmp_path / "supernal" / "made", SCOPES)


def test_the_documents_tree_is_named_labeled_and_served_in_any_directory(
    server: Path, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    with served(server, shop, tmp_path / "home") as client:
        assert client.names() == ["user.list"]
        is_error, text = client.call("requirement.create", title="R1")
        assert is_error
        assert text.startswith("`requirement.create`: state `project-loaded` does not hold")
        (shop / "supernal.yaml").touch()
        assert client.names() == ["requirement.create", "user.create", "user.list"]
        assert client.call("requirement.create", title="R1", text="-x") == (False, "created R1")
        assert (shop / "requirements" / "R1.md").read_text() == "-x"
        assert client.names() == ["requirement.create", "requirement.list", "user.create", "user.list"]
        assert client.call("requirement.list") == (False, '["R1"]')
        assert client.call("user.list", limit=5, names=["--draft", "b"]) == (False, "5 False --draft b")
        (shop / "supernal.yaml").unlink()
        assert client.names() == ["user.list"]


def test_a_failing_command_answers_with_its_own_message(server: Path, tmp_path: Path) -> None:
    (tmp_path / "shop" / "supernal.yaml").touch()
    with served(server, tmp_path / "shop", tmp_path / "home") as client:
        failures = [
            client.call("requirement.create", title=""),
            client.call("requirement.create", titel="x"),
            client.call("user.list", limit=8),
            client.call("user.list", limit=10),
            client.call("user.list", limit="x"),
        ]
        assert client.call("user.list") == (False, "3 False")
    assert all(is_error for is_error, _ in failures)
    texts = [text for _, text in failures]
    assert texts[0] == "`requirement.create` exited with 1\nValueError: a requirement needs a title"
    assert texts[1].startswith("`requirement.create` exited with 1\nthere is no parameter `titel`")
    assert texts[2].endswith("Error: too many")
    assert texts[3] == "`user.list` exited with 1\nOSError: there are not so many"
    assert texts[4] == "`limit` must be a whole number"
    assert not any("Traceback" in text for text in texts)


def test_a_command_that_does_not_end_is_ended_with_all_that_it_started(server: Path, tmp_path: Path) -> None:
    (tmp_path / "shop" / "supernal.yaml").touch()
    with served(server, tmp_path / "shop", tmp_path / "home") as client:
        assert client.call("user.create", name="ada") == (True, "`user.create` did not end within 2 s")
    with open(tmp_path / "shop" / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits while the child lives


def test_a_command_imports_nothing_from_the_working_directory_and_its_output_is_bounded(
    server: Path, tmp_path: Path
) -> None:
    for module in ("click", "remit", "commands"):
        (tmp_path / "shop" / f"{module}.py").write_text("raise SystemExit('imported')")
    with served(server, tmp_path / "shop", tmp_path / "home") as client:
        is_error, text = client.call("user.list", limit=0)
    assert not is_error
    assert (len(text.splitlines()[0]), text.splitlines()[1]) == (200_000, "… 50,009 bytes more")


def test_the_server_declares_its_states_so_that_a_gateway_applies_them(server: Path, tmp_path: Path) -> None:
    with served(server, tmp_path / "shop", tmp_path / "home") as client:
        declared = client.hello["capabilities"]["experimental"]["remit/states"]
    assert declared["states"]["project-loaded"] == {
        "description": "A supernal project is loaded",
        "file": "supernal.yaml",
    }
    assert {tool["tool"]["name"]: tool.get("states") for tool in declared["tools"]} == {
        "requirement.create": ["project-loaded"],
        "requirement.list": ["project-loaded", "editing"],
        "user.create": None,  # its condition is more than states
        "user.list": None,
    }


def test_a_change_that_comes_from_a_file_is_announced_and_edited_scopes_count_at_once(
    server: Path, tmp_path: Path
) -> None:
    with served(server, tmp_path / "shop", tmp_path / "home") as client:
        assert client.names() == ["user.list"]
        (tmp_path / "shop" / "supernal.yaml").touch()
        assert client.next_message()["method"] == "notifications/tools/list_changed"
        assert "requirement.create" in client.names()
        scopes = server.with_name("scopes.toml")
        scopes.write_text(SCOPES.replace('danger = "moderate"', "location = { pages = ['/x'] }"))
        assert client.next_message()["method"] == "notifications/tools/list_changed"
        assert client.names() == ["user.create", "user.list"]
        scopes.write_text("[tools.x")
        assert client.names() == ["user.create", "user.list"]


def test_what_is_not_for_agents_can_neither_be_seen_nor_called(server: Path, tmp_path: Path) -> None:
    scopes = server.with_name("scopes.toml")
    scopes.write_text(
        scopes.read_text().replace('[tools."user.list"]\nai_enabled = true', '[tools."user.list"]')
    )
    with served(server, tmp_path / "shop", tmp_path / "home") as client:
        assert client.names() == []
        is_error, text = client.call("user.list")
        assert is_error
        assert "switched off for AI" in text
        assert "remit/states" not in json.dumps(client.ask("tools/list"))
        assert "user.list" not in json.dumps(client.hello)


def test_generated_files_are_the_same_bytes_wherever_the_program_lies(server: Path, tmp_path: Path) -> None:
    made = {path.name: path.read_bytes() for path in server.parent.iterdir()}
    assert made["scopes.toml"] == SCOPES.encode()
    assert not any(str(tmp_path).encode() in data for data in made.values())
    os.rename(tmp_path / "supernal", tmp_path / "elsewhere")
    again = make_server(tmp_path / "elsewhere" / "src", tmp_path / "elsewhere" / "made")
    assert {path.name: path.read_bytes() for path in again.parent.iterdir()} == made
    with served(again, tmp_path / "shop", tmp_path / "home") as client:
        assert client.call("user.list") == (False, "3 False")


def test_a_program_with_a_command_of_its_own_shows_no_traceback_either(tmp_path: Path) -> None:
    source = write_tree(
        tmp_path / "src", {"cli.py": TREE["commands/user/list.py"].replace("def list_users", "def users")}
    )
    made = tmp_path / "made"
    program = write_tree(tmp_path, {"sc.py": "import json\nprint('begins')\njson.loads('x')\n"}) / "sc.py"
    scopes = (
        f"[server]\nname = 'sc'\ncommand = ['python3', {str(program)!r}]\n[tools.list]\nai_enabled = true\n"
    )
    server = make_server(source, made, scopes)
    assert generate(str(source)).names.commands[0].name == "list"
    (tmp_path / "home").mkdir()
    with served(server, tmp_path, tmp_path / "home") as client:
        assert client.hello["serverInfo"]["name"] == "sc"
        is_error, text = client.call("list")
    assert (is_error, text.splitlines()[1:]) == (
        True,
        ["json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "begins"],
    )
