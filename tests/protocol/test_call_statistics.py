"""The token bucket, as it limits how often a server that announces changes is listed again."""

from itertools import pairwise

from remit.protocol.call_statistics import TokenBucket


def test_occasional_events_never_wait() -> None:
    bucket = TokenBucket(20.0, 0.5)
    assert [bucket.take(100.0 + 10 * turn) for turn in range(50)] == [0.0] * 50


def test_incessant_events_wait_ever_longer_after_a_burst() -> None:
    bucket, now = TokenBucket(20.0, 0.5), 100.0
    taken: list[float] = []
    for _ in range(60):
        now += bucket.take(now)
        taken.append(now)
    assert taken[:20] == [100.0] * 20
    assert all(later - before >= 1.9 for before, later in pairwise(taken[20:]))


def test_work_costs_tokens_too_up_to_a_debt() -> None:
    bucket = TokenBucket(20.0, 0.5)
    assert bucket.take(100.0) == 0.0
    bucket.spend(4.0, debt=30.0)
    assert bucket.take(100.0) == 0.0
    bucket.spend(1_000.0, debt=30.0)
    assert bucket.take(100.0) == 62.0
    bucket.spend(1_000.0, debt=30.0)  # it owes more already
    assert bucket.take(100.0) == 64.0
