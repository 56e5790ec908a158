"""`remit install` in the real Claude Code: what its model is sent afterwards, what works, and what is left.

Run by `make test-clients`, which installs the client.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import real_claude
from support.memory_calls import session
from support.processes import git
from support.real_claude import Call, Session
from support.sandbox import Sandbox

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
NOTHING: dict[str, object] = {}
PLUGIN = Path(__file__).parent.parent.parent / "plugin"
SERVER = """
import json, sys
name, *offered = sys.argv[1:]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tools = [{"name": tool, "description": tool, "inputSchema": {"type": "object"}} for tool in offered]
    answers = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        },
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": f"answered by {name}"}]},
    }
    result = answers.get(asked["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

pytestmark = pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this")


class Machine:
    """A home with servers at every scope, and a project that its user trusts."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.script = sandbox.write(sandbox.root / "server.py", SERVER)
        self.shop = sandbox.project("shop", git=False)
        git("init", cwd=self.shop)
        self.state, self.settings = sandbox.home / ".claude.json", sandbox.home / ".claude/settings.json"
        project: dict[str, object] = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["till"]}
        project["mcpServers"] = {"ledger": self.entry("ledger", "add_line")}
        content = {
            "mcpServers": {"press": self.entry("press", "print")},
            "projects": {str(self.shop): project},
        }
        sandbox.write(self.state, json.dumps(content, indent=2))
        allowed = ["mcp__remit", "mcp__press", "mcp__ledger", "mcp__till", "mcp__scale"]
        sandbox.write(self.settings, json.dumps({"permissions": {"allow": allowed}}, indent=3) + "\n\n")
        sandbox.write(self.shop / ".mcp.json", {"mcpServers": {"till": self.entry("till", "open_drawer")}})

    def words(self, name: str, *tools: str) -> list[str]:
        return [sys.executable, str(self.script), name, *tools]

    def entry(self, name: str, *tools: str) -> dict[str, object]:
        command, *args = self.words(name, *tools)
        return {"command": command, "args": args}

    def claude(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.sandbox.environment, "PATH": os.environ["PATH"]}
        return subprocess.run(
            [CLAUDE, *words], cwd=self.shop, env=environment, capture_output=True, text=True
        )

    def session(self, *calls: Call) -> Session:
        own = {"REMIT_HOME": str(self.sandbox.root / "data"), "ENABLE_TOOL_SEARCH": "false"}
        return real_claude.run(CLAUDE, self.sandbox.home, self.shop, calls=calls, variables=own)

    def findings(self) -> list[dict[str, Any]]:
        told = json.loads(self.sandbox.remit("doctor", "--json", cwd=self.shop).stdout)
        return [item for item in told["findings"] if item["check"] == "install"]

    def install_and_trust(self) -> None:
        """Install Remit, and trust the project's server: an install alone trusts nothing."""
        self.remit("install", "claude-code", "--yes")
        self.remit("trust", "till", "--yes")

    def remit(self, *words: str) -> None:
        done = self.sandbox.remit(*words, cwd=self.shop)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def machine(sandbox: Sandbox) -> Machine:
    return Machine(sandbox)


def of_servers(session: Session) -> list[str]:
    return [name for name in session.tools if name.startswith("mcp__")]


def test_after_install_the_tools_are_remits_and_the_servers_of_every_scope_work_through_it(
    machine: Machine,
) -> None:
    direct = {"mcp__press__print", "mcp__ledger__add_line", "mcp__till__open_drawer"}
    assert direct <= set(of_servers(machine.session()))
    machine.install_and_trust()
    names = [f"mcp__remit__{name.removeprefix('mcp__')}" for name in sorted(direct)]
    session = machine.session(*((name, NOTHING) for name in names))
    assert set(names) <= set(of_servers(session))
    assert all(name.startswith("mcp__remit__") for name in of_servers(session))
    answered = zip(("ledger", "press", "till"), session.results, strict=True)
    assert [name for name, result in answered if f"answered by {name}" not in result] == []


def test_a_server_that_is_added_after_the_install_is_there_through_remit(machine: Machine) -> None:
    machine.remit("install", "claude-code", "--yes")
    words = machine.words("scale", "weigh")
    add = ["mcp", "add", "--scope", "user", "scale", "--", *words]
    refused = machine.claude(*add)
    assert "not allowed by enterprise policy" in refused.stderr  # what the guide tells how to get round
    machine.sandbox.variables["PATH"] = os.pathsep.join((os.path.dirname(CLAUDE), os.environ["PATH"]))
    machine.remit("add", "--scope", "user", "scale", "--", *words)
    session = machine.session(("mcp__remit__scale__weigh", NOTHING))
    assert all(name.startswith("mcp__remit__") for name in of_servers(session))
    assert "answered by scale" in session.results[0]


def test_what_a_session_keeps_in_memory_the_next_one_is_told(machine: Machine) -> None:
    machine.remit("install", "claude-code", "--yes")
    project_id = machine.sandbox.remit("memory", "id", cwd=machine.shop).stdout.strip()
    given = {"session": session("Move the login to OAuth", open_items=["the mobile app"])}
    save = {"name": "remit-memory__save_session", "arguments": {**given, "project_id": project_id}}
    first = machine.session(("mcp__remit__call_tool", save))
    assert f"project_id: {project_id}" in first.sent
    assert "Last Session" not in first.sent
    assert '\\"saved\\"' in first.results[0]
    recall = {"project_id": project_id, "scope": "project"}
    second = machine.session(
        ("mcp__remit__call_tool", {"name": "remit-memory__retrieve_context", "arguments": recall})
    )
    assert "Last Session\\nMove the login to OAuth\\nOpen: the mobile app" in second.sent
    assert "mcp__remit__remit-memory__save_session" in of_servers(second)  # it was used here
    assert "Move the login to OAuth" in second.results[0]


def test_after_uninstall_every_byte_is_back_but_for_what_the_client_wrote_since(machine: Machine) -> None:
    settings = machine.settings.read_bytes()
    machine.remit("install", "claude-code", "--yes")
    machine.session()
    since = machine.state.read_text(encoding="utf-8")
    machine.remit("uninstall", "claude-code", "--yes")
    assert machine.settings.read_bytes() == settings
    after = machine.state.read_text(encoding="utf-8")
    assert json.loads(after) == without_remit(json.loads(since))
    start = len(os.path.commonprefix((since, after)))  # noqa: RUF071 - of texts
    end = len(after) - start
    assert since.endswith(after[len(after) - end :])  # one cut, and nothing else
    cut = since[start : len(since) - end]
    assert '"remit"' in cut
    assert "press" not in cut
    assert "mcp__press__print" in of_servers(machine.session())


def test_the_client_leaves_the_list_and_the_hooks_alone(machine: Machine) -> None:
    machine.remit("install", "claude-code", "--yes")
    installed = machine.settings.read_bytes()
    machine.session()
    assert machine.settings.read_bytes() == installed
    machine.remit("install", "claude-code", "--yes")
    assert machine.settings.read_bytes() == installed


def without_remit(state: dict[str, Any]) -> dict[str, Any]:
    return {
        **state,
        "mcpServers": {key: value for key, value in state["mcpServers"].items() if key != "remit"},
    }


def test_a_projects_own_list_of_names_loads_no_process_next_to_remit(machine: Machine) -> None:
    lists = {"allowedMcpServers": [{"serverName": "till"}]}
    machine.sandbox.write(machine.shop / ".claude/settings.json", lists)
    machine.install_and_trust()
    tools = of_servers(machine.session())
    assert "mcp__remit__till__open_drawer" in tools
    assert all(name.startswith("mcp__remit__") for name in tools)
    assert "mcp__remit__press__print" not in tools  # denied before, and so denied now
    assert machine.findings() == []


def test_a_projects_own_list_of_commands_is_what_doctor_says_of_it(machine: Machine) -> None:
    lists = {"allowedMcpServers": [{"serverCommand": machine.words("till", "open_drawer")}]}
    machine.sandbox.write(machine.shop / ".claude/settings.json", lists)
    machine.install_and_trust()
    tools = of_servers(machine.session())
    assert {"mcp__till__open_drawer", "mcp__remit__till__open_drawer"} <= set(tools)
    assert [item["subject"] for item in machine.findings()] == ["till"]


def test_a_server_that_an_agent_brings_along_stays_the_clients(machine: Machine) -> None:
    entry = json.dumps([{"scope": {"type": "stdio", **machine.entry("scope", "peek")}}])
    agent = f"---\nname: rev\ndescription: reviews\nmcpServers: {entry}\n---\nLook.\n"
    machine.sandbox.write(machine.shop / ".claude/agents/rev.md", agent)
    machine.remit("install", "claude-code", "--yes")
    session = machine.session(("Agent", {"subagent_type": "rev", "description": "look", "prompt": "look"}))
    offered = [tool["name"] for request in session.requests for tool in request["tools"]]
    assert "mcp__scope__peek" in offered


def test_the_real_client_finds_nothing_wrong_with_the_plugin(sandbox: Sandbox) -> None:
    checked = Machine(sandbox).claude("plugin", "validate", "--strict", str(PLUGIN))
    assert checked.returncode == 0, checked.stdout


def test_the_plugin_brings_a_command_and_a_skill_and_starts_nothing(machine: Machine) -> None:
    shutil.copytree(PLUGIN, machine.sandbox.home / ".claude/skills/remit")  # a plugin there is on by itself
    session = real_claude.run(CLAUDE, machine.sandbox.home, machine.shop)
    assert not [name for name in session.tools if "remit" in name]
    assert "remit:finding-tools" in session.sent
    assert "remit:remit" in session.sent


@pytest.mark.parametrize(
    ("client", "variable", "words"),
    [
        ("codex", "REMIT_TEST_CODEX", ("mcp", "list")),
        ("gemini-cli", "REMIT_TEST_GEMINI", ("mcp", "list")),
    ],
)
def test_other_clients_list_remit_after_install_and_no_more_after_uninstall(
    sandbox: Sandbox, client: str, variable: str, words: tuple[str, ...]
) -> None:
    program = os.environ.get(variable) or pytest.skip(f"`make test-clients` sets {variable}")
    shop = sandbox.project("shop", git=False)
    git("init", cwd=shop)

    def listed() -> str:
        environment = {
            **sandbox.environment,
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        done = subprocess.run([program, *words], cwd=shop, env=environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    assert sandbox.remit("install", client, "--yes", cwd=shop).returncode == 0
    assert f"serve --client {client}" in listed()
    assert sandbox.remit("uninstall", client, "--yes", cwd=shop).returncode == 0
    assert "serve --client" not in listed()
