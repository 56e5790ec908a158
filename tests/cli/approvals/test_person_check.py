"""An agent with a shell tries to answer for a person: real commands, real processes, real terminals."""

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from remit.approvals.approvals import ApprovalStatus
from remit.bootstrap import open_registry
from support.sandbox import Sandbox

PUSH = "mcp__git__push"
REMIT = f"{shlex.quote(sys.executable)} -m remit"
CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}")
HIDE = "env -u CLAUDECODE"


@cache
def has_namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


needs_script = pytest.mark.skipif(which("script") is None, reason="script(1) opens the terminals")
needs_namespaces = pytest.mark.skipif(
    not has_namespaces(), reason="only root can hide what started the tests, which may be an agent"
)
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    sandbox.write_state("git")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[tools."{PUSH}"]\napproval = true\n')
    return sandbox.project("shop")


@pytest.fixture
def asked(shop: Path) -> str:
    with open_registry() as registry:
        here = registry.at(str(shop))
        registry.usage.report_tool(PUSH, here, description="Pushes.")
        return registry.approvals.request(PUSH, {"text": "x"}, here).id


def status(shop: Path, id: str) -> ApprovalStatus:
    with open_registry() as registry:
        return registry.approvals.status(registry.approvals.find(id, registry.at(str(shop))))


def on_terminal(command: str) -> str:
    """Return the shell command that runs a command on a terminal of its own."""
    return f"script -qec {shlex.quote(command)} /dev/null"


def shell(sandbox: Sandbox, shop: Path, script: str, *wrapper: str, **variables: str) -> str:
    """Run a shell script, and return what it and everything it leaves behind printed."""
    done = subprocess.run(
        [*wrapper, "sh", "-c", f"{script}; true"],
        cwd=shop,
        env={**sandbox.environment, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # held open by what runs on in the background, so this waits for it
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.stdout


@needs_script
def test_clearing_the_variables_on_a_terminal_does_not_help(sandbox: Sandbox, shop: Path, asked: str) -> None:
    command = f"{HIDE} {REMIT} approve {asked} --yes"
    for script in (command, on_terminal(command), f"{HIDE} {on_terminal(command)}"):
        told = shell(sandbox, shop, script, CLAUDECODE="1")
        assert "Claude Code runs this command, and only a person can approve a call" in told
    assert status(shop, asked) is ApprovalStatus.WAITING


def test_the_person_of_a_demo_acts_in_a_demo_only(sandbox: Sandbox, shop: Path, asked: str) -> None:
    link = sandbox.root / "remit-demo-x"
    link.symlink_to(sandbox.root / "data")
    command = f"{HIDE} {REMIT}.cli.onboarding.demo_person approve {asked} --yes"
    for home in (sandbox.root / "data", link):
        told = shell(sandbox, shop, command, CLAUDECODE="1", REMIT_HOME=str(home))
        assert "Claude Code runs this command" in told
    assert status(shop, asked) is ApprovalStatus.WAITING


@needs_script
def test_a_client_that_sets_no_variable_is_known_by_its_name(
    sandbox: Sandbox, shop: Path, asked: str
) -> None:
    client = sandbox.write(sandbox.root / "bin/codex", '#!/bin/sh\n"$@"\n')
    client.chmod(0o755)
    command = on_terminal(f"{REMIT} approve {asked} --yes")
    assert "Codex runs this command" in shell(sandbox, shop, command, str(client))
    assert status(shop, asked) is ApprovalStatus.WAITING


@pytest.mark.long
@needs_script
def test_a_command_that_detaches_itself_cannot_approve_or_trust(
    sandbox: Sandbox, shop: Path, asked: str
) -> None:
    for command in (f"{REMIT} approve {asked} --yes", f"{REMIT} undo --yes", f"{REMIT} forget . --yes"):
        for script in (f"setsid -f {command}", f"setsid -f {on_terminal(command)}"):
            told = shell(sandbox, shop, script)
            assert "a background process runs this command, and only a person can" in told
    assert status(shop, asked) is ApprovalStatus.WAITING


TERMINAL = """
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        os.write(1, os.read(terminal, 65_536))
    except OSError:
        break
"""


def test_the_line_from_a_command_to_the_holder_of_its_terminal_cannot_be_cut(
    sandbox: Sandbox, shop: Path, asked: str
) -> None:
    opener = f"{shlex.quote(sys.executable)} -c {shlex.quote(TERMINAL)}"
    script = f"setsid -f {opener} {REMIT} approve {asked} --yes"
    assert "a background process runs this command" in shell(sandbox, shop, script)
    assert status(shop, asked) is ApprovalStatus.WAITING


@pytest.mark.long
@needs_script
def test_the_page_that_an_agent_starts_on_a_terminal_has_no_code(sandbox: Sandbox, shop: Path) -> None:
    page = on_terminal(f"{HIDE} {REMIT} web --no-open")
    environment = {**sandbox.environment, "CLAUDECODE": "1"}
    with subprocess.Popen(
        ["sh", "-c", page],
        cwd=shop,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told = ""
        while "/open/" not in told and (line := process.stdout.readline()):
            told += line
        process.stdin.write("\x03")  # Ctrl-C, which the terminal passes on
        process.stdin.close()
        told += process.stdout.read()
    assert "cannot decide" in told
    assert not CODE.search(told)


@pytest.mark.long
@needs_script
@needs_namespaces
def test_a_person_approves_on_a_terminal_and_in_a_script(sandbox: Sandbox, shop: Path, asked: str) -> None:
    alone = ("unshare", "-pf", "--mount-proc")  # whoever runs the tests
    told = shell(sandbox, shop, on_terminal(f"{REMIT} approve {asked} --yes"), *alone)
    assert "approved" in told
    assert status(shop, asked) is ApprovalStatus.APPROVED
    assert "can no longer be answered" in shell(sandbox, shop, f"{REMIT} approve {asked} --yes", *alone)
