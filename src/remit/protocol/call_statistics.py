"""Call statistics, and a rate limit."""

from collections import deque
from statistics import quantiles

MAX_TIMES = 512  # recent calls whose durations count


class CallStatistics:
    """Counts calls and errors, and remembers how long the latest calls took."""

    def __init__(self) -> None:
        self.calls = 0
        self.errors = 0
        self._seconds: deque[float] = deque(maxlen=MAX_TIMES)

    def count(self, seconds: float, *, failed: bool) -> None:
        """Count one call."""
        self.calls += 1
        self.errors += failed
        self._seconds.append(seconds)

    def percentiles(self) -> tuple[float | None, float | None]:
        """Compute the 50th and the 95th percentile of the latest calls, in milliseconds."""
        if not self._seconds:
            return None, None
        if len(self._seconds) == 1:
            only = round(1000 * self._seconds[0], 2)
            return only, only
        cuts = quantiles(self._seconds, n=20, method="inclusive")
        return round(1000 * cuts[9], 2), round(1000 * cuts[18], 2)


class TokenBucket:
    """Allows a burst, then a steady rate; the caller supplies the time."""

    def __init__(self, burst: float, per_second: float, *, now: float = 0.0) -> None:
        self._burst = burst
        self._per_second = per_second
        self._tokens = float(burst)
        self._counted_at = now

    def take(self, now: float) -> float:
        """Take one token, and return the seconds to wait: 0 within the limit."""
        gained = (now - self._counted_at) * self._per_second
        self._tokens = min(self._burst, self._tokens + gained) - 1
        self._counted_at = now
        return max(0.0, -self._tokens / self._per_second)

    def try_take(self, now: float) -> float:
        """Take one token if there is one, and return 0; otherwise the seconds until there is one."""
        gained = max(0.0, now - self._counted_at) * self._per_second
        self._tokens = min(self._burst, self._tokens + gained)
        self._counted_at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self._per_second
        self._tokens -= 1
        return 0.0

    def spend(self, tokens: float, *, debt: float) -> None:
        """Take more tokens for what was just done, as long as no more than `debt` are owed."""
        self._tokens = min(self._tokens, max(self._tokens - tokens, -debt))
