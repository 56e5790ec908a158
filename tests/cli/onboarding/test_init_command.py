"""`remit init`: set-up with a question before each step."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from remit.demo.demo_world import build_world
from support.builders import servers
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A user's project with real servers."""
    sandbox.home.mkdir(exist_ok=True)
    return build_world(sandbox.home).shop


def on_a_terminal(sandbox: Sandbox, shop: Path, types: str) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "remit", "init"],
        cwd=shop,
        env={**sandbox.environment, "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        os.write(ours, types.encode())
        seen = b""
        with suppress(OSError):  # the other end is closed
            while chunk := os.read(ours, 65_536):
                seen += chunk
    os.close(ours)
    return seen.decode()


@pytest.mark.long
def test_init_measures_and_installs(sandbox: Sandbox, shop: Path) -> None:
    done = sandbox.remit("init", "--yes", cwd=shop)
    assert done.returncode == 0
    assert "   Claude Code (3 servers)\n" in done.stdout
    costs = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if len(line.split()) == 3}
    assert [costs[name][0] for name in ("tickets", "orders", "deploy")] == ["5", "4", "3"]  # visible ones
    said = r"Tokens: Claude Code now: about 1,\d{3} \(14 definitions\); with Remit: about \d{3} \("
    assert re.search(said, " ".join(done.stdout.split()))
    assert "  undo       remit uninstall claude-code\n" in done.stdout
    assert "remit" in json.loads((sandbox.home / ".claude.json").read_text())["mcpServers"]
    again = sandbox.remit("init", "--yes", cwd=shop)
    assert "Already installed in Claude Code." in again.stdout


@pytest.mark.long
def test_a_server_that_is_not_trusted_is_named_and_not_among_those_that_start(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(shop / ".mcp.json", servers("gitlab"))
    sandbox.write(sandbox.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    seen = on_a_terminal(sandbox, shop, "n\ny\nn\n")
    said, _, started = seen.partition("Remit starts each server once")
    assert "Not trusted yet, so not started and not counted: `gitlab`." in said
    assert "gitlab" not in started.partition("3. Install")[0]


@pytest.mark.long
def test_a_no_says_what_was_left_alone(sandbox: Sandbox, shop: Path) -> None:
    before = (sandbox.home / ".claude.json").read_bytes()
    seen = on_a_terminal(sandbox, shop, "n\nn\n")
    assert "No server was started." in seen
    assert "Claude Code was not changed." in seen
    assert (sandbox.home / ".claude.json").read_bytes() == before


def test_without_a_terminal_init_needs_yes(sandbox: Sandbox, shop: Path) -> None:
    done = sandbox.remit("init", cwd=shop)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not a terminal: pass --yes to confirm" in done.stderr
