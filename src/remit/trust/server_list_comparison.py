"""Compares what a server lists with what was accepted, and says what has to be judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.definitions.definition_changes import ChangeVerdict
from remit.decision.scopes import Scope

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.tools import Definition

# Verdicts that hold a definition under every policy, so that what its pin leaves out makes no difference.
_HOLDING = (ChangeVerdict.REJECTED, ChangeVerdict.FLAGGED, ChangeVerdict.UNINSPECTED)

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


class ServerPins(NamedTuple):
    """What is stored about the definitions of a server."""

    by_name: Mapping[str, Pin] = MappingProxyType({})  # of its tools; its instructions have its own name
    listed_entry: str | None = None  # digest of the entry under which it was last listed; None: never
    is_late: bool = False  # its plugin listed tools before it had this server


class Sight(Enum):
    """How a definition differs from what was accepted."""

    FIRST = auto()  # its server is new, or the user changed the server's entry
    ADDED = auto()  # by a server that was listed before
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
    """The pins of a server, for the list of one declaration."""

    pins: ServerPins
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
        pin = self.pins.by_name.get(item.definition.name)
        if pin is None:
            is_silent = item.definition.name == self.declaration.name and not item.definition.description
            is_added = not is_silent and self._was_listed()
            return Sighting(Sight.ADDED if is_added else Sight.FIRST, item.definition)
        if not self._is_same_entry(pin.entry) and pin.accepted != item.pin and not _is_rejected(item, pin):
            return Sighting(Sight.FIRST, item.definition)
        if item.id is not None and item.id == pin.accepted_id:
            return Known.ACCEPTED
        is_same = item.id is not None and item.id == pin.changed_id
        if is_same or (pin.accepted != item.pin == pin.changed and pin.verdict in _HOLDING):
            return Known.HELD
        accepted = None if pin.accepted_id is None else self.find(pin.accepted_id)
        if accepted is None:  # held since it was first seen
            return Sighting(Sight.ADDED, item.definition)
        sight = Sight.SAME_PIN if pin.accepted == item.pin else Sight.CHANGED
        return Sighting(sight, item.definition, accepted)

    def is_settled(self, name: str, id: int | None) -> bool:
        """Return whether a definition is as accepted, by its name and its id in the store."""
        pin = self.pins.by_name.get(name)
        if pin is None or pin.verdict is not None or id is None:
            return False
        return pin.accepted_id == id and pin.entry == self.declaration.digest

    def _was_listed(self) -> bool:
        """Return whether the server was listed under this entry before, even if it had no tools then.

        Another server in an update of a plugin counts as listed: its author could rename the first one.
        """
        listed = self.pins.listed_entry
        return self.pins.is_late or (listed is not None and self._is_same_entry(listed))

    def _is_same_entry(self, entry: str | None) -> bool:
        """Return whether the user did not change an entry.

        The entry of a plugin's server is its author's, who can change it with every update.
        """
        now = self.declaration.digest
        return self.declaration.scope is Scope.PLUGIN or None in (entry, now) or entry == now


def _is_rejected(item: ListedDefinition, pin: Pin) -> bool:
    """Return whether a person rejected exactly this definition."""
    return pin.verdict == ChangeVerdict.REJECTED and pin.changed == item.pin
