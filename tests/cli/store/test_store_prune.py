"""What is kept and for how long, and how the log of calls leaves the store."""

import json
import time
from pathlib import Path

import pytest

from remit.audit.audit_log import AuditEntry
from support.databases import run_sql
from support.sandbox import Sandbox

pytestmark = pytest.mark.sqlite_only  # the months of PostgreSQL are tested with the store

DAY = 86_400_000
ENTRY = AuditEntry(0, "", "claude-code", None, "ada", "mcp__git__log", "visible", None, "done", 7, 2, 3)


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A project with entries of 500, 300 and 2 days ago, recorded under a long retention."""
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[retention]\naudit = "600d"\n')
    path = sandbox.project("shop")
    now = int(1000 * time.time())
    with sandbox.registry() as registry:
        context = registry.at(str(path))
        registry.states.configuration.current(context.workspace)
        entries = [ENTRY._replace(called_at=now - age * DAY) for age in (500, 300)]
        entries.append(ENTRY._replace(called_at=now - 2 * DAY, tool="mcp__git__\x1b[2Jpush"))
        registry.audit.add(entries, context)
    return path


def test_records_go_when_a_person_agrees_and_the_check_still_holds(sandbox: Sandbox, shop: Path) -> None:
    digest = json.loads(sandbox.remit("audit", "verify", "--json", cwd=shop).stdout)["head"]
    assert "Nothing is older" in sandbox.remit("store", "prune", "--dry-run", cwd=shop).stdout
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[retention]\naudit = "400d"\n')
    shown = json.loads(sandbox.remit("store", "prune", "--dry-run", "--json", cwd=shop).stdout)
    assert shown["records"] == [{"name": "audit", "rows": 1}]
    assert shown["days"] == {"audit": 400, "usage": 365}
    assert run_sql(sandbox.database, "select count(*) from audit") == [(3,)]
    assert "Deleted 1 records" in sandbox.remit("store", "prune", "--yes", cwd=shop).stdout
    found = json.loads(sandbox.remit("audit", "verify", "--head", digest, "--json", cwd=shop).stdout)
    assert (found["entries"], found["broken_at"], found["knows"], found["deleted"]) == (2, None, True, 1)
    assert "1 older" in sandbox.remit("audit", "verify", cwd=shop).stderr


def test_the_log_is_exported_as_lines_with_caller_and_digest(sandbox: Sandbox, shop: Path) -> None:
    lines = sandbox.remit("audit", "export", "--since", "10d", cwd=shop).stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [(each["principal"], each["tool"]) for each in found] == [("ada", "mcp__git__\x1b[2Jpush")]
    assert "\x1b" not in lines[0]
    assert found[0]["project"]["path"] == str(shop)
    head = json.loads(sandbox.remit("audit", "verify", "--json", cwd=shop).stdout)["head"]
    assert found[0]["digest"] == head
    everything = sandbox.remit("audit", "export", "--all-projects", cwd=sandbox.home).stdout
    assert len(everything.splitlines()) == 3


def test_a_project_cannot_set_a_period_and_a_mistake_is_named(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", '[retention]\naudit = "1d"\n')
    told = sandbox.remit("policy", "check", cwd=shop)
    assert "a project cannot set how long records are kept" in told.stdout
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[retention]\naudit = "soon"\n')
    assert "a number of days such as `400d`" in sandbox.remit("policy", "check", cwd=shop).stdout
    refused = sandbox.remit("store", "prune", "--yes", cwd=shop)
    assert "has mistakes" in refused.stderr
    assert run_sql(sandbox.database, "select count(*) from audit") == [(3,)]
