"""Those who are told when something changes: sessions of older clients, and streams of 2026's listeners.

A change says only that there is something new to fetch. So nobody is told the same thing twice while the
first notice is still on its way, and a client that does not read holds up nobody else.
"""

import logging
from collections.abc import Awaitable, Callable

from anyio.abc import TaskGroup

from remit.gateway.ports import EndpointChange, ListKind

MOST_WAITING = 1024

_logger = logging.getLogger(__name__)

Send = Callable[[EndpointChange], Awaitable[None]]


class Subscriber:
    """One client that listens."""

    def __init__(
        self, tasks: TaskGroup, send: Send, *, parts: frozenset[ListKind] = frozenset(ListKind)
    ) -> None:
        self._tasks = tasks
        self._send = send
        self._parts = parts
        self._waiting: dict[EndpointChange, None] = {}
        self._is_sending = True  # until it is ready
        self.uris: set[str] = set()  # the resources that it subscribed to

    def is_ready(self) -> None:
        """Start telling it, what it missed first."""
        self._is_sending = False
        if self._waiting:
            self._start()

    def wants(self, change: EndpointChange) -> bool:
        """Whether it asked to be told of this."""
        return change.part in self._parts if change.uri is None else change.uri in self.uris

    def tell(self, change: EndpointChange) -> None:
        """See to it that it is told, soon."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting[change] = None
        if not self._is_sending:
            self._start()

    def _start(self) -> None:
        self._is_sending = True
        self._tasks.start_soon(self._deliver)

    async def _deliver(self) -> None:
        try:
            while self._waiting:
                change = next(iter(self._waiting))
                del self._waiting[change]
                await self._send(change)
        except Exception:  # whatever is the matter with one, the others are told
            _logger.exception("a change could not be told")
        finally:
            self._is_sending = False


class Subscribers:
    """All who listen at one endpoint."""

    def __init__(self) -> None:
        self._listeners: set[Subscriber] = set()

    def __len__(self) -> int:
        return len(self._listeners)

    def join(self, listener: Subscriber) -> None:
        """Tell someone from now on."""
        self._listeners.add(listener)

    def leave(self, listener: Subscriber) -> set[str]:
        """Tell someone no more; names the resources that nobody else subscribed to."""
        self._listeners.discard(listener)
        alone = {uri for uri in listener.uris if not self.holds(uri)}
        listener.uris.clear()
        return alone

    def holds(self, uri: str) -> bool:
        """Whether anybody subscribed to a resource."""
        return any(uri in listener.uris for listener in self._listeners)

    def tell(self, change: EndpointChange) -> None:
        """Tell everybody who wants to know."""
        for listener in list(self._listeners):
            if listener.wants(change):
                listener.tell(change)


def notification(change: EndpointChange) -> tuple[str, dict[str, object]]:
    """Spell a change as the protocol does."""
    if change.uri is not None:
        return "notifications/resources/updated", {"uri": change.uri}
    return f"notifications/{change.part}/list_changed", {}
