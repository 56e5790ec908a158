"""`remit add`, as a user runs it; the real client takes it in `tests/clients`."""

import json
from pathlib import Path

import pytest

from support.sandbox import Sandbox

CLAUDE = """#!/bin/sh
printf '%s\\n' "$@" > "$HOME/asked"
exit ${CODE:-0}
"""


@pytest.fixture
def asked(sandbox: Sandbox) -> Path:
    """Where a client that can be started writes what it was asked for."""
    sandbox.write(sandbox.root / "bin" / "claude", CLAUDE).chmod(0o755)
    sandbox.provide()
    return sandbox.home / "asked"


def test_a_server_is_added_by_the_client_which_admits_it_for_one_run(sandbox: Sandbox, asked: Path) -> None:
    words = ["--scope", "user", "wiki", "-e", "TOKEN=x y", "--", "npx", "-y", "wiki@1.0.0", "--help"]
    done = sandbox.remit("add", *words)
    back = "hint: `claude mcp remove NAME` takes this back; `remit undo` does not\n"
    assert (done.returncode, done.stderr) == (0, back)
    option, leave, *rest = asked.read_text().splitlines()
    assert option == "--settings"
    assert json.loads(leave)["allowedMcpServers"] == [
        {"serverName": "user"},
        {"serverName": "wiki"},
        {"serverName": "npx"},
        {"serverCommand": ["npx", "-y", "wiki@1.0.0", "--help"]},
    ]
    assert rest == ["mcp", "add", *words]


def test_a_server_that_is_written_as_json_is_added_as_such(sandbox: Sandbox, asked: Path) -> None:
    entry = '{"type": "http", "url": "https://wiki.test/"}'
    assert sandbox.remit("add", "wiki", entry).returncode == 0
    assert asked.read_text().splitlines()[2:] == ["mcp", "add-json", "wiki", entry]


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        ('{"command": "npx", "args": ["wiki"]}', [{"serverCommand": ["npx", "wiki"]}]),
        ('{"url": "https://wiki.test/"}', []),
        ("{", []),
    ],
)
def test_a_command_in_json_is_admitted(
    sandbox: Sandbox, asked: Path, entry: str, command: list[dict[str, object]]
) -> None:
    assert sandbox.remit("add", "wiki", entry).returncode == 0
    leave = json.loads(asked.read_text().splitlines()[1])
    assert leave["allowedMcpServers"] == [{"serverName": "wiki"}, *command]


def test_a_command_without_dashes_before_it_is_admitted(sandbox: Sandbox, asked: Path) -> None:
    assert sandbox.remit("add", "wiki", "npx", "wiki@1.0.0").returncode == 0
    leave = json.loads(asked.read_text().splitlines()[1])
    assert {"serverCommand": ["npx", "wiki@1.0.0"]} in leave["allowedMcpServers"]


def test_of_a_projects_server_the_next_steps_are_told(sandbox: Sandbox, asked: Path) -> None:
    done = sandbox.remit("add", "--scope", "project", "till", "https://till.test/")
    assert "approve it when the client next starts here, then run `remit trust`" in done.stderr
    assert asked.exists()


def test_the_clients_refusal_is_the_commands_own(sandbox: Sandbox, asked: Path) -> None:
    sandbox.variables["CODE"] = "3"
    assert sandbox.remit("add", "--scope", "project", "till").returncode == 3
    assert asked.exists()


def test_without_the_client_it_says_what_to_do(sandbox: Sandbox) -> None:
    sandbox.variables["PATH"] = str(sandbox.root)
    done = sandbox.remit("add", "wiki", "--", "npx")
    assert done.returncode == 2
    assert "`claude` is not on PATH" in done.stderr
    assert "hint: add the entry to its file yourself" in done.stderr


def test_without_words_it_explains_itself(sandbox: Sandbox, asked: Path) -> None:
    for words in ([], ["--help"]):
        done = sandbox.remit("add", *words)
        assert done.returncode == 0
        assert "Usage: remit add [OPTIONS] NAME COMMAND_OR_URL [ARGS]..." in done.stdout
    assert not asked.exists()
