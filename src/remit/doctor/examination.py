"""Examining: all that is known of a workspace's configuration, for a diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.catalog.listing import Listings
from remit.decision.context import Context
from remit.doctor.findings import Patient
from remit.memory.own_server import is_own
from remit.scanning.scanner import Scanner

if TYPE_CHECKING:
    from remit.store.ports import Clock


class Examining:
    """Reads everything again, with what the machine says of it."""

    def __init__(self, scanner: Scanner, listings: Listings, clock: Clock) -> None:
        self._scanner = scanner
        self._listings = listings
        self._clock = clock

    def examine(self, context: Context) -> list[Patient]:
        """Make a patient for each client of a context."""
        found = self._scanner.readings(context)
        tools = [item.tool for item in self._listings.list(context)[1]]
        return [
            Patient(
                context=context,
                resolved=[item for item in resolved if not is_own(item.declaration)],
                problems=reading.problems,
                rules=reading.rules,
                own_rules=reading.own_rules,
                tools=[tool for tool in tools if tool.client == client],
                facts=self._scanner.facts(resolved, context),
                at=self._clock(),
            )
            for client, (reading, resolved) in found.items()
        ]
