"""Remit's hooks in the real Claude Code: what reaches the model, what is refused, and what is remembered.

Run by `make test-clients`, which installs the client.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from remit.clients.install_targets import HOOKS
from support import real_claude
from support.databases import run_sql
from support.processes import git
from support.real_claude import Call, Session
from support.sandbox import Sandbox

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
SYNC = ("SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionEnd")
ASYNC = ("ConfigChange", "FileChanged", "CwdChanged")
PLUGIN = Path(__file__).parent.parent.parent / "plugin"
RUNS = int(os.environ.get("REMIT_TEST_RUNS", "4"))  # in which no use may be lost
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in sys.argv[1:]]
    answers = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        },
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": "it was called"}]},
    }
    result = answers.get(asked["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

pytestmark = pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this")


class Machine:
    """A home whose client calls Remit's hooks, and projects with servers that answer."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.server = sandbox.write(sandbox.root / "server.py", SERVER)
        hooks = {event: self._registered(event) for event in (*SYNC, *ASYNC)}
        self.register(hooks)

    def register(self, hooks: Mapping[str, object]) -> None:
        tools = ["Skill", "Read", "Write", "Edit", "Bash"]
        servers = [f"mcp__{name}" for name in ("ledger", "abacus", "press", "remit")]
        permissions = {"allow": [*tools, *servers]}
        settings = {"hooks": hooks, "enableAllProjectMcpServers": True, "permissions": permissions}
        self.sandbox.write(self.sandbox.home / ".claude/settings.json", settings)

    def project(self, name: str, **tools: list[str]) -> Path:
        path = self.sandbox.project(name, git=False)
        git("init", cwd=path)
        entries = {
            server: {"command": sys.executable, "args": [str(self.server), *offered]}
            for server, offered in tools.items()
        }
        self.sandbox.write(path / ".mcp.json", {"mcpServers": entries})
        return path

    def session(
        self, project: Path, *calls: Call, prompt: str = "hello", options: Sequence[str] = ()
    ) -> Session:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        own = {"REMIT_HOME": str(self.sandbox.root / "data"), "PATH": path}
        found = real_claude.run(
            CLAUDE, self.sandbox.home, project, calls=calls, prompt=prompt, variables=own, options=options
        )
        assert self.sandbox.log() == []
        return found

    def _registered(self, event: str) -> list[dict[str, object]]:
        # Without its variable a use is counted before the hook ends, so that a test need not wait for it.
        command = ["-u", "CLAUDE_PID", sys.executable, "-m", "remit", "hook"]
        handler = {"type": "command", "command": "/usr/bin/env", "args": command, "async": event in ASYNC}
        return [{"hooks": [handler]}]


@pytest.fixture
def machine(sandbox: Sandbox) -> Machine:
    return Machine(sandbox)


def told(session: Session) -> str:
    """What Remit told the model at session start."""
    start = session.sent.index("SessionStart hook additional context: ")
    return session.sent[start : session.sent.index("\\n\\n# ", start)]


def test_the_context_arrives_in_the_models_request(machine: Machine) -> None:
    shop = machine.project("shop", ledger=["search"], abacus=["add"])
    assert (
        "## Available Tools\\n- MCP: abacus (project)\\n- MCP: ledger (project)" in machine.session(shop).sent
    )


def test_two_projects_never_see_each_others_tools(machine: Machine) -> None:
    shop = machine.project("shop", ledger=["search"])
    blog = machine.project("blog", press=["print"])
    machine.session(shop, ("mcp__ledger__search", {}))
    assert "ledger" not in machine.session(blog).sent
    assert "press" not in told(machine.session(shop))


def test_a_use_in_one_session_ranks_the_tool_first_in_the_next(machine: Machine) -> None:
    shop = machine.project("shop", abacus=["add"], ledger=["search"])
    first = machine.session(shop, ("mcp__ledger__search", {}))
    assert "it was called" in first.results[0]
    assert "## Available Tools\\n- MCP: ledger (project, 1x): mcp__ledger__search\\n- MCP: abacus" in told(
        machine.session(shop)
    )


def test_a_hidden_tool_is_refused_with_the_reason(machine: Machine) -> None:
    shop = machine.project("shop", ledger=["search", "delete_all"])
    machine.sandbox.write(shop / "remit.toml", '[servers.ledger]\nblock = ["delete_*"]\n')
    done = machine.session(shop, ("mcp__ledger__delete_all", {}), ("mcp__ledger__search", {}))
    refused, allowed = done.results
    assert "blocked by `delete_*`" in refused
    assert "it was called" not in refused
    assert "it was called" in allowed
    counted = run_sql(machine.sandbox.database, "select call_id, succeeded from usage_events")
    assert counted == [("toolu_02", 1)]


def test_a_tool_appears_when_the_state_that_it_needs_holds(machine: Machine) -> None:
    shop = machine.project("shop", ledger=["search"])
    machine.sandbox.write(
        shop / "remit.toml", '[states.open]\nfile = "open"\n[tools."mcp__ledger__*"]\nstates = ["open"]\n'
    )
    before = machine.session(shop, ("mcp__ledger__search", {}))
    assert "Hidden by states" in told(before)
    assert "ledger (" not in told(before)
    assert "it was called" not in before.results[0]
    (shop / "open").touch()
    after = machine.session(shop, ("mcp__ledger__search", {}))
    assert "- MCP: ledger (project)" in told(after)
    assert "it was called" in after.results[0]


def test_a_skill_that_was_used_is_counted_and_one_that_is_switched_off_is_refused(machine: Machine) -> None:
    shop = machine.project("shop")
    for name in ("deploy", "wipe"):
        front = f"---\nname: {name}\ndescription: To {name} the shop\n---\nDo it.\n"
        machine.sandbox.write(shop / f".claude/skills/{name}/SKILL.md", front)
    machine.sandbox.write(shop / "remit.toml", "[tools.wipe]\nai_enabled = false\n")
    done = machine.session(shop, ("Skill", {"skill": "deploy"}), ("Skill", {"skill": "wipe"}))
    assert "`wipe` is not available here (gate `policy`): switched off for AI" in done.results[1]
    assert "- skill: deploy (project, 1x)" in told(machine.session(shop))


def test_a_call_through_the_gateway_counts_once_and_is_told_by_the_name_that_is_called(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    ledger = {"command": sys.executable, "args": [str(machine.server), "search"]}
    machine.sandbox.write(machine.sandbox.home / ".claude.json", {"mcpServers": {"ledger": ledger}})
    machine.register({})  # the hooks are those of the install
    assert machine.sandbox.remit("install", "claude-code", "--yes", cwd=shop).returncode == 0
    done = machine.session(shop, ("mcp__remit__call_tool", {"name": "ledger__search"}))
    assert "mcp__remit__ledger__search" not in done.tools
    assert "it was called" in done.results[0]
    counted = "select t.name, e.call_id, e.succeeded from usage_events e join tools t on t.id = e.tool_id"
    assert run_sql(machine.sandbox.database, counted) == [("mcp__ledger__search", "toolu_01", 1)]
    again = machine.session(shop, ("mcp__remit__ledger__search", {}))  # a used tool is listed
    assert "- MCP: ledger (global, 1x): mcp__remit__ledger__search" in told(again)
    assert "it was called" in again.results[0]


def test_a_session_is_kept_with_its_end(machine: Machine) -> None:
    machine.session(machine.project("shop", ledger=["search"]))
    assert run_sql(machine.sandbox.database, "select ended_at >= started_at from sessions") == [(1,)]


def test_a_prompt_gets_a_hint_of_the_tool_that_fits(machine: Machine) -> None:
    shop = machine.project("shop", ledger=["reconcile"])
    with machine.sandbox.registry() as registry:
        here = registry.at(str(shop), is_headless=True)
        registry.usage.report_tool(
            "mcp__ledger__reconcile", here, description="Reconcile the ledger of a month"
        )
        registry.index(here)
    sent = machine.session(shop, prompt="please reconcile the ledger of october").sent
    assert "UserPromptSubmit hook additional context: Tools that may help here" in sent
    assert "- mcp__ledger__reconcile: it fits the request" in sent


COUNTED = "select t.name, e.call_id, e.succeeded from usage_events e join tools t on t.id = e.tool_id"


def test_a_call_that_the_gateway_refused_is_no_use(machine: Machine) -> None:
    shop = machine.project("shop")
    remit = {"command": str(Path(sys.executable).with_name("remit")), "args": ["serve"], "alwaysLoad": True}
    ledger = {"command": sys.executable, "args": [str(machine.server), "search"]}
    machine.sandbox.write(
        machine.sandbox.home / ".claude.json", {"mcpServers": {"remit": remit, "ledger": ledger}}
    )
    machine.sandbox.write(shop / "remit.toml", '[tools."mcp__ledger__search"]\napproval = true\n')
    done = machine.session(shop, ("mcp__remit__ledger__search", {}))
    assert "needs approval" in done.results[0]
    assert run_sql(machine.sandbox.database, COUNTED) == []
    assert run_sql(machine.sandbox.database, "select tool, outcome from audit") == [
        ("mcp__ledger__search", "waiting")
    ]


def test_no_use_is_lost_with_the_hooks_that_nobody_waits_for(machine: Machine) -> None:
    handler = {"type": "command", "command": sys.executable, "args": ["-m", "remit", "hook"]}
    machine.register({event: [{"hooks": [{**handler, **details}]}] for event, details in HOOKS.items()})
    shop = machine.project("shop")
    (shop / "a.txt").touch()
    for number in range(1, RUNS + 1):
        machine.session(shop, ("Read", {"file_path": str(shop / "a.txt")}))
        assert run_sql(machine.sandbox.database, "select count(*) from usage_events") == [(number,)]


def test_what_one_session_changed_is_told_to_the_next(machine: Machine) -> None:
    shop = machine.project("shop")
    machine.session(
        shop,
        ("Write", {"file_path": str(shop / "till.py"), "content": "hunter2"}),
        ("Edit", {"file_path": str(shop / "till.py"), "old_string": "hunter2", "new_string": "hunter3"}),
        ("Bash", {"command": "make test", "description": "x"}),
        ("Bash", {"command": "git add till.py && git -c user.name=A -c user.email=a@b commit -m 'Open'"}),
    )
    said = told(machine.session(shop))
    assert "- Edited till.py (2 times)" in said
    assert "- `make test` failed when it was last run" in said
    assert " Open\\n" in said
    assert "hunter" not in said
