"""`remit approve --watch`, on a terminal and without one."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.approvals.approvals import ApprovalStatus
from remit.bootstrap import open_registry
from support.sandbox import Sandbox
from support.terminal import AS_PERSON

PUSH = "mcp__git__push"
LONGEST = 60.0  # seconds


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    sandbox.write_state("git")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[tools."{PUSH}"]\napproval = true\n')
    return sandbox.project("shop")


def ask(shop: Path, text: str) -> str:
    with open_registry() as registry:
        here = registry.at(str(shop))
        registry.usage.report_tool(PUSH, here, description="Pushes.")
        return registry.approvals.request(PUSH, {"text": text}, here).id


def status(shop: Path, id: str) -> ApprovalStatus:
    with open_registry() as registry:
        return registry.approvals.status(registry.approvals.find(id, registry.at(str(shop))))


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, sandbox: Sandbox, shop: Path) -> None:
        self.own, other = pty.openpty()
        self.process = subprocess.Popen(
            [*AS_PERSON, "approve", "--watch"],
            cwd=shop,
            env=sandbox.environment,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.shown = ""

    def type(self, words: str) -> None:
        os.write(self.own, words.encode())

    def until(self, says: str) -> None:
        """Read until the terminal shows these words."""
        self.wait(lambda: says in self.shown)

    def wait(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + LONGEST
        while not is_so():
            assert time.monotonic() < end, self.shown
            if select.select([self.own], [], [], 0.05)[0]:
                self.shown += os.read(self.own, 4_096).decode(errors="replace")


@contextmanager
def terminal(sandbox: Sandbox, shop: Path) -> Generator[Terminal]:
    opened = Terminal(sandbox, shop)
    try:
        opened.until("Ctrl-C ends it")
        yield opened
        opened.process.send_signal(signal.SIGINT)
        assert opened.process.wait(LONGEST) == 0
    finally:
        opened.process.kill()
        opened.process.wait()
        os.close(opened.own)


@pytest.mark.long
def test_calls_are_shown_as_they_come_and_answered(sandbox: Sandbox, shop: Path) -> None:
    with terminal(sandbox, shop) as screen:
        first = ask(shop, "one\x1b[2J")
        screen.until("Approve this call?")
        assert r"one\u001b[2J" in screen.shown
        assert f"\x1b]9;Remit: {PUSH} needs your approval\x07" in screen.shown
        screen.type("what\n")
        screen.wait(lambda: screen.shown.count("Approve this call?") == 2)
        screen.type("y\n")
        screen.until(f"approved {first}")
        second = ask(shop, "two")
        screen.until('"two"')
        screen.wait(lambda: screen.shown.count("Approve this call?") == 3)
        screen.type("n\n")
        screen.until(f"denied {second}")
        third = ask(shop, "three")
        screen.wait(lambda: screen.shown.count("Approve this call?") == 4)
        screen.type("\n")
        screen.until(f"{third} stays pending")
    assert [status(shop, id) for id in (first, second, third)] == ["approved", "denied", "waiting"]


@pytest.mark.long
def test_what_was_typed_before_the_question_approves_nothing(sandbox: Sandbox, shop: Path) -> None:
    with terminal(sandbox, shop) as screen:
        screen.type("y\n")
        screen.until("y\r\n")  # the terminal has it
        id = ask(shop, "one")
        screen.until("Approve this call?")
        assert status(shop, id) is ApprovalStatus.WAITING
        with open_registry() as registry:  # answered in the client
            registry.approvals.answer(id, registry.at(str(shop)), approve=False)
        screen.until(f"{id} is denied")


def test_without_a_terminal_each_call_is_a_line_and_none_is_answered(sandbox: Sandbox, shop: Path) -> None:
    id = ask(shop, "one")
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "approve", "--watch", "--json"],
        cwd=shop,
        env={**sandbox.environment, "CLAUDECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write("y\n" * 9)
        process.stdin.flush()
        told = json.loads(process.stdout.readline())
        assert (told["id"], told["status"], told["arguments"]) == (id, "waiting", '{"text": "one"}')
        assert json.loads(process.stdout.readline() if ask(shop, "two") else "")["tool"] == PUSH
        process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST) == 0
    finally:
        process.kill()
        process.communicate()
    assert status(shop, id) is ApprovalStatus.WAITING


@pytest.mark.parametrize("words", [("--yes",), ()])
def test_an_agents_command_can_deny_and_not_approve(
    sandbox: Sandbox, shop: Path, words: tuple[str, ...]
) -> None:
    id = ask(shop, "one")
    sandbox.variables["CLAUDECODE"] = "1"
    refused = sandbox.remit("approve", id, *words, cwd=shop)
    assert refused.returncode == 2
    assert "Claude Code runs this command, and only a person can approve a call" in refused.stderr
    assert sandbox.remit("approve", "--watch", cwd=shop).returncode == 2
    assert status(shop, id) is ApprovalStatus.WAITING
    assert sandbox.remit("approve", id, "--deny", cwd=shop).returncode == 0


def test_watching_answers_no_named_calls(sandbox: Sandbox, shop: Path) -> None:
    refused = sandbox.remit("approve", "--watch", "--yes", cwd=shop)
    assert (refused.returncode, "--watch takes no ID" in refused.stderr) == (2, True)
