"""Which changed definitions wait for a person, and how a decision says so."""

import pytest

from remit.decision.decide import Verdict, decide
from remit.decision.definitions.definition_changes import (
    ChangePolicy,
    ChangeVerdict,
    DefinitionChange,
    is_held,
    strictest,
)
from remit.decision.gate_rules import definition
from remit.decision.gates import Gate
from remit.decision.kinds import Kind
from remit.decision.policy import Policy
from support.builders import context, server

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
