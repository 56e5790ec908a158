from enum import StrEnum
from itertools import pairwise

import pytest

from remit.decision import Implications, Snapshot, StateValue
from remit.errors import StateError

YES, NO, HUNG = (
    StateValue(True, "found"),
    StateValue(False, "not found"),
    StateValue(None, "timed out after 500 ms"),
)


def test_a_value_is_told_with_its_reason() -> None:
    assert [value.in_words for value in (YES, NO, HUNG, StateValue(True, ""))] == [
        "true: found",
        "false: not found",
        "unknown: timed out after 500 ms",
        "true",
    ]


def test_a_dotted_name_implies_all_its_ancestors() -> None:
    closed = Implications(["project.requirements.editing"]).close({"project.requirements.editing": YES})
    assert {name: value.truth for name, value in closed.items()} == {
        "project.requirements.editing": True,
        "project.requirements": True,
        "project": True,
    }
    assert closed["project"].reason == "`project.requirements` implies it"


def test_a_state_that_is_implied_holds_whatever_was_found_of_itself() -> None:
    states = Implications(["deploying", "online"], {"deploying": ["online"]})
    assert states.close({"deploying": YES, "online": NO})["online"] == StateValue(
        True, "`deploying` implies it"
    )
    assert states.close({"deploying": NO, "online": YES})["online"] == YES
    assert states.close({"deploying": NO, "online": NO}) == {"deploying": NO, "online": NO}


def test_a_state_that_may_be_implied_is_unknown_and_not_false() -> None:
    states = Implications(["offline.vpn", "offline"])
    closed = states.close({"offline.vpn": HUNG, "offline": NO})
    assert closed["offline"] == StateValue(
        None, "`offline.vpn` would imply it, and is unknown: timed out after 500 ms"
    )
    assert states.close({"offline.vpn": HUNG, "offline": YES})["offline"] == YES


def test_an_ancestor_that_nobody_declared_is_false_when_nothing_implies_it() -> None:
    closed = Implications(["project.open"]).close({"project.open": NO})
    assert closed["project"] == StateValue(False, "nothing that implies it holds")


def test_a_state_without_a_value_is_false() -> None:
    assert Implications(["a"]).close({})["a"].truth is False


def test_states_come_before_those_that_they_imply() -> None:
    names = Implications(["z"], {"z": ["a.b.c", "m"], "y": ["z"]}).names
    for earlier, later in (("z", "a.b.c"), ("a.b.c", "a.b"), ("a.b", "a"), ("z", "m"), ("y", "z")):
        assert names.index(earlier) < names.index(later)


@pytest.mark.parametrize(
    ("names", "implies", "circle"),
    [
        (["a"], {"a": ["a"]}, "`a` implies `a`"),
        (["a", "b"], {"a": ["b"], "b": ["a"]}, None),
        (["a.b"], {"a": ["a.b"]}, None),  # because `a.b` implies `a`
    ],
)
def test_a_circle_is_an_error_that_names_it(
    names: list[str], implies: dict[str, list[str]], circle: str | None
) -> None:
    with pytest.raises(StateError, match="in a circle") as caught:
        Implications(names, implies)
    assert circle is None or circle in str(caught.value)
    assert all(f"`{name}`" in str(caught.value) for name in names)


def test_a_circle_is_told_in_the_direction_of_the_implications() -> None:
    with pytest.raises(StateError) as caught:
        Implications([], {"a": ["b"], "b": ["c"], "c": ["a"]})
    told = str(caught.value)
    assert any(f"`{one}` implies `{other}`" in told for one, other in ("ab", "bc", "ca"))
    assert "`b` implies `a`" not in told


def test_long_chains_of_implications_are_no_trouble() -> None:
    names = [f"s{number}" for number in range(5000)]
    states = Implications(names, {one: [other] for one, other in pairwise(names)})
    assert states.close({"s0": YES})["s4999"].truth is True


def test_a_snapshot_tells_what_is_known_and_why_the_rest_is_not() -> None:
    snapshot = Snapshot(states={"a": YES, "b": HUNG})
    assert snapshot.known == {"a": True}
    assert snapshot.state("b") == HUNG
    assert snapshot.state("c").truth is None
    assert snapshot.state("c").reason == "no such state is declared"


def test_a_snapshot_keeps_its_values_whatever_happens_to_those_it_was_made_of() -> None:
    states, variables = {"a": YES}, {"git": {"tags": ["a"]}}
    snapshot = Snapshot(states=states, variables=variables)
    variables["git"]["tags"].append("b")
    states["a"] = NO
    assert snapshot.values == {"git": {"tags": ["a"]}}
    assert snapshot.state("a") == YES


def test_numbers_that_do_not_fit_into_64_bits_become_doubles() -> None:
    numbers = {"most": 2**63 - 1, "more": 2**63, "less": -(2**70), "huge": 10**400, "tiny": -(10**400)}
    values = Snapshot(variables=numbers).values
    assert values == {"most": 2**63 - 1, "more": 2.0**63, "less": -(2.0**70), "huge": 1e999, "tiny": -1e999}
    assert [type(value) for value in values.values()] == [int, float, float, float, float]


def test_values_get_the_types_that_conditions_know() -> None:
    class Role(StrEnum):
        GUEST = "guest"

    class Ratio(float):
        pass

    values = Snapshot(
        variables={"role": Role.GUEST, "ratio": Ratio(0.5), "pair": (1, None), "on": True}
    ).values
    assert values == {"role": "guest", "ratio": 0.5, "pair": [1, None], "on": True}
    assert [type(values["role"]), type(values["ratio"]), type(values["pair"])] == [str, float, list]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"git": {"at": object()}}, "`git.at` is a `object`, which conditions cannot compare"),
        ({"git": {1: "x"}}, "`git` has a key that is not text: 1"),
        ({1: "x"}, "`1` has a key that is not text: 1"),
    ],
)
def test_a_variable_that_no_condition_can_compare_is_an_error(
    variables: dict[str, object], message: str
) -> None:
    with pytest.raises(StateError) as caught:
        Snapshot(variables=variables)
    assert str(caught.value) == message


def test_values_that_are_nested_too_deeply_are_an_error() -> None:
    value: object = "x"
    for _ in range(40):
        value = [value]
    with pytest.raises(StateError, match="`deep` is nested too deeply"):
        Snapshot(variables={"deep": value})
