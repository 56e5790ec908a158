"""Events reach their handlers, and refusals without a decision reach the log of calls."""

import json
from pathlib import Path

import pytest

from remit.clients.install_targets import HOOKS
from remit.hooks.event_dispatch import HANDLERS, record_undecided, respond
from remit.hooks.guarded_answer import ASK, DENY, SILENT
from remit.hooks.hook_context import SYSTEM, HookEnvironment
from remit.registry import Registry
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    return sandbox.project("shop")


def call(where: Path, name: str = "PreToolUse") -> bytes:
    return json.dumps({"hook_event_name": name, "cwd": str(where), "tool_name": "Bash"}).encode()


def calls(sandbox: Sandbox, shop: Path) -> list[str]:
    told = sandbox.remit("calls", "--json", cwd=shop)
    return [f"{each['tool']} {each['outcome']}" for each in json.loads(told.stdout)["calls"]]


def test_every_event_that_is_installed_has_a_handler_and_no_other_has() -> None:
    assert sorted(HOOKS) == sorted(HANDLERS)


def test_a_call_that_is_refused_without_a_decision_is_in_the_log_of_calls(
    sandbox: Sandbox, shop: Path
) -> None:
    record_undecided(call(shop), DENY, SYSTEM)
    shown = sandbox.remit("calls", cwd=shop)
    assert "refused (could not decide)" in shown.stdout
    assert "remit why" not in shown.stderr  # which would say that it is available


def test_a_call_that_fails_to_be_decided_is_in_the_log_of_calls(sandbox: Sandbox, shop: Path) -> None:
    def broken() -> Registry:
        raise TimeoutError

    sandbox.write(sandbox.home / ".config/remit/remit.toml", 'block = ["Bash"]\n')
    assert '"deny"' in respond(call(shop), HookEnvironment(open_registry=broken))
    assert calls(sandbox, shop) == ["Bash refused"]


@pytest.mark.parametrize("decision", ["deny", "ask", "allow"])
@pytest.mark.parametrize("is_unattended", [True, False])
def test_a_refused_call_is_in_the_log_once(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch, decision: str, is_unattended: bool
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli" if is_unattended else "cli")
    answer = json.dumps({"hookSpecificOutput": {"permissionDecision": decision}})
    record_undecided(call(shop), DENY, SYSTEM, answer)
    is_recorded = decision == "deny" or (decision == "ask" and is_unattended)  # with its decision
    assert calls(sandbox, shop) == ([] if is_recorded else ["Bash refused"])


def test_what_is_asked_about_or_let_through_is_not_in_the_log_as_refused(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for note in (ASK, SILENT):
        record_undecided(call(shop), note, SYSTEM)
    record_undecided(call(shop, "PostToolUse"), DENY, SYSTEM)
    record_undecided(b"{", DENY, SYSTEM)
    record_undecided(call(shop / "nowhere"), DENY, SYSTEM)
    assert calls(sandbox, shop) == []
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")  # refuses what it would ask about
    record_undecided(call(shop), ASK, SYSTEM)
    assert calls(sandbox, shop) == ["Bash refused"]
