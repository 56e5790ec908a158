"""`remit install` in the real Codex, Gemini CLI and opencode: each tool once and callable, then as before.

Run by `make test-clients`, which installs the clients. Their models are scripted.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from support.processes import git
from support.sandbox import Sandbox
from support.scripted_clients import PROGRAMS, Call, ClientSession, run_client

NOTHING: dict[str, object] = {}
not_in_slice = pytest.mark.skipif(
    os.environ.get("REMIT_TEST_TAKEOVER") == "slice", reason="`make test-clients` without TAKEOVER runs this"
)
SERVER = """
import json, sys
name, *offered = sys.argv[1:]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    schema = {"type": "object", "properties": {}}
    tools = [{"name": tool, "description": tool, "inputSchema": schema} for tool in offered]
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
RULES = """
block = ["mcp__press__shred"]

[tools."mcp__press__sign"]
approval = true
"""


class Shape(NamedTuple):
    """Where a client's servers are, and how it names their tools."""

    file: str
    tool: str  # of a server
    own: str  # of a server behind Remit
    lister: tuple[str, ...]  # a command of the client's own that lists its servers


SHAPES = {
    "codex": Shape(".codex/config.toml", "mcp__{0}__{1}", "mcp__remit__{0}__{1}", ("mcp", "list")),
    "gemini-cli": Shape(".gemini/settings.json", "mcp_{0}_{1}", "mcp_remit_{0}__{1}", ("mcp", "list")),
    "opencode": Shape(".config/opencode/opencode.json", "{0}_{1}", "remit_{0}__{1}", ("mcp", "list")),
}


class Machine:
    """A home with one of the clients, two servers of its user's, and a project that it trusts."""

    def __init__(self, sandbox: Sandbox, client: str) -> None:
        self.sandbox, self.client, self.shape = sandbox, client, SHAPES[client]
        self.script = sandbox.write(sandbox.root / "server.py", SERVER)
        self.shop = sandbox.project("shop", git=False)
        git("init", cwd=self.shop)
        self.file = sandbox.write(sandbox.home / self.shape.file, self._text())
        sandbox.write(sandbox.home / ".config/remit/remit.toml", RULES)
        sandbox.write(sandbox.home / ".gemini/trustedFolders.json", {str(self.shop): "TRUST_FOLDER"})

    def _text(self) -> str:
        servers = {
            "press": self.words("press", "print", "shred", "sign"),
            "ledger": self.words("ledger", "add"),
        }
        if self.client == "codex":
            tables = [
                f"[mcp_servers.{name}] # mine\ncommand = {json.dumps(program)}\nargs = {json.dumps(args)}\n"
                for name, (program, *args) in servers.items()
            ]
            trusted = f'[projects."{self.shop}"]\ntrust_level = "trusted"\n'
            return "\n".join((*tables, trusted))
        if self.client == "gemini-cli":
            entries = {name: {"command": words[0], "args": words[1:]} for name, words in servers.items()}
            auth = {"auth": {"selectedType": "gemini-api-key"}}
            return "// mine\n" + json.dumps({"security": auth, "mcpServers": entries}, indent=4)
        entries = {name: {"type": "local", "command": words} for name, words in servers.items()}
        return json.dumps({"$schema": "https://opencode.ai/config.json", "mcp": entries}, indent=2)

    def words(self, name: str, *tools: str) -> list[str]:
        return [sys.executable, str(self.script), name, *tools]

    def session(self, *calls: Call) -> ClientSession:
        return run_client(self.client, self.sandbox.home, self.shop, calls=calls)

    def direct(self, server: str, tool: str) -> str:
        return self.shape.tool.format(server, tool)

    def behind(self, server: str, tool: str) -> str:
        return self.shape.own.format(server, tool)

    def of_servers(self, session: ClientSession) -> list[str]:
        """List the tools of servers, without Remit's own."""
        own = {self.shape.tool.format("remit", name) for name in ("discover_tools", "call_tool", "why_tool")}
        marks = ("print", "shred", "sign", "__add", "_add", "weigh")
        return sorted(name for name in session.tools if name.endswith(marks) and name not in own)

    def listed(self) -> str:
        """Return what the client's own command says of its servers."""
        environment: Mapping[str, str] = {
            **self.sandbox.environment,
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "OPENCODE_PURE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
        }
        command = [PROGRAMS[self.client], *self.shape.lister]
        done = subprocess.run(command, cwd=self.shop, env=environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    def remit(self, *words: str) -> str:
        done = self.sandbox.remit(*words, cwd=self.shop)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr


@pytest.fixture(params=sorted(SHAPES))
def machine(request: pytest.FixtureRequest, sandbox: Sandbox) -> Machine:
    client = str(request.param)
    if not PROGRAMS[client]:
        pytest.skip("`make test-clients` installs the client and runs this")
    return Machine(sandbox, client)


def test_each_tool_is_there_once_and_callable_and_after_uninstall_all_is_as_before(machine: Machine) -> None:
    before = machine.file.read_bytes()
    machine.remit("install", machine.client, "--yes")
    names = [
        machine.behind("ledger", "add"),
        machine.behind("press", "print"),
        machine.behind("press", "sign"),
    ]
    served = machine.session(
        (names[1], NOTHING), (names[0], NOTHING), (machine.behind("press", "shred"), NOTHING)
    )
    assert machine.of_servers(served) == names  # each once, and the blocked one not at all
    assert "answered by press" in served.results[0]
    assert "answered by ledger" in served.results[1]
    assert "answered by" not in served.results[2]

    machine.remit("uninstall", machine.client, "--yes")
    assert machine.file.read_bytes() == before
    alone = machine.session((machine.direct("press", "print"), NOTHING))
    pairs = (("press", "print"), ("press", "shred"), ("press", "sign"), ("ledger", "add"))
    assert machine.of_servers(alone) == sorted(machine.direct(*pair) for pair in pairs)
    assert "answered by press" in alone.results[0]


@not_in_slice
def test_a_call_that_needs_approval_waits_for_a_person(machine: Machine) -> None:
    machine.remit("install", machine.client, "--yes")
    name = machine.behind("press", "sign")
    refused = machine.session((name, NOTHING))
    assert "answered by press" not in refused.results[0]
    waiting = json.loads(machine.remit("approve", "--json"))["approvals"]
    assert [each["tool"] for each in waiting] == ["mcp__press__sign"]
    machine.sandbox.remit("approve", waiting[0]["id"], "--yes", cwd=machine.shop)
    assert "answered by press" in machine.session((name, NOTHING)).results[0]


@not_in_slice
def test_the_client_itself_says_that_only_remit_is_on(machine: Machine) -> None:
    machine.remit("install", machine.client, "--yes")
    lines = {
        name: next(
            line for line in machine.listed().splitlines() if f" {name} " in f" {line} ".replace(":", " ")
        )
        for name in ("press", "remit")
    }
    assert any(word in lines["press"].lower() for word in ("disabled", "blocked"))
    assert not any(word in lines["remit"].lower() for word in ("disabled", "blocked", "failed"))


@not_in_slice
def test_what_the_client_adds_itself_is_reported_and_then_taken_over(machine: Machine) -> None:
    if machine.client == "opencode":
        pytest.skip("opencode adds servers only in a dialog")
    machine.remit("install", machine.client, "--yes")
    words = machine.words("scale", "weigh")
    middle = ["--"] if machine.client == "codex" else []
    scope = ["--scope", "user"] if machine.client == "gemini-cli" else []
    environment = {**machine.sandbox.environment, "GEMINI_CLI_NO_RELAUNCH": "true"}
    add = [PROGRAMS[machine.client], "mcp", "add", *scope, "scale", *middle, *words]
    subprocess.run(add, cwd=machine.shop, env=environment, check=True, capture_output=True)
    assert "the client loads `scale` itself" in machine.remit("status")
    machine.remit("install", machine.client, "--yes")
    tools = machine.of_servers(machine.session())
    assert [name for name in tools if name.endswith("weigh")] == [machine.behind("scale", "weigh")]
    machine.remit("uninstall", machine.client, "--yes")
    assert "scale" in machine.file.read_text(encoding="utf-8")
    assert "remit" not in machine.file.read_text(encoding="utf-8")
