"""Commands that only look do not write to the store, so watchers and other processes are left alone."""

import pytest

from remit.files import bounded_reader
from remit.store.sqlite.sqlite_database import SqliteDatabase
from support.builders import servers
from support.sandbox import Sandbox

READING = [
    "tools",
    "tools --all --json",
    "tools --client all",
    "why shop",
    "why Bash",
    "why a_tool_nobody_has",
    "context",
    "context --json",
    "status",
    "doctor",
    "doctor --client all",
    "calls",
    "usage",
    "states",
    "clients",
    "search issue",
    "policy check",
    "inspect",
    "trust",
    "undo --list",
    "install claude-code --dry-run",
]


@pytest.fixture
def machine(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    monkeypatch.setattr(bounded_reader, "SETTLED_NS", 0)  # a file that just changed is read once more
    sandbox.write_state("github", "time")
    sandbox.write(sandbox.project("shop") / ".mcp.json", servers("shop"))
    sandbox.provide("github", "time", "shop")
    return sandbox


@pytest.mark.long
@pytest.mark.parametrize("command", READING)
def test_a_second_look_writes_nothing(command: str, machine: Sandbox) -> None:
    shop = machine.root / "code/shop"
    first = machine.remit(*command.split(), cwd=shop)
    watcher = SqliteDatabase(str(machine.database))
    before = watcher.revision()
    assert first.returncode != 2, first.stderr
    second = machine.remit(*command.split(), cwd=shop)
    assert (second.returncode, second.stdout) == (first.returncode, first.stdout)
    assert watcher.revision() == before
    machine.remit("scan", cwd=shop)
    assert watcher.revision() != before
    watcher.close()


def test_a_look_at_a_changed_file_stores_it(machine: Sandbox) -> None:
    shop = machine.root / "code/shop"
    machine.remit("doctor", cwd=shop)
    watcher = SqliteDatabase(str(machine.database))
    before = watcher.revision()
    machine.write(shop / ".mcp.json", servers("shop", "billing"))
    machine.remit("doctor", cwd=shop)
    assert watcher.revision() != before
    watcher.close()
