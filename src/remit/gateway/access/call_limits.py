"""Limits the calls of each principal: per minute, and at the same time."""

import math
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple

from remit.configuration.config_model import CallLimits
from remit.protocol.call_statistics import TokenBucket

_MOST_KNOWN = 4096  # principals whose calls are counted


class OverLimit(NamedTuple):
    """Why a call is not made now."""

    reason: str
    seconds: int | None = None  # after which it may be; None: when another call has ended

    @property
    def next_step(self) -> str:
        """When to call again."""
        if self.seconds is None:
            return "wait until another call has ended, then call again"
        return f"call again in {self.seconds} s"


class CallLimiter:
    """Counts the calls of one principal."""

    def __init__(self, limits: CallLimits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.in_flight = 0
        self._clock = clock
        rate = limits.calls_per_minute
        self._bucket = None if rate is None else TokenBucket(rate, rate / 60, now=clock())

    @contextmanager
    def call(self) -> Generator[OverLimit | None]:
        """Count a call while the block runs; return why it must not be made, if so."""
        over = self._over()
        if over is not None:
            yield over
            return
        self.in_flight += 1
        try:
            yield None
        finally:
            self.in_flight -= 1

    def _over(self) -> OverLimit | None:
        most = self.limits.concurrent_calls
        if most is not None and self.in_flight >= most:
            return OverLimit(f"{most} calls are in progress, which is your maximum")
        wait = 0.0 if self._bucket is None else self._bucket.try_take(self._clock())
        if wait:
            return OverLimit(
                f"you can make {self.limits.calls_per_minute} calls per minute", max(1, math.ceil(wait))
            )
        return None


class CallLimiters:
    """The limiters of all principals."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: OrderedDict[str, CallLimiter] = OrderedDict()

    def of(self, principal: str, limits: CallLimits) -> CallLimiter:
        """Return the limiter of a principal; one with other limits starts anew."""
        found = self._known.get(principal)
        if found is None or found.limits != limits:
            found = self._known[principal] = CallLimiter(limits, self._clock)
            self._forget()
        self._known.move_to_end(principal)
        return found

    def _forget(self) -> None:
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
