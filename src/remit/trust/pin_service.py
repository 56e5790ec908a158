"""The pin service: definitions that are not the accepted ones, and what the user does about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from remit.decision.definitions.definition_changes import REJECTED

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock
    from remit.trust.held_definitions import HeldDefinition


class PinService:
    """Lists changed definitions, and accepts and rejects them."""

    def __init__(self, store: SqlStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def changed(self, context: Context) -> list[HeldDefinition]:
        """List the definitions of a client's tools that are not the accepted ones, held or not."""
        return [item for item in self._all(context) if item.change is not None]

    def news(self, context: Context) -> list[HeldDefinition]:
        """List what no session has reported yet, including definitions accepted with a changed entry."""
        return [item for item in self._all(context) if item.is_news]

    def accept(self, items: Iterable[HeldDefinition], context: Context) -> None:
        """Accept definitions, as shown when they were listed."""
        self._store.servers.pins.accept(items, context.workspace, self._clock())

    def reject(self, items: Iterable[HeldDefinition], context: Context) -> None:
        """Reject definitions: their tools stay hidden until they change again."""
        self._store.servers.pins.reject(items, context.workspace, REJECTED)

    def mark_reported(self, context: Context) -> None:
        """Record that a session reported the news."""
        self._store.servers.pins.mark_reported(context.workspace)

    def _all(self, context: Context) -> list[HeldDefinition]:
        found = self._store.servers.pins.changed(context.workspace)
        return [item for item in found if context.client in (None, item.key[0])]
