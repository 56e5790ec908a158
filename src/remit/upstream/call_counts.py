"""How often a server was asked, how often in vain, and how long it took."""

from collections import deque
from statistics import quantiles

_KEPT = 512  # of the latest


class Tally:
    """The figures of one server."""

    def __init__(self) -> None:
        self.calls = 0
        self.errors = 0
        self._seconds: deque[float] = deque(maxlen=_KEPT)

    def count(self, seconds: float, *, is_error: bool) -> None:
        """Take note of a call."""
        self.calls += 1
        self.errors += is_error
        self._seconds.append(seconds)

    def milliseconds(self) -> tuple[float | None, float | None]:
        """Say how long half of the latest calls took at most, and 95 of a hundred."""
        if not self._seconds:
            return None, None
        if len(self._seconds) == 1:
            only = self._seconds[0] * 1000
            return only, only
        cuts = quantiles(self._seconds, n=20, method="inclusive")
        return cuts[9] * 1000, cuts[18] * 1000
