import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.decision.kinds import Kind
from remit.decision.tools import (
    Definition,
    builtin_tool,
    definition_without_text,
    demotion_reason,
    is_demoted,
    needs_person,
)


@pytest.mark.parametrize(
    ("outcomes", "demoted"),
    [
        ("", False),
        ("--", False),
        ("---", True),
        ("+-+--", True),
        ("++-+-", False),
        ("-----", True),
        ("----+", False),  # one success restores
        ("---+-", True),  # and one more failure shows that it was luck
    ],
)
def test_three_failures_of_five_demote_and_one_success_restores(outcomes: str, demoted: bool) -> None:
    assert is_demoted(outcomes) is demoted


@given(st.lists(st.sampled_from("+-"), max_size=30))
def test_the_last_five_outcomes_alone_say_what_the_rule_says_step_by_step(calls: list[str]) -> None:
    demoted = False
    for at, outcome in enumerate(calls, start=1):
        failures = calls[max(0, at - 5) : at].count("-")
        demoted = outcome == "-" and (demoted or failures >= 3)
    assert is_demoted("".join(calls[-5:])) is demoted


def test_a_demotion_is_said_in_numbers() -> None:
    assert demotion_reason("+--+-") == "3 of its last 5 calls here failed"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, False),
        ('{"name": "sign"}', False),
        ('{"_meta": {"anthropic/requiresUserInteraction": true}}', True),
        ('{"_meta": {"anthropic/requiresUserInteraction": "yes"}}', False),
        ('{"_meta": "anthropic/requiresUserInteraction"}', False),
    ],
)
def test_only_a_definition_that_says_so_needs_a_person(raw: str | None, expected: bool) -> None:
    assert needs_person(Definition(name="mcp__a__sign", raw=raw)) is expected


def test_a_clients_own_tools_are_known_without_a_file() -> None:
    tool = builtin_tool("Bash", "claude-code")
    assert tool is not None
    assert (tool.name, tool.kind, tool.client) == ("Bash", Kind.BUILTIN, "claude-code")


def test_other_names_and_other_clients_have_none() -> None:
    assert builtin_tool("Bsah", "claude-code") is None
    assert builtin_tool("Bash", "cursor") is None
    assert builtin_tool("Bash", None) is None


def test_a_definition_without_its_text_keeps_the_name_and_whether_it_has_an_output_schema() -> None:
    whole = Definition(name="mcp__a__b", server="a", tool="b", description="Reads.", output_schema='{"x": 1}')
    bare = definition_without_text(whole)
    assert (bare.name, bare.tool, bare.description) == ("mcp__a__b", "b", None)
    assert bare.output_schema not in (None, whole.output_schema)
    assert definition_without_text(Definition(name="x")).output_schema is None
