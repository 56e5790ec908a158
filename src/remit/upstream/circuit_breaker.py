"""Decides when to retry a failed server: at once, then with growing delays, then after a rest.

The caller supplies the time, so no clock is involved.
"""

from dataclasses import dataclass

FIRST_WAIT = 1.0  # seconds, after the second failure in a row
LONGEST_WAIT = 8.0
REST = 30.0  # seconds, after too many failures
MAX_FAILURES = 5  # in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    """The failures of a server since it last answered."""

    failures: int = 0
    resting_until: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether it failed too often, so retries are rare."""
        return self.failures >= MAX_FAILURES

    def wait(self, now: float) -> float:
        """Return the seconds until the next try; 0 if it is allowed now."""
        return max(0.0, self.resting_until - now)

    def failed(self, now: float) -> "CircuitBreaker":
        """Record a failure."""
        failures = self.failures + 1
        return CircuitBreaker(failures=failures, resting_until=now + _pause(failures))

    def succeeded(self) -> "CircuitBreaker":
        """Record an answer, and forget all failures."""
        return self if not self.failures else CircuitBreaker()


def _pause(failures: int) -> float:
    if failures >= MAX_FAILURES:
        return REST
    if failures == 1:  # it may have been restarted by an update
        return 0.0
    return min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 2))
