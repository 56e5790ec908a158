"""What tools need, and the roster that follows the states."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remit.configuration.condition_rules import RuleCondition
from remit.configuration.config_model import ToolEntry
from remit.decision.context import Context
from remit.decision.decide import ToolDecision, decide
from remit.decision.decision_index import DecisionIndex
from remit.decision.gates import Gate, NextStep
from remit.decision.kinds import ConfigStatus
from remit.decision.requirements import Dependencies, Requirement, Requirements, StateScope
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.decision.tools import Tool
from support.builders import context, server

STATES = ("a", "b", "c")


def needing(pattern: str, *states: str, when: str | None = None) -> Requirement:
    entry = ToolEntry(pattern, states=StateScope(all=states) if states else None, when=when)
    return Requirement(pattern, RuleCondition(entry), "/code/shop/remit.toml")


def reading(*holding: str, **variables: object) -> Snapshot:
    values = {name: StateValue(name in holding, "so") for name in STATES}
    return Snapshot(states=values, variables=variables)


def judged(requirements: Requirements, snapshot: Snapshot | None) -> Context:
    return replace(context(), requirements=requirements, snapshot=snapshot)


def test_a_tool_without_requirements_passes() -> None:
    needed = Requirements([needing("mcp__deploy__*", "a")])
    assert decide(server("git"), judged(needed, reading())).is_available


def test_a_tool_is_hidden_with_what_it_lacks_and_what_would_bring_it() -> None:
    needed = Requirements([needing("mcp__git__*", "a", "b")], {"a": "make a", "b": "make b"})
    decision = decide(server("git"), judged(needed, reading("b")))
    assert decision.gate is Gate.STATE
    assert decision.reason == "state `a` does not hold"
    assert decision.full_reason == "needs state a (false: so)"
    assert decision.unlock == "make a"
    assert decide(server("git"), judged(needed, reading("a", "b"))).is_available


def test_without_a_known_way_the_states_are_where_to_look() -> None:
    decision = decide(server("git"), judged(Requirements([needing("mcp__git__*", "a")]), reading()))
    assert decision.unlock == "`remit states` shows every state and how it is found"


@pytest.mark.parametrize(
    ("when", "way"),
    [
        ("git.branch != 'next'", "switch to another branch"),
        ("!(git.branch == 'next')", "switch to another branch"),
        ("git.branch == 'main'", "switch to branch `main`"),
        ("git.branch in ['main', 'dev']", "switch to branch `main` or `dev`"),
        ("git.branch.startsWith('release/')", "switch to another branch"),
    ],
)
def test_a_condition_on_the_branch_names_the_branch_to_switch_to(when: str, way: str) -> None:
    needed = Requirements([needing("mcp__git__*", when=when)])
    decision = decide(server("git"), judged(needed, reading(git={"branch": "next"})))
    assert decision.unlock == way


def test_a_person_is_told_the_line_of_the_rule_and_a_model_is_not() -> None:
    needed = Requirements([needing("mcp__git__*", "a")._replace(line=3)], {"a": "create a"})
    decision = decide(server("git"), judged(needed, reading()))
    assert decision.unlock is not None
    assert decision.unlock.startswith("create a, or change ")
    assert decision.unlock.endswith("remit.toml line 3")
    assert "remit.toml" not in decision.reason


def test_every_rule_that_covers_a_tool_must_hold() -> None:
    needed = Requirements([needing("*", "a"), needing("git__commit", "c"), needing("mcp__git__*", "b")])
    commit = server("git")._replace(name="mcp__git__commit")
    assert not decide(commit, judged(needed, reading("a", "b"))).is_available
    assert not decide(server("git"), judged(needed, reading("a"))).is_available
    assert not decide(server("git"), judged(needed, reading("b"))).is_available
    assert decide(server("git"), judged(needed, reading("a", "b"))).is_available


def test_a_tool_that_needs_states_is_hidden_where_nobody_looked_at_them() -> None:
    needed = Requirements([needing("mcp__git__*", "a")])
    assert decide(server("git"), judged(needed, None)).reason == "its required states were not checked"


def test_an_unknown_state_hides_and_so_does_a_condition_that_cannot_be_read() -> None:
    unknown = Snapshot(states={"a": StateValue(None, "the detector timed out")})
    needed = Requirements([needing("mcp__git__*", "a")])
    assert decide(server("git"), judged(needed, unknown)).full_reason == (
        "needs state a (unknown: the detector timed out)"
    )
    broken = Requirements([needing("mcp__git__*", when="a &&")])
    decision = decide(server("git"), judged(broken, reading()))
    assert "its condition is invalid" in decision.full_reason
    assert decision.reason == "its condition is invalid"


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("state('a') && state('b')", "state `b` does not hold"),
        ("!state('a')", "state `a` holds"),
        ("state('c')", "state `c` is unknown"),
        ("state('b') || state('c')", "state `b` does not hold or state `c` is unknown"),
        ("state('b') && git.branch == 'main'", "state `b` does not hold and its condition does not hold"),
        ("env.STAGE == 'live'", "its condition does not hold"),
    ],
)
def test_a_model_reads_which_states_are_missing_and_not_what_they_depend_on(when: str, reason: str) -> None:
    states = {"a": StateValue(True, "file a"), "b": StateValue(False, "no file b")}
    needed = Requirements([needing("mcp__git__*", when=when)])
    at = judged(needed, Snapshot(states=states, variables={"git": {"branch": "x"}, "env": {"STAGE": "x"}}))
    assert decide(server("git"), at).reason == reason


def test_tools_whose_success_sets_a_missing_state_are_the_next_step_of_a_model() -> None:
    step = NextStep("set state `b` by a successful call", ("mcp__git__open",))
    needed = Requirements([needing("mcp__git__*", "a", "b")], steps={"b": step})
    assert decide(server("git"), judged(needed, reading("a"))).next_step == step
    assert decide(server("git"), judged(needed, reading("b"))).next_step is None


def test_a_rule_that_must_not_rely_on_a_projects_states_does_not() -> None:
    entry = ToolEntry("*", states=StateScope(all=("a",)))
    counted = ToolEntry("*", when="entities.b > 0")
    snapshot = reading("a", entities={"b": 3})
    for each, name in ((entry, "a"), (counted, "b")):
        value = RuleCondition(each, frozenset({"a", "b"})).judge(snapshot)
        assert value == StateValue(None, f"needs state {name}, which only the project's own files declare")
    assert RuleCondition(entry, frozenset({"x"})).judge(snapshot).truth


@pytest.mark.parametrize("when", ["git.branch == 'main'", "state('a')"])
def test_a_condition_changes_only_with_what_it_mentions(when: str) -> None:
    about = RuleCondition(ToolEntry("*", when=when)).dependencies()
    assert (set(about.states), set(about.variables)) == (
        ({"a"}, set()) if "state" in when else (set(), {"git"})
    )
    assert RuleCondition(ToolEntry("*", when="a &&")).dependencies() == Dependencies()


def test_what_is_missing_is_told_of_every_way() -> None:
    asked = RuleCondition(ToolEntry("*", when="(state('a') || state('b')) && !state('c') && os == 'linux'"))
    assert [*asked.missing(reading("c", os="win32"))] == ["a", "b"]
    assert [*RuleCondition(ToolEntry("*", when="a &&")).missing(reading())] == []


def some_tools() -> list[Tool]:
    labels = [f"s{number}" for number in range(6)]
    return [server(label) for label in labels] + [server("off", config_status=ConfigStatus.DISABLED)]


@given(some.lists(some.sets(some.sampled_from(STATES)), min_size=1, max_size=6))
def test_a_roster_says_at_every_moment_what_decide_says(moments: list[set[str]]) -> None:
    needed = Requirements(
        [
            needing("mcp__s0__*", "a"),
            needing("mcp__s1__*", "a", "b"),
            needing("mcp__s2__*", when="state('a') || !state('c')"),
            needing("mcp__s[34]__*", "a"),
            needing("mcp__off__*", "b"),
            needing("mcp__s5__*", when="git.branch == 'main'"),
        ]
    )
    roster = DecisionIndex(some_tools(), judged(needed, None))
    for holding in moments:
        snapshot = reading(*holding, git={"branch": "main" if "b" in holding else "dev"})
        expected = [ToolDecision(tool, decide(tool, judged(needed, snapshot))) for tool in some_tools()]
        assert roster.at(snapshot) == expected


def test_more_may_be_asked_for_with_ways_to_bring_it() -> None:
    needed = Requirements([needing("*", "a")], {"a": "make a"})
    more = needed.including([needing("mcp__git__*", "b")], {"b": "make b"})
    assert decide(server("git"), judged(more, reading())).unlock == "make a"
    assert decide(server("git"), judged(more, reading("a"))).unlock == "make b"
    assert decide(server("git"), judged(needed, reading("a"))).is_available
