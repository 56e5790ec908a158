"""Glancing: looks without another thread, where nothing changed and nothing has to be read."""

from remit.gateway.inventory import Inventory, ResolvedCall
from remit.gateway.published_lists import PublishedLists
from remit.registry import Registry


class QuickReads:
    """Finds what most calls and lists need at once.

    It has a registry of its own, as it looks whoever works with the other; it only asks for a number.
    """

    def __init__(self, inventory: Inventory, registry: Registry) -> None:
        self._inventory = inventory
        self._registry = registry

    def at_target(self, name: str) -> ResolvedCall | None:
        """Find what a call means, if a glance is enough."""
        return self._inventory.glance_at_target(name, self._registry.supply.revision())

    def at_board(self) -> PublishedLists | None:
        """Find what is listed, if a glance is enough."""
        return self._inventory.glance_at_board(self._registry.supply.revision())

    def is_catalog_right(self) -> bool:
        """Tell whether nothing changed but perhaps the states."""
        return self._inventory.is_right(self._registry.supply.revision())

    def close(self) -> None:
        """Let go of the registry."""
        self._registry.close()
