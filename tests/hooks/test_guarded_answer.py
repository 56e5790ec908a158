"""An answer always comes in time: whatever the work does, a late or lost answer is closed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from remit.clients.install_targets import HOOKS
from remit.hooks import guarded_answer
from support.sandbox import Sandbox

BEFORE = "import os, re, signal, sys, time\nfrom remit.hooks import guarded_answer as guard\n"
ALONE = "parent = os.getppid()\nwhile os.getppid() == parent: time.sleep(0.01)"
LATE = "start=time.monotonic() - 60"  # the time limit has passed when the work begins


def answered(
    sandbox: Sandbox,
    work: str,
    *,
    first: str = "DENY",
    start: str = LATE,
    before: str = "",
    record: str = "lambda note, answer: None",
) -> dict[str, Any]:
    """Run work as the body of a function in a process of its own, and return the answer."""
    body = work.replace("\n", "\n    ")
    call = f"guard.answer_in_time(work, {record}, first=guard.{first}, {start})"
    done = subprocess.run(
        [sys.executable, "-c", f"{BEFORE}{before}\ndef work(note):\n    {body}\n{call}\n"],
        env=sandbox.environment,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}


def test_an_answer_in_time_is_passed_on(sandbox: Sandbox) -> None:
    work = 'note(guard.ASK)\nreturn \'{"hookSpecificOutput": {"x": "\' + "ä" * 200_000 + \'"}}\''
    said = answered(sandbox, work, start="start=time.monotonic() + 60")
    assert said == {"x": "ä" * 200_000}


@pytest.mark.parametrize(
    "work",
    [
        "while True:\n    try:\n        signal.pause()\n    except BaseException: pass",
        "re.match('(a*)*b', 'a' * 60)",  # C code that never lets another thread run
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.pause()",
        "os.close(1)\nsignal.pause()",
    ],
    ids=["catches everything", "stays in C", "ignores alarms", "closes stdout"],
)
def test_a_late_answer_is_closed_whatever_the_work_does(sandbox: Sandbox, work: str) -> None:
    said = answered(sandbox, work, before="guard._is_starved = lambda pid: False\n")
    assert said["permissionDecision"] == "deny"
    assert "takes too long" in said["permissionDecisionReason"]


def test_on_a_machine_that_is_too_busy_the_answer_is_closed_in_time_and_the_work_goes_on(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "kept")
    work = f"note(guard.DENY)\nopen({str(tmp_path / 'kept')!r}, 'w').write('decided')\nreturn ''"
    said = answered(sandbox, work, before="guard._is_starved = lambda pid: True\n")
    assert said["permissionDecision"] == "deny"
    assert "the machine is too busy. Call the tool again." in said["permissionDecisionReason"]
    assert (tmp_path / "kept").read_text(encoding="utf-8") == "decided"


def test_a_child_that_the_machine_hardly_runs_gets_more_time(sandbox: Sandbox) -> None:
    work = 'return \'{"hookSpecificOutput": {"x": 1}}\''
    before = "guard._is_starved = lambda pid: True\nguard.BUSY_SECONDS = 60 + 60\n"
    assert answered(sandbox, work, before=before) == {"x": 1}


def test_a_busy_machine_and_the_limits_of_the_client_leave_time_to_answer() -> None:
    limit = guarded_answer.DECISION_SECONDS + guarded_answer.BUSY_SECONDS
    assert limit < HOOKS["PreToolUse"]["timeout"] / 2


@pytest.mark.parametrize(
    ("work", "is_starved", "recorded"),
    [
        ("note(guard.ASK)\nsignal.pause()", False, "b'd' ''"),  # late before it could note anything
        (f"{ALONE}\nnote(guard.SILENT)\nreturn 'x'", True, "b'd' 'x'"),  # a note that nobody got
    ],
    ids=["late", "busy"],
)
def test_a_refusal_without_a_decision_is_recorded_afterwards(
    sandbox: Sandbox, tmp_path: Path, work: str, is_starved: bool, recorded: str
) -> None:
    os.mkfifo(tmp_path / "log")
    record = f"lambda note, answer: open({str(tmp_path / 'log')!r}, 'w').write(f'{{note!r}} {{answer!r}}')"
    before = f"guard._is_starved = lambda pid: {is_starved}\n"
    assert answered(sandbox, work, before=before, record=record)["permissionDecision"] == "deny"
    assert (tmp_path / "log").read_text(encoding="utf-8") == recorded


def test_a_process_knows_when_it_started() -> None:
    before = time.monotonic()
    command = "from remit.hooks.guarded_answer import process_start as s; print(s())"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True, timeout=60)
    assert before - 0.05 <= float(done.stdout) <= time.monotonic()


@pytest.mark.parametrize(
    "work",
    ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit", "raise KeyboardInterrupt"],
)
def test_a_lost_answer_is_closed(sandbox: Sandbox, work: str) -> None:
    said = answered(sandbox, work, start="start=time.monotonic() + 60")
    assert said["permissionDecision"] == "deny"
    assert "`remit uninstall claude-code`" in said["permissionDecisionReason"]


@pytest.mark.parametrize(("note", "decision"), [("DENY", "deny"), ("ASK", "ask"), ("SILENT", None)])
def test_the_last_note_decides_what_a_lost_answer_is(
    sandbox: Sandbox, note: str, decision: str | None
) -> None:
    said = answered(
        sandbox, f"note(guard.ASK)\nnote(guard.{note})\nos._exit(0)", start="start=time.monotonic() + 60"
    )
    assert said.get("permissionDecision") == decision


def test_a_session_is_told_that_files_could_not_be_read(sandbox: Sandbox) -> None:
    said = answered(
        sandbox, "note(guard.SESSION)\nos._exit(0)", first="OTHER", start="start=time.monotonic()"
    )
    assert "`remit doctor`" in said["additionalContext"]


def test_what_the_work_prints_is_no_answer(sandbox: Sandbox) -> None:
    made = '{"hookSpecificOutput": {}}'
    work = f"print('hello')\nprint('hello', file=sys.stderr)\nreturn {made!r}"
    assert answered(sandbox, work, start="start=time.monotonic() + 60") == {}


@pytest.mark.parametrize(
    ("work", "start", "decision"),
    [
        ("signal.pause()", LATE, "deny"),
        ("note(guard.ASK)\nraise SystemExit", "start=time.monotonic() + 60", "ask"),
        (
            'return \'{"hookSpecificOutput": {"permissionDecision": "x"}}\'',
            "start=time.monotonic() + 60",
            "x",
        ),
    ],
    ids=["late", "lost", "in time"],
)
def test_without_fork_a_timer_watches(sandbox: Sandbox, work: str, start: str, decision: str) -> None:
    said = answered(sandbox, work, start=start, before="del os.fork")
    assert said["permissionDecision"] == decision
