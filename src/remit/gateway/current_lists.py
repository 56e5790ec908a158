"""The current lists of an endpoint: refreshed on demand, with its servers kept in step."""

from remit.gateway.inventory import Inventory
from remit.gateway.inventory_refresh import InventoryRefresher
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.upstream.ports import UpstreamPool


class CurrentLists:
    """Holds the lists that were published last, and replaces them when something changed."""

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
        self._lists = lists
        refresher.consider(lists)

    @property
    def last(self) -> PublishedLists:
        """The lists as they were published last."""
        return self._lists

    async def refresh(self) -> PublishedLists:
        """Give the lists as they are now.

        Raises:
            RemitError: the store or the configuration cannot be used.
        """
        lists = self._worker.run_now(Inventory.quick_lists) or await self._worker.run(Inventory.lists)
        if lists is not self._lists:
            before, now = self._lists.catalog.upstreams, lists.catalog.upstreams
            gone = frozenset(key for key, upstream in before.items() if now.get(key) != upstream)
            self._lists = lists
            self._refresher.consider(lists)
            if gone:
                await self._pool.drop(gone)
        return lists
