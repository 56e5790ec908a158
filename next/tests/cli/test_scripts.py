"""`memory`, `names`, `forget`, `completion` and `hook`."""

import json
import re
from pathlib import Path

import pytest

from remit.files import locate
from remit.memory import open_memory
from remit.store import open_store
from remit.text import rounded
from support.command_line import CommandLine

PROGRAM = '''
import click

@click.group()
def main(): ...

@main.command()
def list_orders():
    """List orders."""

@main.command()
def delete_order():
    """Delete an order."""
'''


def store(remit: CommandLine) -> str:
    return str(remit.home / ".local/share/remit/remit.sqlite")


def personal(remit: CommandLine) -> str:
    return "".join(path.read_text() for path in (remit.home / ".config/remit/projects").iterdir())


def save(remit: CommandLine, title: str, directory: Path | None = None) -> str:
    """Save a decision as an agent does, and return the project's id."""
    workspace = locate(str(directory or remit.shop))
    project_id = workspace.project.short_name
    with open_store(store(remit), durable=True) as opened:
        session = {"project_id": project_id, "session": {"objective": "try it"}}
        decision = {"project_id": project_id, "decision": {"title": title, "rationale": "It is small."}}
        memory = open_memory(opened, None, workspace)
        memory.call("save_session", session)
        memory.call("save_decision", decision)
    return project_id


def test_memory_is_off_until_a_person_switches_it_on_for_a_project(remit: CommandLine) -> None:
    remit.mine(remit={"command": "remit", "args": ["serve"]})
    assert remit("why", "remit-memory").code == 1
    assert remit("memory", "on", "--yes").out.startswith("Memory is on here: ~/.config/remit/projects/shop-")
    assert personal(remit) == "[memory]\nenabled = true\n"
    assert remit("memory", "on", "--yes").out == "Memory is already on.\n"
    assert remit("memory", "off").out == "Memory is off here.\n"
    assert not [*(remit.home / ".config/remit/projects").iterdir()]


def test_switching_memory_on_says_what_its_tools_cost(remit: CommandLine) -> None:
    remit.mine(remit={"command": "remit", "args": ["serve"]})
    remit.write(remit.shop / "remit.toml", "token_budget = 1234\n")
    said = re.search(
        r"take about ([\d,]+) tokens .* `token_budget` \(1,234\)", remit("memory", "on", "--yes").err
    )
    tools = [tool for tool in remit("tools", "remit-memory", "--json").json["tools"] if tool["tokens"]]

    assert said is not None
    assert int(said[1].replace(",", "")) == rounded(
        sum(t["tokens"] for t in tools if t["kind"] == "mcp_tool")
    )


def test_off_counts_against_a_file_that_switches_memory_on_everywhere(remit: CommandLine) -> None:
    remit.write(remit.home / ".config/remit/remit.toml", "[memory]\nenabled = true\n")
    remit("memory", "off")
    assert personal(remit) == "[memory]\nenabled = false\n"


def test_what_agents_saved_is_listed_found_shown_and_erased(remit: CommandLine) -> None:
    remit("memory", "list")
    project_id = save(remit, "Use SQLite for storage")
    assert remit("memory", "id").out == f"{project_id}\n"
    [found] = [
        note for note in remit("memory", "list", "--json").json["artifacts"] if note["kind"] == "decision"
    ]
    assert "Use SQLite for storage" in remit("memory", "list").out
    assert "Use SQLite for storage" in remit("memory", "search", "sqlite storage").out
    shown = remit("memory", "show", found["id"])
    assert "title      Use SQLite for storage" in shown.out
    assert remit("memory", "delete", found["id"], "--yes").out == f"erased {found['id']}\n"
    assert remit("memory", "show", found["id"]).code == 1
    assert remit("memory", "search", "sqlite").code == 1
    assert remit("memory", "delete", "--yes").out == f"erased {project_id}\n"
    assert remit("memory", "list", "--projects").lines == ["No memory yet."]


def test_the_memory_of_a_checkout_that_moved_is_taken_over(remit: CommandLine) -> None:
    remit("memory", "list")
    old = remit.project("old")
    project_id = save(remit, "Keep it", old)
    moved = old.rename(remit.home / "work/moved")
    taken = remit("memory", "on", "--from", str(old), "--yes", cwd=moved)
    assert f"Took over the memory of {project_id}." in taken.out
    assert "Keep it" in remit("memory", "list", cwd=moved).out


def test_a_project_is_forgotten_with_all_that_was_stored(remit: CommandLine) -> None:
    remit.shared(remit.shop, db={"command": "/bin/db"})
    remit("trust", "db", "--yes")
    remit.write(remit.shop / "remit.toml", "")
    forgotten = remit("forget", ".", "--yes")
    assert forgotten.out == f"forgot {remit.shop}\n"
    assert "~/work/shop/remit.toml: for everyone in this project" in forgotten.err
    assert remit("trust", "--json").json["servers"][0]["trusted"] is False
    unknown = remit("forget", "/nowhere", "--yes")
    assert (unknown.code, "nothing is stored about `/nowhere`" in unknown.err) == (1, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(remit: CommandLine, shell: str) -> None:
    assert "_REMIT_COMPLETE" in remit("completion", shell).out


def test_an_old_hook_line_answers_nothing_and_blocks_nothing(remit: CommandLine) -> None:
    event = json.dumps({"hook_event_name": "Notification", "session_id": "s", "cwd": str(remit.shop)})
    done = remit("hook", "--mode", "whatever", "--install", "/nowhere/claude-code.json", input=event)
    assert (done.code, done.out) == (0, "")


def test_the_names_of_a_program_are_written_labeled_and_served(remit: CommandLine) -> None:
    program = remit.write(remit.shop / "shopctl.py", PROGRAM)
    made = remit("names", "generate", str(program), "--out", "names.json")
    assert made.out == "names.json written: 2 commands\n"
    assert remit("names", "generate", str(program), "--out", "names.json", "--check").code == 0
    labeled = remit("names", "label", "names.json")
    assert {line for line in labeled.lines if line.startswith("added ")} == {
        "added delete-order",
        "added list-orders",
    }
    tree = remit("names", "--names", "names.json").out
    assert "not for AI" in tree
    served = remit("names", "server", "names.json", "scopes.toml", "--out", "server.py")
    assert served.out == "server.py written: 2 commands\n"
    program.write_text(PROGRAM + "\n@main.command()\ndef more(): ...\n")
    outdated = remit("names", "generate", str(program), "--out", "names.json", "--check")
    assert (outdated.code, outdated.out) == (1, "names.json is out of date: 3 commands\n")


def test_the_commands_of_names_say_what_is_missing(remit: CommandLine) -> None:
    assert "--check needs a file" in remit("names", "generate", ".", "--check").err
    assert remit("names", "--names", "nothing.py").code in (1, 2)
