"""Sandboxes from the configuration to the process, run as a user would."""

import json
import os
import sys
from pathlib import Path

import pytest

from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch.bubblewrap import bubblewrap_program
from support.builders import servers
from support.processes import SERVERS
from support.sandbox import Sandbox

PROBE = {"command": os.path.basename(sys.executable), "args": ["tools/probe.py"]}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers(till=PROBE))
    sandbox.write(shop / "remit.toml", '[servers.till]\nsandbox = { read = ["docs"] }\n')
    sandbox.write(shop / "tools/probe.py", (SERVERS / "probe.py").read_text())
    sandbox.variables["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    return shop


def test_what_a_project_drops_after_it_was_trusted_still_limits_its_server(
    sandbox: Sandbox, shop: Path
) -> None:
    shown = sandbox.remit("trust", cwd=shop).stdout
    assert "  sandbox no network; reads docs\n          to run, also reads " in shown
    assert "tools" in shown.split("also reads ")[1].splitlines()[0].split(", ")
    assert "\n  gets    PATH, HOME and the like; none of" in shown
    assert sandbox.remit("trust", "till", "--yes", cwd=shop).returncode == 0
    sandbox.write(shop / "remit.toml", 'strategy = "state"\n')
    shown = sandbox.remit("trust", cwd=shop).stdout
    assert "till (project, .mcp.json): trusted\n" in shown
    assert "  sandbox no network; reads docs\n" in shown
    assert "\n          its project now declares no sandbox; trust it" in shown
    (found,) = json.loads(sandbox.remit("trust", "--json", cwd=shop).stdout)["servers"]
    assert found["sandbox"] == {"network": False, "read": ["docs"], "write": [], "unix_sockets": False}
    assert found["inherits"] is False
    assert "tools" in found["opens"]
    assert sandbox.remit("trust", "till", "--yes", cwd=shop).returncode == 0
    assert "  sandbox none\n" in sandbox.remit("trust", cwd=shop).stdout


def test_a_sandbox_that_is_not_possible_is_reported_and_the_server_not_started(
    sandbox: Sandbox, shop: Path
) -> None:
    (shop / "real").mkdir()
    (shop / "docs").symlink_to("real")
    sandbox.remit("trust", "till", "--yes", cwd=shop)
    found = json.loads(sandbox.remit("doctor", "--json", cwd=shop).stdout)["findings"]
    (sandboxed,) = [each for each in found if each["check"] == "sandbox"]
    assert sandboxed["severity"] == "error"
    assert "its sandbox is not possible: " in sandboxed["reason"]
    ran = sandbox.remit("scan", "--connect", cwd=shop)
    assert "warning: till: cannot be started in its sandbox: " in ran.stderr


@pytest.mark.long
def test_a_sandboxed_server_is_listed_like_any_other(sandbox: Sandbox, shop: Path) -> None:
    try:
        bubblewrap_program()
    except SandboxError as error:
        pytest.skip(error.reason)
    sandbox.remit("trust", "till", "--yes", cwd=shop)
    ran = sandbox.remit("scan", "--connect", "--json", cwd=shop)
    assert [(each["status"], each["tools"]) for each in json.loads(ran.stdout)["servers"]] == [("listed", 1)]
