"""The current lists of an endpoint, refreshed on demand."""

from remit.gateway.inventory import Inventory
from remit.gateway.inventory_refresh import InventoryRefresher
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.upstream.upstream_pool import UpstreamPool


class CurrentLists:
    """Holds the last published lists and replaces them when something changes."""

    def __init__(
        self,
        worker: RegistryWorker[Inventory],
        pool: UpstreamPool,
        refresher: InventoryRefresher,
        lists: PublishedLists,
    ) -> None:
        self._worker = worker
        self._pool = pool
        self._refresher = refresher
        self.last = lists
        self._sent: PublishedLists | None = None
        refresher.consider(lists)

    async def send(self) -> PublishedLists:
        """Return the current lists for a client, whose names stay as they are from then on.

        Raises:
            RemitError: the store or the configuration cannot be used.
        """
        lists = await self.refresh()
        if lists is not self._sent:
            self._sent = lists
            await self._worker.run(Inventory.note_sent, lists)
        return lists

    async def refresh(self) -> PublishedLists:
        """Return the current lists, and drop servers whose entry changed.

        Raises:
            RemitError: the store or the configuration cannot be used.
        """
        lists = self._worker.run_now(Inventory.quick_lists) or await self._worker.run(Inventory.lists)
        if lists is not self.last:
            before, now = self.last.catalog.upstreams, lists.catalog.upstreams
            gone = frozenset(key for key, upstream in before.items() if now.get(key) != upstream)
            self.last = lists
            self._refresher.consider(lists)
            if gone:
                await self._pool.drop(gone)
        return lists
