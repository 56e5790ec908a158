"""Many processes write at once, and processes die while they write: what was acknowledged is there."""

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.builders import servers, visible_names
from support.databases import damage, run_sql, store_variables
from support.processes import forked_script, run_together
from support.sandbox import Sandbox

KILLS = int(os.environ.get("REMIT_PROOF_KILLS", "5"))
USES = 1_000 if "REMIT_PROOF_KILLS" in os.environ else 100  # of each process

RECORD_MANY = """
import sys
from remit.bootstrap import open_registry
with open_registry() as registry:
    here = registry.at(sys.argv[1])
    sys.stdin.read()
    for number in range(int(sys.argv[2])):
        registry.usage.record(f"mcp__git__tool{number % 7}", here, session_id=sys.argv[3])
"""

WRITE_UNTIL_KILLED = """
import itertools, os, sys
from remit.bootstrap import open_registry
with open_registry() as registry:
    here = registry.at(sys.argv[1])
    for number in itertools.count():
        call = f"{sys.argv[2]}-{number}"
        registry.usage.record(f"mcp__git__tool{number % 50}", here, call_id=call)
        registry.usage.report_tool(f"mcp__git__{call}", here, description=call)
        os.write(1, f"{call}\\n".encode())
"""


def start(sandbox: Sandbox, command: Sequence[str], stdout: int | None = None) -> subprocess.Popen[bytes]:
    environment = sandbox.environment | store_variables(sandbox.database)
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=stdout)


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("git"))
    return path


@pytest.mark.proof
def test_eight_processes_that_record_uses_at_once_lose_and_double_none(sandbox: Sandbox, shop: Path) -> None:
    sessions = [f"session-{number}" for number in range(8)]
    commands = [forked_script(sandbox.root, RECORD_MANY, str(shop), str(USES), each) for each in sessions]
    processes = [start(sandbox, command) for command in commands]
    assert run_together(processes) == [0] * 8
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        counted = {item.tool.name: item.tool.usage_count for item in registry.tools(here)}
    assert counted.pop("mcp__git__*") == sum(counted.values()) == 8 * USES
    assert run_sql(sandbox.database, "select count(*) from usage_events group by session_id") == [(USES,)] * 8


@pytest.mark.proof
def test_every_acknowledged_write_survives_a_kill_at_any_moment(sandbox: Sandbox, shop: Path) -> None:
    chance = random.Random(7)  # noqa: S311 - chooses moments, not secrets
    acknowledged: list[str] = []
    for attempt in range(KILLS):
        command = forked_script(sandbox.root, WRITE_UNTIL_KILLED, str(shop), str(attempt))
        with start(sandbox, command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            wanted = chance.randrange(1, 40)
            acknowledged.extend(process.stdout.readline().decode().strip() for _ in range(wanted))
            process.kill()
            # What was acknowledged between the last line and the kill counts too.
            rest = process.stdout.read().decode()
            acknowledged.extend(rest.split("\n")[:-1])
    with sandbox.registry() as registry:
        described = {item.tool.description for item in registry.tools(registry.at(str(shop)))}
        assert visible_names(registry, registry.at(str(shop)))
    recorded = {call for (call,) in run_sql(sandbox.database, "select call_id from usage_events")}
    assert len(acknowledged) >= KILLS
    assert set(acknowledged) <= recorded
    assert set(acknowledged) <= described
    assert damage(sandbox.database) == []
