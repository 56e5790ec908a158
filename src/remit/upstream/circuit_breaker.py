"""When a server that failed may be tried again: at once the first time, then ever later, then after a rest.

Kept apart from clocks and processes: what time it is comes with each question.
"""

from dataclasses import dataclass

FIRST_WAIT = 1.0  # seconds, after the second failure in a row
LONGEST_WAIT = 8.0
REST = 30.0  # seconds that a server is left alone when it has failed too often
TOO_OFTEN = 5  # failures in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    """How often a server failed since it last answered, and until when it is not tried again."""

    failures: int = 0
    resting_until: float = 0.0

    @property
    def is_broken(self) -> bool:
        """Whether it failed so often that it is only tried now and then."""
        return self.failures >= TOO_OFTEN

    def wait(self, now: float) -> float:
        """Say how many seconds it is still left alone; 0 where it may be tried."""
        return max(0.0, self.resting_until - now)

    def failed(self, now: float) -> "CircuitBreaker":
        """Take note of a failure."""
        failures = self.failures + 1
        return CircuitBreaker(failures=failures, resting_until=now + _pause(failures))

    def answered(self) -> "CircuitBreaker":
        """Take note of an answer: whatever was before is forgotten."""
        return self if not self.failures else CircuitBreaker()


def _pause(failures: int) -> float:
    if failures >= TOO_OFTEN:
        return REST
    if failures == 1:  # it may just have been replaced by a newer version of itself
        return 0.0
    return min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 2))
