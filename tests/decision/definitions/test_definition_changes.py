"""Which changed definitions wait for a person, and how a decision says so."""

from dataclasses import replace

import pytest

from remit.decision.decide import Verdict, decide
from remit.decision.definitions.definition_changes import (
    ChangePolicy,
    ChangeVerdict,
    DefinitionChange,
    is_held,
    steps_to_settle,
    strictest,
)
from remit.decision.definitions.project_lock import ProjectLock
from remit.decision.gate_rules import definition
from remit.decision.gates import Gate
from remit.decision.kinds import Kind
from remit.decision.policy import Policy
from remit.decision.scopes import Scope
from support.builders import SHOP, context, server

HELD = {
    ChangePolicy.HOLD: set(ChangeVerdict),
    ChangePolicy.HARMLESS: {*ChangeVerdict} - {ChangeVerdict.HARMLESS},
    ChangePolicy.NOTE: {*ChangeVerdict} - {ChangeVerdict.HARMLESS, ChangeVerdict.MATTERS},
}


def change(verdict: ChangeVerdict) -> DefinitionChange:
    return DefinitionChange(verdict, "it changed", "it changed: “do this”")


@pytest.mark.parametrize("policy", ChangePolicy)
@pytest.mark.parametrize("verdict", ChangeVerdict)
def test_a_policy_holds_what_it_says(policy: ChangePolicy, verdict: ChangeVerdict) -> None:
    assert is_held(change(verdict), policy) is (verdict in HELD[policy])
    assert not is_held(None, policy)


def test_the_strictest_policy_counts_and_harmless_is_the_default() -> None:
    assert strictest([]) is ChangePolicy.HARMLESS
    assert strictest([ChangePolicy.NOTE, ChangePolicy.HOLD]) is ChangePolicy.HOLD


@pytest.mark.parametrize("verdict", [ChangeVerdict.MATTERS, ChangeVerdict.REJECTED])
def test_a_held_tool_is_hidden_with_the_reason_and_the_excerpt_is_for_people(verdict: ChangeVerdict) -> None:
    tool = server()._replace(name="mcp__git__tidy", kind=Kind.MCP_TOOL, change=change(verdict))
    decision = decide(tool, context())
    assert (decision.verdict, decision.gate) == (Verdict.HIDDEN, Gate.DEFINITION)
    assert decision.reason == "it changed"
    assert decision.full_reason == "it changed: “do this”"
    assert "remit trust mcp__git__tidy" in (decision.unlock or "")


def test_what_looks_like_an_attack_is_rejected_rather_than_accepted() -> None:
    steps = steps_to_settle(change(ChangeVerdict.FLAGGED), "mcp__git__tidy")
    assert steps == (
        "look at it with `remit trust`, then reject it with `remit trust --reject mcp__git__tidy` or remove "
        "its server; only if you are sure, accept it with `remit trust mcp__git__tidy`"
    )
    for verdict in set(ChangeVerdict) - {ChangeVerdict.FLAGGED, ChangeVerdict.REJECTED}:
        assert "reject" not in steps_to_settle(change(verdict), "mcp__git__tidy")


@pytest.mark.parametrize("verdict", [ChangeVerdict.MATTERS, ChangeVerdict.FLAGGED])
def test_a_held_change_comes_before_a_lock_that_differs_and_both_steps_are_named(
    verdict: ChangeVerdict,
) -> None:
    made = server(scope=Scope.PROJECT, workspace=SHOP)
    tool = made._replace(name="mcp__git__tidy", kind=Kind.MCP_TOOL, change=change(verdict))
    decision = decide(tool, replace(context(SHOP), policy=Policy(lock=ProjectLock())))
    assert decision.reason == "it changed; also, its server is not in `remit.lock`"
    assert decision.full_reason == "it changed: “do this”; also, its server is not in `remit.lock`"
    assert (decision.unlock or "").endswith("`remit trust mcp__git__tidy`, then run `remit lock`")


def test_a_server_that_differs_from_the_lock_is_trusted_before_it_is_locked() -> None:
    made = server("git", scope=Scope.PROJECT, workspace=SHOP, is_trusted=False)
    decision = decide(made, replace(context(SHOP), policy=Policy(lock=ProjectLock())))
    assert decision.unlock == "look at it with `remit trust`, then run `remit trust git`, then `remit lock`"


def test_a_change_that_passes_is_told_by_its_gate() -> None:
    tool = server()._replace(name="mcp__git__tidy", kind=Kind.MCP_TOOL, change=change(ChangeVerdict.HARMLESS))
    assert decide(tool, context()).is_available
    assert "accepted (`trust.changes`)" in definition(tool, context()).full_reason


def test_changed_instructions_hide_neither_their_server_nor_its_tools() -> None:
    changed = server()._replace(change=change(ChangeVerdict.FLAGGED))
    assert decide(changed, context()).is_available
    assert "its instructions changed" in definition(changed, context()).reason


def test_a_policy_keeps_what_it_accepts_when_it_is_narrowed() -> None:
    assert Policy(changes=ChangePolicy.HOLD).including(()).changes is ChangePolicy.HOLD


def test_a_person_who_rejected_a_definition_has_nothing_to_do() -> None:
    assert steps_to_settle(change(ChangeVerdict.REJECTED), "mcp__git__tidy") == (
        "you rejected it, so there is nothing to do; if you no longer want its server, remove it; "
        "only if you are sure, accept it with `remit trust mcp__git__tidy`"
    )
