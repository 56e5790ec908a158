"""`remit install claude-code --managed` in the real Claude Code: what holds against users and repositories.

Run by `make test-clients`, as root.
"""

import os
import stat
import sys

import pytest

from support import real_claude
from support.managed_machine import ManagedMachine, needs_root
from support.real_claude import Call, Session
from support.sandbox import Sandbox
from support.terminal import AS_PERSON

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
SERVER = """
import json, pathlib, sys
name, mark = sys.argv[1:]
pathlib.Path(mark).touch()
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tools = [{"name": "print", "description": "Prints.", "inputSchema": {"type": "object"}}]
    about = {"name": name, "version": "1"}
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about},
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": f"answered by {name}"}]},
    }
    result = answers.get(asked["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

pytestmark = [
    pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this"),
    needs_root,
]


class Machine:
    """A machine with an administrator, a user with one server, and a repository with another one."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.script = sandbox.write(sandbox.root / "server.py", SERVER)
        self.shop = sandbox.project("shop")
        self.managed = ManagedMachine(sandbox.root, sandbox.home)
        state = {
            "mcpServers": {"press": self.entry("press")},
            "projects": {str(self.shop): {"hasTrustDialogAccepted": True}},
        }
        sandbox.write(sandbox.home / ".claude.json", state)
        allowed = {"permissions": {"allow": ["Bash", "mcp__remit", "mcp__press"]}}
        sandbox.write(sandbox.home / ".claude/settings.json", allowed)

    def words(self, name: str) -> list[str]:
        return [sys.executable, str(self.script), name, str(self.sandbox.root / f"{name}-ran")]

    def entry(self, name: str) -> dict[str, object]:
        command, *args = self.words(name)
        return {"command": command, "args": args}

    def has_run(self, name: str) -> bool:
        return (self.sandbox.root / f"{name}-ran").exists()

    def remit(self, *words: str, options: str = "bind") -> tuple[int, str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.sandbox.home)}
        done = self.managed.run(*AS_PERSON, *words, cwd=self.shop, environment=environment, options=options)
        return done.returncode, done.stdout + done.stderr

    def install(self) -> None:
        code, told = self.remit("install", "claude-code", "--managed", "--yes")
        assert code == 0, told

    def session(self, *calls: Call) -> Session:
        client = self.managed.program("claude", CLAUDE)
        own = {"ENABLE_TOOL_SEARCH": "false"}
        return real_claude.run(client, self.sandbox.home, self.shop, calls=calls, variables=own)

    def runs_bash(self) -> bool:
        self.session(("Bash", {"command": "touch ran", "description": "try"}))
        return (self.shop / "ran").exists()


@pytest.fixture
def machine(sandbox: Sandbox) -> Machine:
    return Machine(sandbox)


def test_the_users_servers_work_through_remit_and_a_repositorys_never_start(machine: Machine) -> None:
    machine.install()
    entries = {name: machine.entry(name) for name in ("evil", "remit")}
    machine.sandbox.write(machine.shop / ".mcp.json", {"mcpServers": entries})
    machine.sandbox.write(machine.shop / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    session = machine.session(("mcp__remit__press__print", {}))
    servers = [name for name in session.tools if name.startswith("mcp__")]
    assert servers
    assert all(name.startswith("mcp__remit__") for name in servers)
    assert "answered by press" in session.results[0]
    admitted = {"allowedMcpServers": [{"serverCommand": machine.words(name)} for name in entries]}
    machine.sandbox.write(machine.shop / ".claude/settings.json", admitted)
    assert all(name.startswith("mcp__remit__") for name in machine.session().tools if "mcp__" in name)
    assert not machine.has_run("evil")
    assert not machine.has_run("remit")


def test_a_users_block_holds_although_hooks_are_switched_off(machine: Machine) -> None:
    machine.sandbox.write(machine.sandbox.home / ".config/remit/remit.toml", 'block = ["Bash"]\n')
    machine.sandbox.write(machine.shop / ".claude/settings.json", {"disableAllHooks": True})
    assert machine.runs_bash()
    (machine.shop / "ran").unlink()
    machine.install()
    assert not machine.runs_bash()


def test_the_administrators_block_holds_against_everything(machine: Machine) -> None:
    machine.sandbox.write(machine.managed.etc / "remit/remit.toml", 'block = ["Bash"]\n')
    machine.install()
    variables = {"REMIT_CONFIG": "/dev/null", "REMIT_DEPTH": "1", "PYTHONHOME": "/nonexistent"}
    settings = {"disableAllHooks": True, "env": variables, "permissions": {"allow": ["Bash"]}}
    machine.sandbox.write(machine.shop / ".claude/settings.json", settings)
    assert "Bash" not in machine.session().tools
    assert not machine.runs_bash()


def test_a_call_is_blocked_when_the_administrators_python_is_gone(machine: Machine) -> None:
    machine.install()
    text = machine.managed.settings.read_text().replace(sys.executable, "/nonexistent/python")
    machine.managed.settings.write_text(text)
    assert not machine.runs_bash()


def test_uninstall_leaves_the_administrators_files_as_they_were(machine: Machine) -> None:
    before = '{\n\t"cleanupPeriodDays": 9\n}\n'
    machine.sandbox.write(machine.managed.settings, before)
    machine.install()
    for path in (machine.managed.settings, machine.managed.servers, machine.managed.record):
        assert path.stat().st_mode & stat.S_IROTH
        assert str(machine.sandbox.home) not in path.read_text()
    machine.session()
    code, told = machine.remit("uninstall", "claude-code", "--managed", "--yes")
    assert code == 0, told
    assert machine.managed.settings.read_text() == before
    assert not machine.managed.servers.exists()
    assert not machine.managed.record.exists()


def test_only_an_administrator_can_do_this(machine: Machine) -> None:
    code, told = machine.remit("install", "claude-code", "--managed", "--yes", options="bind,ro")
    assert code == 2
    assert "--managed needs an administrator" in told
    assert "hint: run it as an administrator (`sudo`)" in told
    code, told = machine.remit("install", "claude-code", "--managed", "--dry-run", options="bind,ro")
    assert code == 0, told
    machine.install()
    code, told = machine.remit("uninstall", "claude-code", "--managed", "--yes", options="bind,ro")
    assert code == 2
    assert "--managed needs an administrator" in told


def test_a_user_who_installs_too_is_told_that_it_is_there_already(machine: Machine) -> None:
    machine.install()
    code, told = machine.remit("install", "claude-code", "--yes")
    assert code == 0, told
    assert "an administrator already installed Remit for every user" in told
    code, told = machine.remit("install", "claude-code", "--managed", "--yes")
    assert "Already installed in Claude Code for every user of this machine; nothing was changed." in told
