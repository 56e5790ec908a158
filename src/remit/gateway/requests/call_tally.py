"""Counts calls and how long they take."""

from collections import deque
from statistics import quantiles

LAST = 512  # calls whose times are kept


class Tally:
    """The calls of one endpoint."""

    def __init__(self) -> None:
        self.calls = 0
        self.errors = 0
        self._times: deque[float] = deque(maxlen=LAST)

    def count(self, seconds: float, *, failed: bool) -> None:
        """Count one call."""
        self.calls += 1
        self.errors += failed
        self._times.append(seconds)

    def percentiles(self) -> tuple[float | None, float | None]:
        """Say how many milliseconds half of the last calls took at most, and 95 of 100."""
        if not self._times:
            return None, None
        if len(self._times) == 1:
            only = round(1000 * self._times[0], 2)
            return only, only
        cuts = quantiles(self._times, n=20, method="inclusive")
        return round(1000 * cuts[9], 2), round(1000 * cuts[18], 2)
