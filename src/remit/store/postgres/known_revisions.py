"""The revisions as one connection knows them: what the listener read, or asked for after writing."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from remit.errors import StoreUnavailableError
from remit.store.postgres.revision_listener import RevisionListener

Ask = Callable[[], Iterable[tuple[Any, ...]]]  # part, number, and what this connection added to it


class KnownRevisions:
    """The numbers of the store's parts, asked for only if nothing knows them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._asked: dict[str, int] = {}  # after the last change by this connection
        self._own: int | None = None  # what this connection added to them; None: not asked yet
        self.listener: RevisionListener | None = None
        self.has_written = False  # since they were asked for

    def forget(self) -> None:
        """Forget what was asked: after a new connection, it may be a restored database."""
        self._asked, self._own = {}, None

    def must_ask(self) -> bool:
        """Return whether only the database knows them."""
        known = self.listener
        if known is None or known.numbers is None:
            return True
        return self.has_written if known.is_live else not known.is_down

    def by_part(self) -> Mapping[str, int]:
        """Return them: those that the listener knows, unless this connection has written since."""
        known = None if self.listener is None else self.listener.numbers
        if known is None:
            return self._read()
        if self.must_ask():
            try:
                self._asked = self._read()
                self.has_written = False
            except StoreUnavailableError:  # the listener is about to notice
                pass
        asked = self._asked
        return {part: max(known.get(part, 0), asked.get(part, 0)) for part in {*known, *asked}}

    def of_others(self) -> int:
        """Return a number that changes when another connection writes."""
        numbers = self.by_part()
        if self._own is None:
            self._asked = self._read()
            numbers = self.by_part()
        return sum(numbers.values()) - (self._own or 0)

    def _read(self) -> dict[str, int]:
        found = [*self._ask()]
        self._own = sum(own for _, _, own in found)
        return {part: number for part, number, _ in found}
