"""What is told of the difference between two lists."""

from dataclasses import replace

from remit.catalog.list_changes import ListDifference, changed_states, difference
from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.gates import Gate
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.decision.tools import Tool
from support.builders import server

SHOWN = Decision(verdict=Verdict.VISIBLE, gate=None, reason="declared", unlock=None)
HIDDEN = Decision(verdict=Verdict.HIDDEN, gate=Gate.STATE, reason="needs state editing", unlock=None)


def listed(tool: Tool, decision: Decision = SHOWN) -> ToolDecision:
    return ToolDecision(tool, decision)


def test_equal_lists_have_no_difference() -> None:
    both = [listed(server("git")), listed(server("till"))]
    assert difference(both, list(both), both).is_empty
    assert ListDifference().is_empty


def test_what_came_and_what_went_is_told() -> None:
    git, till = listed(server("git")), listed(server("till"))
    found = difference([git], [till], [till])
    assert found.appeared == [till]
    assert [item.tool for item in found.disappeared] == [git.tool]
    assert found.disappeared[0].decision.reason == "no tool of this name is known here"


def test_what_is_hidden_now_is_told_with_the_reason() -> None:
    git = server("git")
    found = difference([listed(git)], [], [listed(git, HIDDEN)])
    assert found.disappeared == [listed(git, HIDDEN)]


def test_another_decision_is_a_change_and_a_use_is_none() -> None:
    git = server("git")
    asks = replace(SHOWN, verdict=Verdict.ASK)
    assert difference([listed(git)], [listed(git, asks)], []).changed == [listed(git, asks)]
    assert difference([listed(git)], [listed(git._replace(usage_count=3, last_used_at=9))], []).is_empty


def test_states_with_another_value_are_told_and_others_are_not() -> None:
    before = Snapshot(
        states={"a": StateValue(True, "x"), "b": StateValue(None, "x"), "gone": StateValue(None, "x")}
    )
    after = Snapshot(
        states={"a": StateValue(True, "y"), "b": StateValue(False, "y"), "new": StateValue(None, "y")}
    )
    assert changed_states(before, after) == {
        "b": StateValue(False, "y"),
        "gone": StateValue(None, "no such state is declared"),
        "new": StateValue(None, "y"),
    }
