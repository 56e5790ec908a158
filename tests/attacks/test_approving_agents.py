"""Agents of the clients that Remit knows run `remit approve` in their person's terminal."""

import subprocess
import sys

import pytest

from attacks.worlds import World
from remit.approvals.agent_processes import Process, ProcessTree, find_agent
from remit.decision.permissions.client_facts import CLIENTS

# What runs the commands of an agent. The others are editors, where people have terminals as well.
PROGRAMS = {
    "claude-code": "claude",
    "klaude": "klaude",
    "cursor": "cursor-agent",
    "codex": "codex",
    "gemini-cli": "gemini",
    "opencode": "opencode",
    "goose": "goose",
    "continue": "cn",
    "cline": "cline",
    "kiro": "kiro-cli",
    "copilot-cli": "copilot",
}
EDITORS = {"vscode", "claude-desktop", "windsurf", "zed", "roo"}
TERMINAL = (
    Process(1, 0, session=1, name="systemd", program="systemd"),
    Process(30, 1, session=30, name="gnome-terminal-", program="gnome-terminal-server"),
    Process(40, 30, session=40, name="zsh", program="zsh", command=("-zsh",)),
)


def test_every_client_is_an_editor_or_has_a_program() -> None:
    assert PROGRAMS.keys() | EDITORS == CLIENTS.keys()


@pytest.mark.parametrize("program", PROGRAMS.values())
def test_the_agent_of_a_client_that_remit_reads_is_no_person(program: str) -> None:
    remit = Process(99, 50, session=40, program="python3.11", command=("python3", "-m", "remit", "approve"))
    for client in (
        Process(50, 40, session=40, name=program, program=program, command=(program,)),
        Process(50, 40, session=40, program="node", command=("node", f"/home/me/bin/{program}")),
        Process(50, 40, session=40, program="python3.12", command=("python3", f"/home/me/bin/{program}")),
    ):
        assert find_agent({}, ProcessTree((*TERMINAL, client, remit))) is not None
    assert find_agent({}, ProcessTree((*TERMINAL, remit._replace(parent=40)))) is None


@pytest.mark.parametrize("variable", ["AI_AGENT", "CLINE_ACTIVE", "GOOSE_TERMINAL", "COPILOT_CLI"])
def test_an_agent_that_names_itself_is_no_person(variable: str) -> None:
    assert find_agent({variable: "1"}, ProcessTree(())) is not None


def test_a_command_of_goose_trusts_no_server(world: World) -> None:
    world.bring({"evil": {"command": "sh"}})
    client = world.root / "goose"
    world.write(client, '#!/bin/sh\n"$@"\n')
    client.chmod(0o755)
    done = subprocess.run(
        [client, sys.executable, "-m", "remit", "trust", "--all", "--yes"],
        cwd=world.repository,
        env=world.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "only a person can" in done.stderr
