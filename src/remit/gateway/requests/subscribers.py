"""Notifies clients of changes, in sessions and on change streams.

A change only announces that there is something new to fetch. So each change is pending at most once per
subscriber, and a client that does not read does not delay the others.
"""

import logging
from collections.abc import Awaitable, Callable

from anyio.abc import TaskGroup

from remit.gateway.ports import EndpointChange, ListKind
from remit.protocol.broadcast import CoalescingQueue

MAX_PENDING_CHANGES = 1024

_logger = logging.getLogger(__name__)

Send = Callable[[EndpointChange], Awaitable[None]]


class Subscriber:
    """A client that receives changes."""

    def __init__(
        self, tasks: TaskGroup, send: Send, *, parts: frozenset[ListKind] = frozenset(ListKind)
    ) -> None:
        self._tasks = tasks
        self._send = send
        self._parts = parts
        self._pending = CoalescingQueue[EndpointChange](limit=MAX_PENDING_CHANGES)
        self._is_sending = True  # until `start`
        self.uris: set[str] = set()  # subscribed resources

    def start(self) -> None:
        """Start sending, beginning with pending changes."""
        self._is_sending = False
        if self._pending:
            self._start_sending()

    def wants(self, change: EndpointChange) -> bool:
        """Check whether the client subscribed to this change."""
        return change.part in self._parts if change.uri is None else change.uri in self.uris

    def notify(self, change: EndpointChange) -> None:
        """Queue a change for sending."""
        self._pending.put(change)
        if not self._is_sending:
            self._start_sending()

    def _start_sending(self) -> None:
        self._is_sending = True
        self._tasks.start_soon(self._send_pending)

    async def _send_pending(self) -> None:
        try:
            while self._pending:
                await self._send(self._pending.pop())
        except Exception:  # a failed client must not affect the others
            _logger.exception("a change could not be announced")
        finally:
            self._is_sending = False


class Subscribers:
    """All subscribers of one endpoint."""

    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()

    def __len__(self) -> int:
        return len(self._subscribers)

    def add(self, subscriber: Subscriber) -> None:
        """Add a subscriber."""
        self._subscribers.add(subscriber)

    def remove(self, subscriber: Subscriber) -> set[str]:
        """Remove a subscriber and return the resources that no other subscriber watches."""
        self._subscribers.discard(subscriber)
        orphaned = {uri for uri in subscriber.uris if not self.include(uri)}
        subscriber.uris.clear()
        return orphaned

    def include(self, uri: str) -> bool:
        """Check whether any subscriber subscribed to a resource."""
        return any(uri in subscriber.uris for subscriber in self._subscribers)

    def notify(self, change: EndpointChange) -> None:
        """Notify all subscribers that want this change."""
        for subscriber in list(self._subscribers):
            if subscriber.wants(change):
                subscriber.notify(change)


def notification(change: EndpointChange) -> tuple[str, dict[str, object]]:
    """Return the method and parameters of the notification for a change."""
    if change.uri is not None:
        return "notifications/resources/updated", {"uri": change.uri}
    return f"notifications/{change.part}/list_changed", {}
