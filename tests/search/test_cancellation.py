"""Cancelling work that another thread does."""

from remit.search.cancellation import Cancellation


def test_cancelling_interrupts_what_the_work_waits_for() -> None:
    cancellation, interrupted = Cancellation(), list[str]()
    with cancellation.interrupting(lambda: interrupted.append("request")):
        assert not cancellation.is_set
        cancellation.cancel()
    assert (cancellation.is_set, interrupted) == (True, ["request"])


def test_work_that_starts_after_it_was_cancelled_is_interrupted_at_once() -> None:
    cancellation, interrupted = Cancellation(), list[str]()
    cancellation.cancel()
    with cancellation.interrupting(lambda: interrupted.append("request")):
        assert interrupted == ["request"]


def test_work_that_is_done_is_not_interrupted() -> None:
    cancellation, interrupted = Cancellation(), list[str]()
    with cancellation.interrupting(lambda: interrupted.append("request")):
        pass
    cancellation.cancel()
    assert interrupted == []
