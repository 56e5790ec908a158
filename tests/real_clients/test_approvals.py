"""Approvals in the real Claude Code: nobody is asked in headless mode, and the next prompt tells of it.

Run by `make test-clients`, which installs the client.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from remit.bootstrap import open_registry
from support import real_claude
from support.processes import git
from support.real_claude import Call, Session
from support.sandbox import Sandbox

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
SERVER = """
from remit import ToolRegistry, tool
from remit.python_tools.tool_server import serve

@tool(approval=True)
def pay(amount: int) -> str:
    return f"paid {amount}"

registry = ToolRegistry(project=".")
registry.register(pay)
serve(registry, name="till")
"""
PAY: Call = ("mcp__till__pay", {"amount": 5_150})

pytestmark = pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this")


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    server = sandbox.write(sandbox.root / "till.py", SERVER)
    entry = {"command": sys.executable, "args": [str(server)], "env": sandbox.environment}
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": {"till": entry}})
    hook = {"type": "command", "command": sys.executable, "args": ["-m", "remit", "hook"]}
    settings = {
        "hooks": {"UserPromptSubmit": [{"hooks": [hook]}]},
        "permissions": {"allow": ["mcp__till"]},
    }
    sandbox.write(sandbox.home / ".claude/settings.json", settings)
    project = sandbox.project("shop", git=False)
    git("init", cwd=project)
    return project


def session(sandbox: Sandbox, shop: Path, *calls: Call) -> Session:
    return real_claude.run(
        CLAUDE, sandbox.home, shop, calls=calls, prompt="go on", variables=sandbox.environment
    )


def test_a_call_waits_is_told_of_in_the_next_prompt_and_runs_after_a_persons_yes(
    sandbox: Sandbox, shop: Path
) -> None:
    (refused,) = session(sandbox, shop, PAY).results
    assert "approval_required" in refused
    sent = json.dumps(session(sandbox, shop).requests)
    assert "1 call waits for the user's approval in Remit: `pay`" in sent
    assert "remit approve" not in sent
    assert "5150" not in sent
    with open_registry() as registry:
        here = registry.at(str(shop))
        (waiting,) = registry.approvals.waiting(here)
        registry.approvals.answer(waiting.id, here, approve=True)
    (paid,) = session(sandbox, shop, PAY).results
    assert "paid 5150" in paid
    (again,) = session(sandbox, shop, PAY).results
    assert "approval_required" in again
