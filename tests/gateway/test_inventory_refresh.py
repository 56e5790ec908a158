"""How often servers are asked what they offer."""

from itertools import pairwise

from remit.gateway.inventory_refresh import RequestPace


def test_a_server_that_says_now_and_then_that_it_changed_is_asked_at_once() -> None:
    pace = RequestPace()
    assert [pace.wait(100.0 + 10 * turn) for turn in range(50)] == [0.0] * 50


def test_a_server_that_never_stops_saying_that_it_changed_is_asked_ever_later() -> None:
    pace, now = RequestPace(), 100.0
    asked: list[float] = []
    for _ in range(60):
        now += pace.wait(now)
        asked.append(now)
    assert asked[:20] == [100.0] * 20
    assert all(later - before >= 1.9 for before, later in pairwise(asked[20:]))
