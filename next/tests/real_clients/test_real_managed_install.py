"""An administrator's install in the real Claude Code: what holds against users and repositories.

The administrator's files are replaced in a mount namespace, which takes root.
"""

import os
import subprocess
from pathlib import Path

import pytest

from remit.clients import InstallLevel, Wanted
from support.real_machine import Machine

CAN_MOUNT = subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
pytestmark = pytest.mark.skipif(not CAN_MOUNT, reason="only root can replace the administrator's files")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine whose `/etc` is a copy, for the client alone."""
    machine = Machine(tmp_path)
    subprocess.run(["cp", "-a", "/etc", str(tmp_path)], check=True)
    client = machine.write(
        "claude",
        f'#!/bin/sh\nexec unshare --mount sh -c \'mount --bind "$0" /etc && exec "$@"\' {tmp_path}/etc'
        f' {os.environ["REMIT_TEST_CLAUDE"]} "$@"\n',
    )
    client.chmod(0o755)
    monkeypatch.setenv("REMIT_TEST_CLAUDE", str(client))
    machine.machine = machine.machine._replace(root=str(tmp_path))
    return machine


def test_blocks_hold_against_a_repository_that_switches_hooks_off(machine: Machine) -> None:
    assert "Bash" in machine.session().tools
    wanted = Wanted(blocks=["Bash"], matcher=["Bash"])
    machine.installer(is_managed=True).install("claude-code", InstallLevel.HOOKS, wanted)
    machine.write("shop/.claude/settings.json", {"disableAllHooks": True, "permissions": {"allow": ["Bash"]}})
    assert "Bash" not in machine.session().tools


def test_only_an_administrators_mods_run(machine: Machine) -> None:
    folder = "home/.claude/skills/loose"
    machine.write(f"{folder}/.claude-plugin/plugin.json", {"name": "loose", "version": "1.0.0"})
    machine.write(f"{folder}/hooks/hooks.json", {"modules": ["./mod.mjs"]})
    machine.write(
        f"{folder}/hooks/mod.mjs",
        "export function register(on) { on('tool.check', () => ({decision: 'deny', reason: 'by a mod'})) }\n",
    )
    call = ("Bash", {"command": "echo ran"})
    machine.write("etc/claude-code/managed-settings.json", {})
    assert "by a mod" in machine.session(call).results[0]
    machine.installer(is_managed=True).install("claude-code", InstallLevel.HOOKS, Wanted())
    assert "ran" in machine.session(call).results[0]
