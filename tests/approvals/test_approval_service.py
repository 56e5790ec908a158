"""Approvals: for one caller, one tool as it is defined, the very arguments, once and for a while."""

import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remit.approvals.approval_service import ApprovalService, Permit, caller_of, principal_of
from remit.approvals.approvals import ApprovalStatus
from remit.approvals.call_binding import digest_of_arguments
from remit.audit.audit_log import AuditOutcome, CallQuery
from remit.decision.agents import Agent, AgentProfile
from remit.decision.context import Context
from remit.decision.decide import Verdict
from remit.errors import ApprovalError, UnknownApprovalError
from remit.registry import Registry
from remit.store.hook_store import HookStore
from support.builders import context
from support.databases import run_sql
from support.processes import forked_script, run_together
from support.sandbox import Sandbox

PUSH = "mcp__git__push"
ARGUMENTS: Mapping[str, object] = {"remote": "origin", "force": True}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    sandbox.write(
        sandbox.home / ".config/remit/remit.toml",
        f'[tools."{PUSH}"]\ndanger = "critical"\n[tools."mcp__git__drop"]\nai_enabled = false\n',
    )
    return sandbox.project("shop")


@pytest.fixture
def registry(sandbox: Sandbox, shop: Path) -> Registry:
    opened = sandbox.registry()
    for name in (PUSH, "mcp__git__log", "mcp__git__drop"):
        opened.usage.report_tool(name, opened.at(str(shop)), description="Does it.")
    return opened


@pytest.fixture
def here(registry: Registry, shop: Path) -> Context:
    return registry.at(str(shop))


@pytest.fixture
def approvals(registry: Registry) -> ApprovalService:
    return registry.approvals


def approved(approvals: ApprovalService, here: Context) -> str:
    asked = approvals.request(PUSH, ARGUMENTS, here)
    return approvals.answer(asked.id, here, approve=True).id


def test_a_call_that_needs_approval_asks_once_and_goes_ahead_once(
    approvals: ApprovalService, here: Context
) -> None:
    first = approvals.permit(PUSH, ARGUMENTS, here)
    again = approvals.permit(PUSH, ARGUMENTS, here)
    assert (first.is_allowed, first.decision.verdict) == (False, Verdict.ASK)
    assert first.approval is not None
    assert again.approval == first.approval
    assert approvals.waiting(here) == [first.approval]
    approvals.answer(first.approval.id, here, approve=True)
    assert approvals.waiting(here) == []
    used = approvals.permit(PUSH, ARGUMENTS, here)
    assert used.is_allowed
    assert used.approval is not None
    assert (used.approval.id, approvals.status(used.approval)) == (first.approval.id, ApprovalStatus.USED)
    assert not approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def test_so_many_calls_wait_and_no_more_and_what_expired_is_not_kept(
    sandbox: Sandbox, approvals: ApprovalService, here: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.approvals.approval_service.MOST_WAITING", 2)
    for number in (1, 2):
        approvals.request(PUSH, {"number": number}, here)
    with pytest.raises(ApprovalError, match="too many pending approvals: 2"):
        approvals.permit(PUSH, {"number": 3}, here)
    assert approvals.permit(PUSH, {"number": 2}, here).approval is not None  # that was asked before
    sandbox.time += 1_000_000
    approvals.request(PUSH, {"number": 3}, here)
    shown = run_sql(sandbox.database, "select shown from approvals order by requested_at")
    assert shown == [("",), ("",), ('{"number": 3}',)]


def test_a_person_is_told_who_calls_what_and_why(approvals: ApprovalService, here: Context) -> None:
    asked = approvals.request(PUSH, {"remote": "origin", "password": "correct-horse"}, here)
    assert asked.binding.tool == PUSH
    assert asked.binding.principal == "claude-code"
    assert asked.shown == '{"remote": "origin", "password": "correct-horse"}'
    assert asked.reason.startswith("needs approval: it is `critical`")


def test_the_log_names_who_answered_on_a_page_and_nobody_approves_their_own_call(
    registry: Registry, approvals: ApprovalService, here: Context
) -> None:
    caller = caller_of(here, "uma")
    asked = approvals.request(PUSH, ARGUMENTS, here, principal=caller)
    with pytest.raises(ApprovalError, match="this call is your own"):
        approvals.answer(asked.id, here, approve=True, by="uma")
    assert approvals.waiting(here) == [asked]
    approvals.answer(asked.id, here, approve=True, by="ann")
    assert approvals.permit(PUSH, ARGUMENTS, here, principal=caller).is_allowed
    other = approvals.request(PUSH, {}, here, principal=caller)
    approvals.answer(other.id, here, approve=False, by="uma")
    with pytest.raises(ApprovalError, match="denied"):
        approvals.answer(other.id, here, approve=True, by="ann")
    registry.audit.note("team:shop/remit.toml", AuditOutcome.CHANGED, here, by="ada")
    noted = registry.audit.find(CallQuery(), here).entries
    assert [(each.tool, each.outcome, each.principal, each.verdict) for each in reversed(noted)] == [
        (PUSH, "approved", "ann", "ask"),
        (PUSH, "denied", "uma", "ask"),
        ("team:shop/remit.toml", "changed", "ada", ""),
    ]
    assert registry.audit.verify(here).broken_at is None
    assert registry.audit.find(CallQuery(principal="ann"), here).total == 1
    assert caller_of(here, None) == "claude-code"


def test_what_needs_no_approval_or_is_hidden_is_not_asked_about(
    approvals: ApprovalService, here: Context
) -> None:
    assert approvals.permit("mcp__git__log", {}, here) == Permit(
        True, approvals.permit("mcp__git__log", {}, here).decision
    )
    for name in ("mcp__git__drop", "mcp__git__unknown", "mcp__git__*", "git"):
        permit = approvals.permit(name, {}, here)
        assert (permit.is_allowed, permit.approval) == (False, None)
        with pytest.raises(ApprovalError, match="hidden"):
            approvals.request(name, {}, here)


def test_an_approval_is_for_one_caller_and_the_very_arguments(
    approvals: ApprovalService, here: Context
) -> None:
    approved(approvals, here)
    assert not approvals.permit(PUSH, {**ARGUMENTS, "force": False}, here).is_allowed
    assert not approvals.permit(PUSH, ARGUMENTS, here, principal="somebody").is_allowed
    assert approvals.permit(PUSH, {"force": True, "remote": "origin"}, here).is_allowed
    assert not approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def test_an_approval_ends_when_the_tool_says_something_else(
    registry: Registry, approvals: ApprovalService, here: Context
) -> None:
    approved(approvals, here)
    registry.usage.report_tool(PUSH, here, description="Does something else.")
    assert not approvals.permit(PUSH, ARGUMENTS, here).is_allowed
    registry.usage.report_tool(PUSH, here, description="Does it.")
    assert approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def test_an_approval_ends_too_where_a_server_is_labelled_otherwise_than_its_tools_are_named(
    sandbox: Sandbox, registry: Registry, approvals: ApprovalService, here: Context
) -> None:
    sandbox.write_state("git", "my.mail")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[tools."*send"]\napproval = true\n')
    registry.usage.report_tool("mcp__my_mail__send", here, description="Sends.")
    asked = approvals.request("mcp__my_mail__send", {}, here)
    approvals.answer(asked.id, here, approve=True)
    registry.usage.report_tool("mcp__my_mail__send", here, description="Sends elsewhere.")
    assert not approvals.permit("mcp__my_mail__send", {}, here).is_allowed


def test_a_tool_that_is_called_like_a_server_can_be_called(
    sandbox: Sandbox, registry: Registry, approvals: ApprovalService, here: Context
) -> None:
    sandbox.write_state("git", "Read")
    registry.usage.report_tool("Read", here, description="Reads.")
    assert approvals.permit("Read", {}, here).is_allowed


def test_an_approval_does_not_help_a_tool_that_was_switched_off_since(
    sandbox: Sandbox, approvals: ApprovalService, here: Context
) -> None:
    approved(approvals, here)
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'block = ["{PUSH}"]\n')
    sandbox.later_ns = 10**10
    assert not approvals.permit(PUSH, ARGUMENTS, here).is_allowed
    assert not approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def test_an_approval_expires_whether_it_was_given_or_not(
    sandbox: Sandbox, approvals: ApprovalService, here: Context
) -> None:
    id = approved(approvals, here)
    waiting = approvals.request(PUSH, {}, here)
    sandbox.time += 300_000
    assert approvals.status(approvals.find(id, here)) is ApprovalStatus.EXPIRED
    assert approvals.waiting(here) == []
    with pytest.raises(ApprovalError, match="expired and can no longer be answered"):
        approvals.answer(waiting.id, here, approve=True)
    assert not approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def test_a_clock_that_was_set_back_gives_no_approval(
    sandbox: Sandbox, approvals: ApprovalService, here: Context
) -> None:
    approved(approvals, here)
    sandbox.time -= 500_000
    assert not approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def test_a_no_is_told_once_and_cannot_be_taken_back(approvals: ApprovalService, here: Context) -> None:
    asked = approvals.request(PUSH, ARGUMENTS, here)
    denied = approvals.answer(asked.id, here, approve=False)
    assert (approvals.status(denied), denied.shown) == (ApprovalStatus.DENIED, "")
    permit = approvals.permit(PUSH, ARGUMENTS, here)
    assert (permit.is_allowed, permit.is_denied, permit.is_pending) == (False, True, False)
    with pytest.raises(ApprovalError, match="denied"):
        approvals.answer(asked.id, here, approve=True)
    assert approvals.status(approvals.find(asked.id, here)) is ApprovalStatus.DENIED
    again = approvals.permit(PUSH, ARGUMENTS, here)
    assert again.approval is not None
    assert again.approval.id != asked.id
    approvals.answer(again.approval.id, here, approve=True)
    assert approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def settle(approvals: ApprovalService, asked: Permit, here: Context, *, approve: bool | None) -> Permit:
    return approvals.settle(
        asked, here, approve=approve, permit_again=lambda: approvals.permit(PUSH, ARGUMENTS, here)
    )


def test_a_question_that_was_declined_can_still_be_answered_and_is_open_again_when_asked_again(
    approvals: ApprovalService, here: Context
) -> None:
    asked = approvals.permit(PUSH, ARGUMENTS, here)
    assert settle(approvals, asked, here, approve=False).is_denied
    (waiting,) = approvals.waiting(here)
    assert waiting.declined_at is not None
    assert approvals.permit(PUSH, ARGUMENTS, here).approval == asked.approval
    assert approvals.waiting(here) == [asked.approval]
    assert settle(approvals, asked, here, approve=True).is_allowed


@pytest.mark.parametrize(
    ("meanwhile", "is_allowed"), [("approved", True), ("used", True), ("expired", True), ("denied", False)]
)
def test_a_yes_at_the_client_counts_unless_a_person_denied_the_call_in_a_terminal(
    sandbox: Sandbox, approvals: ApprovalService, here: Context, meanwhile: str, is_allowed: bool
) -> None:
    asked = approvals.permit(PUSH, ARGUMENTS, here)
    assert asked.approval is not None
    if meanwhile == "expired":
        sandbox.time += 2 * 86_400_000
        approvals.request(PUSH, {}, here)  # which forgets old ones
    else:
        approvals.answer(asked.approval.id, here, approve=meanwhile != "denied")
    if meanwhile == "used":
        approvals.permit(PUSH, ARGUMENTS, here)
    assert settle(approvals, asked, here, approve=True).is_allowed is is_allowed


def test_a_late_yes_is_lost_where_too_many_other_calls_wait_and_where_nothing_was_asked(
    sandbox: Sandbox, approvals: ApprovalService, here: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = approvals.permit(PUSH, ARGUMENTS, here)
    sandbox.time += 400_000
    monkeypatch.setattr("remit.approvals.approval_service.MOST_WAITING", 1)
    approvals.request(PUSH, {}, here)
    assert not settle(approvals, asked, here, approve=True).is_allowed
    free = approvals.permit("mcp__git__log", {}, here)
    assert approvals.settle(free, here, approve=False, permit_again=lambda: free) == free


def test_without_an_answer_at_the_client_one_in_a_terminal_counts(
    approvals: ApprovalService, here: Context
) -> None:
    asked = approvals.permit(PUSH, ARGUMENTS, here)
    assert asked.approval is not None
    assert settle(approvals, asked, here, approve=None) == asked
    approvals.answer(asked.approval.id, here, approve=True)
    assert settle(approvals, asked, here, approve=None).is_allowed


def test_what_is_asked_in_one_project_is_unknown_in_another(
    sandbox: Sandbox, registry: Registry, approvals: ApprovalService, here: Context
) -> None:
    asked = approvals.request(PUSH, ARGUMENTS, here)
    elsewhere = registry.at(str(sandbox.project("blog")))
    assert approvals.waiting(elsewhere) == []
    for id in (asked.id, "nonsense"):
        with pytest.raises(UnknownApprovalError, match=f"no approval `{id}` here"):
            approvals.find(id, elsewhere)
        with pytest.raises(UnknownApprovalError, match=f"no approval `{id}` here"):
            approvals.answer(id, elsewhere, approve=True)
    assert approvals.waiting(here) == [asked]


def test_old_approvals_are_forgotten_and_all_of_them_with_their_project(
    sandbox: Sandbox, registry: Registry, approvals: ApprovalService, here: Context
) -> None:
    approved(approvals, here)
    sandbox.time += 2 * 86_400_000
    approvals.request(PUSH, ARGUMENTS, here)
    assert run_sql(sandbox.database, "select count(*) from approvals") == [(1,)]
    registry.projects.forget(here.workspace.project)
    assert run_sql(sandbox.database, "select count(*) from approvals") == [(0,)]


def test_arguments_that_were_judged_are_not_kept(
    sandbox: Sandbox, approvals: ApprovalService, here: Context
) -> None:
    asked = approvals.request(PUSH, ARGUMENTS, here)
    assert run_sql(sandbox.database, "select shown from approvals") == [(asked.shown,)]
    approvals.answer(asked.id, here, approve=True)
    assert run_sql(sandbox.database, "select shown from approvals") == [("",)]
    assert approvals.permit(PUSH, ARGUMENTS, here).is_allowed


def test_who_calls_is_the_client_and_the_agents_down_to_the_one_that_calls() -> None:
    lead = Agent(name="lead", profile=AgentProfile())
    scout = Agent(name="scout", profile=AgentProfile(), parents=(lead,))
    assert principal_of(context()) == "claude-code"
    assert (
        principal_of(Context(workspace=context().workspace, client=None, agent=scout)) == "all > lead > scout"
    )


CONSUME = """
import json, sys
from remit.bootstrap import open_registry
with open_registry() as registry:
    here = registry.at(sys.argv[1])
    registry.tools(here)
    sys.stdin.read()
    permit = registry.approvals.permit("mcp__git__push", json.loads(sys.argv[2]), here)
    sys.exit(0 if permit.is_allowed else 3)
"""


@pytest.mark.long
@pytest.mark.usefixtures("registry")
@pytest.mark.sqlite_only
def test_of_many_processes_exactly_one_uses_an_approval(sandbox: Sandbox, shop: Path) -> None:
    asked = ask_for_real(sandbox, shop)
    assert sandbox.remit("approve", asked, "--yes", cwd=shop).returncode == 0
    command = forked_script(sandbox.root, CONSUME, str(shop), '{"remote": "origin"}')
    processes = [subprocess.Popen(command, env=sandbox.environment, stdin=subprocess.PIPE) for _ in range(6)]
    assert sorted(run_together(processes)) == [0, 3, 3, 3, 3, 3]


ASK = """
import sys
from remit.bootstrap import open_registry
with open_registry() as registry:
    here = registry.at(sys.argv[1])
    print(registry.approvals.request("mcp__git__push", {"remote": "origin"}, here).id)
"""


def ask_for_real(sandbox: Sandbox, shop: Path) -> str:
    """Ask with the clock of the machine, as the processes do."""
    command = forked_script(sandbox.root, ASK, str(shop))
    done = subprocess.run(command, env=sandbox.environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.long
def test_of_many_threads_exactly_one_uses_an_approval_and_all_ask_for_one(
    sandbox: Sandbox, shop: Path
) -> None:
    with sandbox.registry() as first:
        first.usage.report_tool(PUSH, first.at(str(shop)), description="Does it.")

    def work(step: str) -> str | None:
        with sandbox.registry() as mine:
            at = mine.at(str(shop))
            if step == "ask":
                return mine.approvals.request(PUSH, ARGUMENTS, at).id
            permit = mine.approvals.permit(PUSH, ARGUMENTS, at)
            return permit.approval.id if permit.is_allowed and permit.approval is not None else None

    with ThreadPoolExecutor(8) as pool:
        (id,) = set(pool.map(work, ["ask"] * 16))
        assert id is not None
        with sandbox.registry() as person:
            person.approvals.answer(id, person.at(str(shop)), approve=True)
        taken = [found for found in pool.map(work, ["use"] * 16) if found is not None]
    assert taken == [id]


def test_a_call_that_the_client_asked_about_needs_no_second_answer(
    sandbox: Sandbox, registry: Registry
) -> None:
    shop = sandbox.root / "code/shop"
    log = "mcp__git__log"
    sandbox.write(sandbox.home / ".claude/settings.json", {"permissions": {"ask": [log]}})
    here = registry.at(str(shop))
    store = HookStore(str(sandbox.database), here.workspace, "claude-code")
    store.add_prompted_call("toolu_1", log, digest_of_arguments(ARGUMENTS), sandbox.time)
    store.add_prompted_call("toolu_2", PUSH, digest_of_arguments(ARGUMENTS), sandbox.time)
    store.close()
    permit = registry.approvals.permit
    assert not permit(log, ARGUMENTS, here).is_allowed
    assert not permit(log, {}, here, call_id="toolu_1").is_allowed
    assert permit(log, ARGUMENTS, here, call_id="toolu_1").is_allowed
    assert not permit(log, ARGUMENTS, here, call_id="toolu_1").is_allowed
    assert not permit(PUSH, ARGUMENTS, here, call_id="toolu_2").is_allowed  # Remit itself asks about it


def test_the_beginning_of_an_id_stands_for_a_pending_approval(
    approvals: ApprovalService, here: Context
) -> None:
    asked = approvals.request(PUSH, ARGUMENTS, here)
    assert approvals.find(asked.id[:3], here) == asked
    for unknown in (asked.id[:2], "zzz"):
        with pytest.raises(UnknownApprovalError):
            approvals.find(unknown, here)
