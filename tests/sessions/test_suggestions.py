"""What is suggested, when, and how it is said."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.sessions.suggestions import (
    COOLDOWN,
    ENOUGH_EVENTS,
    MOST,
    THRESHOLD,
    Candidate,
    Cause,
    PastSuggestion,
    SessionCalls,
    SuggestionChoice,
    ToolCall,
    by_sequence,
    by_state,
    choose,
    learn,
    write,
)

DEPLOY = Candidate("deploy", Cause.PROMPT, 0.9, "it fits")


def calls(*names: str, session: str = "s") -> list[ToolCall]:
    return [ToolCall(session, name, at) for at, name in enumerate(names)]


def routine(times: int, *names: str) -> list[ToolCall]:
    return [call for number in range(times) for call in calls(*names, session=f"s{number}")]


def reasons(found: SuggestionChoice) -> list[str]:
    return [each.reason for each in found.withheld]


def test_what_usually_follows_is_learned_with_how_often_it_did() -> None:
    patterns = learn(routine(8, "Edit", "test", "commit"))
    found = {(each.before, each.tool): (each.times, each.of) for each in patterns}
    assert found[("Edit",), "test"] == (8, 8)
    assert found[("Edit", "test"), "commit"] == (8, 8)


def test_nothing_is_learned_from_too_few_calls() -> None:
    few = routine(6, "Edit", "test", "commit")
    assert len(few) < ENOUGH_EVENTS
    assert learn(few) == []


def test_what_happened_once_or_twice_is_no_pattern() -> None:
    assert not any(each.tool == "rare" for each in learn([*routine(8, "a", "b", "c"), *calls("c", "rare")]))


def test_the_order_of_calls_counts() -> None:
    patterns = learn(routine(8, "Edit", "test", "commit"))
    assert [each.tool for each in by_sequence(patterns, calls("Edit", "test"))] == ["commit"]
    assert "commit" not in {each.tool for each in by_sequence(patterns, calls("test", "Edit"))}


def test_the_same_tool_again_at_once_is_one_step() -> None:
    patterns = learn(routine(8, "Read", "Read", "Edit", "test"))
    assert [each.tool for each in by_sequence(patterns, calls("Read", "Edit", "Edit", "Edit"))] == ["test"]


def test_sessions_are_not_run_together() -> None:
    apart = [*routine(10, "a", "b"), *[ToolCall(f"t{n}", "c", n) for n in range(10)]]
    assert not any(each.tool == "c" for each in learn(apart))


def test_what_follows_only_now_and_then_is_less_likely() -> None:
    mixed = [
        *routine(6, "a", "b"),
        *[ToolCall(f"t{n}", name, at) for n in range(4) for at, name in enumerate("ac")],
    ]
    found = {each.tool: each for each in by_sequence(learn(mixed), calls("a"))}
    assert found["b"].likelihood == pytest.approx(6 / 11)
    assert found["c"].likelihood == pytest.approx(4 / 11)
    assert found["b"].why == "6 of 10 times it came after a here"


def test_of_several_patterns_the_likeliest_speaks_for_a_tool() -> None:
    mixed = [*routine(5, "x", "a", "b"), *[ToolCall(f"t{n}", "a", n) for n in range(5)]]
    (found,) = by_sequence(learn(mixed), calls("x", "a"))
    assert found.why == "5 of 5 times it came after x, then a here"


def test_where_a_pattern_was_seen_is_said() -> None:
    (found,) = by_sequence(learn(routine(10, "a", "b")), calls("a"), where="in your projects")
    assert found.why.endswith("in your projects")


def test_nothing_follows_where_nothing_was_called() -> None:
    assert by_sequence(learn(routine(10, "a", "b")), []) == []


def test_a_tool_is_found_whose_state_came_into_force_in_this_session() -> None:
    needing = {"release": {"built", "tested"}, "read": {"git"}, "any": set[str]()}
    (found,) = by_state(needing, {"built", "git"}, {"git"})
    assert found.tool == "release"
    assert found.why == "`built` holds since this session began"


def test_only_what_is_likely_enough_and_usable_is_said() -> None:
    weak = Candidate("weak", Cause.PROMPT, THRESHOLD - 0.01, "")
    gone = Candidate("gone", Cause.PROMPT, 1.0, "")
    found = choose([weak, gone, DEPLOY], SessionCalls("s"), [], suggestable={"deploy", "weak"})
    assert found.said == [DEPLOY]
    assert reasons(found) == [f"not likely enough: 0.59 is below {THRESHOLD}"]


def test_the_likeliest_comes_first_and_each_tool_once() -> None:
    sure = Candidate("b", Cause.SEQUENCE, 0.95, "")
    again = Candidate("b", Cause.PROMPT, 0.95, "")
    found = choose([DEPLOY, again, sure], SessionCalls("s"), [], suggestable={"deploy", "b"})
    assert found.said == [sure, DEPLOY]


def test_two_are_the_most_in_a_session() -> None:
    many = [Candidate(name, Cause.PROMPT, 0.9, "") for name in "abc"]
    found = choose(many, SessionCalls("s"), [], suggestable=set("abc"))
    assert [each.tool for each in found.said] == ["a", "b"]
    assert reasons(found) == [f"a session gets at most {MOST} suggestions"]
    later = SessionCalls("s", calls(*["Read"] * 20))
    earlier = [PastSuggestion("s", "x", -2, True), PastSuggestion("s", "y", -1, True)]
    assert choose(many, later, earlier, suggestable=set("abc")).said == []


def test_some_calls_have_to_come_between_two_suggestions() -> None:
    made = [PastSuggestion("s", "other", 0, True)]
    found = choose([DEPLOY], SessionCalls("s", calls(*["Read"] * COOLDOWN)), made, suggestable={"deploy"})
    assert reasons(found) == [
        f"{COOLDOWN - 1} calls since the last suggestion; the next one comes after {COOLDOWN}"
    ]
    ready = SessionCalls("s", calls(*["Read"] * (COOLDOWN + 1)))
    assert choose([DEPLOY], ready, made, suggestable={"deploy"}).said == [DEPLOY]


def test_what_was_suggested_in_another_session_and_not_taken_up_is_not_repeated() -> None:
    ignored, taken = PastSuggestion("before", "deploy", 0, False), PastSuggestion("before", "deploy", 0, True)
    assert reasons(choose([DEPLOY], SessionCalls("s"), [ignored], suggestable={"deploy"})) == [
        "it was suggested before and not used"
    ]
    assert choose([DEPLOY], SessionCalls("s"), [taken], suggestable={"deploy"}).said == [DEPLOY]


def test_what_is_in_use_already_is_not_suggested() -> None:
    found = choose([DEPLOY], SessionCalls("s", calls("deploy")), [], suggestable={"deploy"})
    assert reasons(found) == ["it was used in this session"]


def test_nothing_is_said_where_suggestions_are_switched_off() -> None:
    found = choose([DEPLOY], SessionCalls("s"), [], suggestable={"deploy"}, is_heard=False)
    assert found.said == []
    assert reasons(found) == ["suggestions are switched off"]


def test_a_suggestion_is_a_hint_with_the_name_that_the_model_can_call() -> None:
    assert write([(DEPLOY, "mcp__remit__x__deploy")]) == (
        "Tools that may help here (a hint, nothing was run):\n- mcp__remit__x__deploy: it fits"
    )
    assert write([]) == ""


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=12), max_size=8))
def test_no_pattern_is_seen_more_often_than_what_comes_before_it(sessions: Sequence[Sequence[str]]) -> None:
    told = [
        ToolCall(str(number), name, at)
        for number, each in enumerate(sessions)
        for at, name in enumerate(each)
    ]
    for pattern in learn(told):
        assert 3 <= pattern.times <= pattern.of
        assert 0 < pattern.likelihood < 1
