"""`remit calls`, as a person who wants to know what an agent did uses it."""

import csv
import json
import time
from pathlib import Path
from typing import Any

import pytest

from remit.audit.audit_log import AuditEntry, AuditOutcome, page_entry
from remit.cli.calls.calls_command import outcome_note, outcome_word
from support.databases import run_sql
from support.sandbox import Sandbox

HOUR = 3_600_000
ADDED = """
insert into audit (
    id, called_at, project_hash, endpoint, client, tool, verdict, outcome, duration_ms, bytes_in, bytes_out,
    chain
) select
    NUMBER, 5, project_hash, endpoint, client, tool, verdict, outcome, duration_ms, bytes_in, bytes_out, chain
from audit order by id limit 1"""


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    now = int(1000 * time.time())
    entries = [
        AuditEntry(
            now - 50 * HOUR,
            "",
            "claude-code",
            None,
            None,
            "mcp__git__log",
            "visible",
            None,
            "done",
            12,
            40,
            900,
        ),
        AuditEntry(
            now - 2 * HOUR,
            "hook",
            "claude-code",
            "reviewer",
            None,
            "Bash",
            "hidden",
            "policy",
            "refused",
            0,
            0,
            0,
        ),
        AuditEntry(
            now - HOUR,
            "",
            "claude-code",
            None,
            None,
            "=cmd|' /C calc'!A0",
            "visible",
            None,
            "failed",
            3,
            5,
            7,
        ),
    ]
    with sandbox.registry() as registry:
        registry.audit.add(entries, registry.at(str(path)))
    return path


def listed(sandbox: Sandbox, shop: Path, *arguments: str) -> list[dict[str, Any]]:
    told = json.loads(sandbox.remit("calls", *arguments, "--json", cwd=shop).stdout)
    assert told["total"] >= len(told["calls"])
    return told["calls"]


def test_calls_are_listed_newest_first_with_outcome_and_gate(sandbox: Sandbox, shop: Path) -> None:
    lines = sandbox.remit("calls", cwd=shop).stdout.splitlines()
    assert [line.split()[2] for line in lines[-3:]] == ["=cmd|'", "Bash", "mcp__git__log"]
    assert "reviewer  refused (policy)" in lines[-2]
    assert lines[-1].split()[-2:] == ["12", "900"]


def test_who_called_and_who_approved_is_shown_where_the_log_names_them(sandbox: Sandbox, shop: Path) -> None:
    assert " by " not in sandbox.remit("calls", cwd=shop).stdout
    at = int(1000 * time.time())
    approved = page_entry("mcp__git__push", AuditOutcome.APPROVED, by="grace", client=None, at=at)
    with sandbox.registry() as registry:
        registry.audit.add(
            [approved, approved._replace(principal="ada", outcome="done")], registry.at(str(shop))
        )
    lines = sandbox.remit("calls", cwd=shop).stdout.splitlines()
    titles, first, second, *_, last = (line for line in lines[2:] if line.strip(" -"))
    assert titles.split()[:3] == ["time", "tool", "by"]
    assert first.split()[3:] == ["ada", "done"]
    assert second.split()[3:] == ["grace", "approved"]
    assert last.split()[3:] == ["done", "12", "900"]


@pytest.mark.parametrize(
    ("outcome", "verdict", "gate", "said"),
    [
        ("done", "ask", "danger", "done approved"),
        ("failed", "ask", "danger", "failed approved"),
        ("asks_back", "visible", None, "needs input "),
        ("waiting", "ask", "danger", "approval requested "),  # it may have an answer by now
        ("refused", "ask", "danger", "refused needs approval"),
        ("refused", "hidden", "danger", "refused danger"),
        ("refused", "", None, "refused could not decide"),
        ("done", "visible", None, "done "),
    ],
)
def test_a_call_that_a_person_approved_is_not_called_dangerous(
    outcome: str, verdict: str, gate: str | None, said: str
) -> None:
    entry = AuditEntry(0, "", "claude-code", None, None, "mcp__git__push", verdict, gate, outcome, 1, 1, 1)
    assert f"{outcome_word(entry)} {outcome_note(entry)}" == said


@pytest.mark.parametrize(
    ("arguments", "tools"),
    [
        (["LOG"], ["mcp__git__log"]),
        (["--agent", "reviewer"], ["Bash"]),
        (["--agent", "main", "--since", "2d"], ["=cmd|' /C calc'!A0"]),
        (["--outcome", "done"], ["mcp__git__log"]),
        (["--until", "2d"], ["mcp__git__log"]),
        (["--since", "2000-01-01", "--limit", "1"], ["=cmd|' /C calc'!A0"]),
        (["--since", "2999-01-01T10:00"], []),
    ],
    ids=" ".join,
)
def test_options_select_calls(sandbox: Sandbox, shop: Path, arguments: list[str], tools: list[str]) -> None:
    assert [call["tool"] for call in listed(sandbox, shop, *arguments)] == tools


def test_an_export_has_every_call_and_no_cell_that_a_spreadsheet_computes(
    sandbox: Sandbox, shop: Path
) -> None:
    lines = sandbox.remit("calls", "--jsonl", cwd=shop).stdout.splitlines()
    assert [json.loads(line) for line in lines] == listed(sandbox, shop)
    titles, *rows = csv.reader(sandbox.remit("calls", "--csv", cwd=shop).stdout.splitlines())
    assert [row[titles.index("tool")] for row in rows] == ["'=cmd|' /C calc'!A0", "Bash", "mcp__git__log"]


def test_a_project_shows_only_its_own_calls(sandbox: Sandbox, shop: Path) -> None:
    assert "No calls recorded." in sandbox.remit("calls", cwd=sandbox.project("blog")).stdout
    assert "3 calls" not in sandbox.remit("calls", "--limit", "3", cwd=shop).stdout
    assert "2 of 3 calls; `--limit` shows more" in sandbox.remit("calls", "--limit", "2", cwd=shop).stdout


def test_a_time_that_cannot_be_read_is_refused_with_an_example(sandbox: Sandbox, shop: Path) -> None:
    done = sandbox.remit("calls", "--since", "yesterday", cwd=shop)
    assert done.returncode == 2
    assert "`yesterday` is not a duration or a date; write 90m" in done.stderr
    assert "one of --json" in sandbox.remit("calls", "--csv", "--json", cwd=shop).stderr


def test_a_log_that_nobody_touched_is_verified_with_its_digest(sandbox: Sandbox, shop: Path) -> None:
    told = sandbox.remit("audit", "verify", cwd=shop)
    assert told.returncode == 0
    first, last = told.stdout.splitlines()
    assert first == "3 entries, none changed."
    head = last.removeprefix("Digest: ")
    assert json.loads(sandbox.remit("audit", "verify", "--json", cwd=shop).stdout)["head"] == head
    assert sandbox.remit("audit", "verify", "--head", head, cwd=shop).returncode == 0
    other = sandbox.remit("audit", "verify", "--head", "0" * 64, cwd=shop)
    assert (other.returncode, other.stdout.partition(":")[0]) == (1, "The log does not contain this digest")
    assert "The log is empty." in sandbox.remit("audit", "verify", cwd=sandbox.project("blog")).stdout


def test_a_log_that_was_changed_is_named(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        entry = AuditEntry(1, "", "claude-code", None, None, "Bash", "visible", None, "done", 1, 1, 1)
        registry.audit.add([entry], registry.at(str(shop)))
    run_sql(sandbox.database, "update audit set outcome = 'refused' where called_at = 1")
    told = sandbox.remit("audit", "verify", cwd=shop)
    assert told.returncode == 1
    assert "this entry was changed or not written by Remit, or one before it was removed" in told.stdout
    found = json.loads(sandbox.remit("audit", "verify", "--json", cwd=shop).stdout)
    assert found["broken_at"] == found["breaks"][0]["called_at"]
    assert found["breaks"][0]["kind"] == "altered"


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "this entry was added or moved"), (2, "2 entries from here on were added or moved")],
)
def test_entries_that_were_added_later_are_named_as_such(
    sandbox: Sandbox, shop: Path, count: int, said: str
) -> None:
    run_sql(sandbox.database, "update audit set id = id + 100 where id = (select max(id) from audit)")
    for number in range(count):
        run_sql(sandbox.database, ADDED.replace("NUMBER", str(50 + number)))
    told = sandbox.remit("audit", "verify", cwd=shop)
    assert (told.returncode, said in told.stdout) == (1, True), told.stdout


def test_a_log_that_cannot_be_checked_is_told_from_one_that_was_changed(sandbox: Sandbox, shop: Path) -> None:
    sandbox.variables["REMIT_STORE"] = "postgresql://127.0.0.1:1/remit"
    assert sandbox.remit("audit", "verify", cwd=shop).returncode == 2
