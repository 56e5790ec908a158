import pytest

from remit.upstream.circuit_breaker import MAX_FAILURES, REST, CircuitBreaker


def after(failures: int, now: float = 100.0) -> CircuitBreaker:
    breaker = CircuitBreaker()
    for _ in range(failures):
        breaker = breaker.failed(now)
    return breaker


def test_a_server_that_never_failed_may_be_tried() -> None:
    assert CircuitBreaker().wait(0.0) == 0
    assert not CircuitBreaker().is_open


@pytest.mark.parametrize(("failures", "wait"), [(1, 0.0), (2, 1.0), (3, 2.0), (4, 4.0)])
def test_each_failure_in_a_row_makes_the_next_try_come_later(failures: int, wait: float) -> None:
    assert after(failures).wait(100.0) == wait
    assert not after(failures).is_open


def test_a_server_that_failed_too_often_is_broken_until_it_has_rested() -> None:
    breaker = after(MAX_FAILURES)
    assert breaker.is_open
    assert breaker.wait(100.0) == REST
    assert breaker.wait(100.0 + REST) == 0
    assert breaker.failed(200.0).wait(200.0) == REST


def test_an_answer_clears_earlier_failures() -> None:
    assert after(MAX_FAILURES).succeeded() == CircuitBreaker()
    healthy = CircuitBreaker()
    assert healthy.succeeded() is healthy
