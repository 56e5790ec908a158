"""A bound on all that one server sends: who goes beyond it is left at once, with the reason."""

import anyio

MAX_RECEIVED = 64 * 2**20  # bytes of all messages; all the tools of a large server are about one megabyte


class Meter:
    """Counts what a server sends while it is asked."""

    def __init__(self) -> None:
        self.fault: str | None = None  # why it was given up
        self.scope: anyio.CancelScope | None = None  # in which it is asked
        self._received = 0

    def count(self, size: int) -> bool:
        """Count bytes that came; False when they are too many."""
        self._received += size
        if self._received > MAX_RECEIVED:
            self.give_up(f"sends more than {MAX_RECEIVED // 2**20} MB")
        return self.fault is None

    def give_up(self, fault: str) -> None:
        """End the asking, for a reason in our words."""
        self.fault = self.fault or fault
        if self.scope is not None:
            self.scope.cancel()
