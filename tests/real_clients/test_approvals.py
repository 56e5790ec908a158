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


def test_an_agents_shell_cannot_approve_with_cleared_variables_and_a_terminal_of_its_own(
    sandbox: Sandbox, shop: Path
) -> None:
    session(sandbox, shop, PAY)
    with open_registry() as registry:
        here = registry.at(str(shop))
        (waiting,) = registry.approvals.waiting(here)
    kept = " ".join(f"{name}={value}" for name, value in sandbox.environment.items())
    approve = f"{sys.executable} -m remit approve {waiting.id} --yes"
    page = f"{sys.executable} -m remit web --no-open"
    until = "for i in $(seq 200); do grep -q {} told && break; sleep 0.1; done; cat told"
    attempts = [
        f"env -i {kept} {approve}",
        f"env -i {kept} script -qec '{approve}' /dev/null",
        f"env -i {kept} {sys.executable} -c 'import pty, sys; pty.spawn(sys.argv[1:])' {approve}",
        f"setsid -f env -i {kept} {approve} >told 2>&1; {until.format('hint')}",
        f"env -i {kept} script -qefc '{page}' told >/dev/null & {until.format('/open/')}; kill $!",
    ]
    calls: list[Call] = [("Bash", {"command": each, "description": "x"}) for each in attempts]
    results = real_claude.run(
        CLAUDE,
        sandbox.home,
        shop,
        calls=calls,
        variables={**sandbox.environment, "IS_SANDBOX": "1"},  # root may skip permissions only in a sandbox
        options=["--dangerously-skip-permissions"],
    ).results
    for told in results[:3]:
        assert "Claude Code runs this command, and only a person can approve a call" in told
    assert "runs this command, and only a person can approve a call" in results[3]
    assert "cannot decide" in results[4]
    with open_registry() as registry:
        assert [each.id for each in registry.approvals.waiting(registry.at(str(shop)))] == [waiting.id]
