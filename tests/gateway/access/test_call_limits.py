"""How many calls a principal may make."""

from remit.configuration.config_model import CallLimits
from remit.gateway.access.call_limits import CallLimiter, CallLimiters, OverLimit


class Clock:
    time = 100.0

    def __call__(self) -> float:
        return self.time


def made(limiter: CallLimiter) -> OverLimit | None:
    with limiter.call() as over:
        return over


def test_a_minute_allows_its_calls_at_once_and_then_one_after_another() -> None:
    clock = Clock()
    limiter = CallLimiter(CallLimits(calls_per_minute=3), clock)
    assert [made(limiter) for _ in range(3)] == [None] * 3
    assert made(limiter) == OverLimit("you can make 3 calls per minute", 20)
    clock.time += 12.5
    assert made(limiter) == OverLimit("you can make 3 calls per minute", 8)
    clock.time += 8
    assert made(limiter) is None


def test_refused_calls_do_not_push_the_next_one_back() -> None:
    clock = Clock()
    limiter = CallLimiter(CallLimits(calls_per_minute=60), clock)
    assert [made(limiter) for _ in range(200)].count(None) == 60
    clock.time += 1
    assert made(limiter) is None


def test_calls_at_the_same_time_are_counted_until_they_end() -> None:
    limiter = CallLimiter(CallLimits(concurrent_calls=2), Clock())
    with limiter.call() as first, limiter.call() as second:
        assert first is second is None
        over = made(limiter)
        assert over is not None
        assert over.next_step == "wait until another call has ended, then call again"
    assert made(limiter) is None
    assert limiter.in_flight == 0


def test_a_call_that_is_refused_for_others_in_progress_costs_nothing_of_the_minute() -> None:
    limiter = CallLimiter(CallLimits(calls_per_minute=2, concurrent_calls=1), Clock())
    with limiter.call():
        assert made(limiter) is not None
    assert made(limiter) is None


def test_each_principal_has_its_own_count_until_the_limits_change() -> None:
    limiters, limits = CallLimiters(Clock()), CallLimits(calls_per_minute=1)
    assert made(limiters.of("ada", limits)) is None
    assert made(limiters.of("ada", limits)) is not None
    assert made(limiters.of("eve", limits)) is None
    assert made(limiters.of("ada", CallLimits(calls_per_minute=2))) is None


def test_without_limits_nothing_is_refused() -> None:
    limiter = CallLimiters(Clock()).of("ada", CallLimits())
    assert [made(limiter) for _ in range(1000)].count(None) == 1000
