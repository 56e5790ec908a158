"""Reads everything that a diagnosis needs about the clients of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.catalog.listing import Listings
from remit.decision.context import Context
from remit.doctor.findings import ClientSetup
from remit.memory.memory_server import is_own
from remit.scanning.scanner import Scanner

if TYPE_CHECKING:
    from remit.text.times import Clock


class SetupReader:
    """Reads the clients' files again, with the facts of the machine about each launch."""

    def __init__(self, scanner: Scanner, listings: Listings, clock: Clock) -> None:
        self._scanner = scanner
        self._listings = listings
        self._clock = clock

    def read(self, context: Context) -> list[ClientSetup]:
        """Return the setup of each client of a context."""
        found = self._scanner.readings(context)
        judged, listed = self._listings.list(context)
        tools = [item.tool for item in listed]
        return [
            ClientSetup(
                context=context,
                resolved=[item for item in resolved if not is_own(item.declaration)],
                problems=reading.problems,
                rules=reading.rules,
                own_rules=reading.own_rules,
                executed=reading.executed,
                ignored=reading.ignored,
                line_of=self._scanner.line_of,
                tools=[tool for tool in tools if tool.client == client],
                facts=self._scanner.facts(resolved, context),
                at=self._clock(),
                changes=judged.policy.changes,
            )
            for client, (reading, resolved) in found.items()
        ]
