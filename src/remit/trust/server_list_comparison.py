"""Compares what a server lists with what was accepted, and says what has to be judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.declared_launch import DIGEST_VERSION
from remit.decision.definitions.definition_changes import ChangeVerdict

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.tools import Definition

FindDefinition = Callable[[int], "Definition | None"]


class ListedDefinition(NamedTuple):
    """A definition that a server lists now: of a tool, or its instructions."""

    definition: Definition
    id: int | None  # None: not stored yet
    pin: str


class Pin(NamedTuple):
    """What is stored about a tool, or about a server's instructions."""

    accepted_id: int | None
    entry: str | None
    verdict: str | None
    accepted: str | None  # pin
    changed: str | None  # pin
    changed_id: int | None


class Sight(Enum):
    """How a definition differs from what was accepted."""

    FIRST = auto()  # its server is new, or the user changed the server's entry
    ADDED = auto()  # by a server whose other tools were accepted
    CHANGED = auto()
    SAME_PIN = auto()  # in a date or a line break


class Sighting(NamedTuple):
    """A listed definition that has to be judged."""

    sight: Sight
    current: Definition
    accepted: Definition | None = None  # of the last two sights


class Known(Enum):
    """What is known about a definition that needs no judgement."""

    ACCEPTED = auto()
    HELD = auto()


class ServerListComparison(NamedTuple):
    """The pins of a server by the names of its tools, for the list of one declaration."""

    pins: Mapping[str, Pin]
    declaration: Declaration
    find: FindDefinition  # reads an accepted definition

    def sightings(self, listed: Iterable[ListedDefinition]) -> Iterator[Sighting]:
        """List what has to be judged before a list is stored."""
        for item in self.unsettled(listed):
            seen = self.sight(item)
            if isinstance(seen, Sighting):
                yield seen

    def unsettled(self, listed: Iterable[ListedDefinition]) -> list[ListedDefinition]:
        """List the definitions that are not as accepted, or that have another entry now."""
        return [item for item in listed if not self.is_settled(item.definition.name, item.id)]

    def sight(self, item: ListedDefinition) -> Sighting | Known:
        """Tell how a definition differs from what was accepted."""
        pin = self.pins.get(item.definition.name)
        if pin is None:
            is_added = item.definition.name != self.declaration.name and self._knows_tools()
            return Sighting(Sight.ADDED if is_added else Sight.FIRST, item.definition)
        if not self._is_same_entry(pin) and pin.accepted != item.pin and not _is_rejected(item, pin):
            return Sighting(Sight.FIRST, item.definition)
        if item.id is not None and item.id == pin.accepted_id:
            return Known.ACCEPTED
        if (item.id is not None and item.id == pin.changed_id) or pin.accepted != item.pin == pin.changed:
            return Known.HELD
        accepted = None if pin.accepted_id is None else self.find(pin.accepted_id)
        if accepted is None:  # held since it was first seen
            return Sighting(Sight.ADDED, item.definition)
        sight = Sight.SAME_PIN if pin.accepted == item.pin else Sight.CHANGED
        return Sighting(sight, item.definition, accepted)

    def is_settled(self, name: str, id: int | None) -> bool:
        """Return whether a definition is as accepted, by its name and its id in the store."""
        pin = self.pins.get(name)
        if pin is None or pin.verdict is not None or id is None:
            return False
        return pin.accepted_id == id and pin.entry == self.declaration.digest

    def _knows_tools(self) -> bool:
        """Return whether tools were listed under this entry before."""
        own = self.declaration.name
        return any(self._is_same_entry(pin) for name, pin in self.pins.items() if name != own)

    def _is_same_entry(self, pin: Pin) -> bool:
        """Return whether the user did not change an entry; another form of digest says nothing about that."""
        now, entry = self.declaration.digest or "", pin.entry or ""
        return pin.entry == now or entry.startswith(DIGEST_VERSION) is not now.startswith(DIGEST_VERSION)


def _is_rejected(item: ListedDefinition, pin: Pin) -> bool:
    """Return whether a person rejected exactly this definition."""
    return pin.verdict == ChangeVerdict.REJECTED and pin.changed == item.pin
