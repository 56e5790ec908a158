"""Until when an observation counts."""

import pytest

from remit.states.observations import Observation, PushedValue, StoredObservation

KEPT = StoredObservation("mark", Observation(True, "so"), at=1000, until=2000)


@pytest.mark.parametrize(("now", "expected"), [(1000, True), (1999, True), (2000, False), (999, False)])
def test_an_observation_is_fresh_for_its_lifetime_and_never_before_it_was_made(
    now: int, expected: bool
) -> None:
    assert KEPT.is_fresh("mark", now) is expected


def test_an_observation_of_something_else_counts_for_nothing() -> None:
    assert not KEPT.is_fresh("another", 1500)
    assert not KEPT.is_usable("another", 1500)


@pytest.mark.parametrize(("now", "expected"), [(2000, True), (10_999, True), (11_000, False), (999, False)])
def test_an_old_observation_stands_in_for_ten_lifetimes(now: int, expected: bool) -> None:
    assert KEPT.is_usable("mark", now) is expected


def test_a_claim_without_an_answer_is_no_observation() -> None:
    claimed = StoredObservation("mark", Observation(None, ""), at=0, until=0)
    assert not claimed.is_fresh("mark", 0)
    assert not claimed.is_usable("mark", 0)


@pytest.mark.parametrize(("now", "expected"), [(1000, True), (1999, True), (2000, False), (500, False)])
def test_what_was_pushed_expires(now: int, expected: bool) -> None:
    assert PushedValue(True, 1000, 2000).counts(now) is expected
