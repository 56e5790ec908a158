"""Reads, judges and stores the lists of servers.

A long list takes seconds to read and to judge. Both happen in threads of their own, so that the lists and
calls of other servers do not wait: the registry's worker only reads and writes the store.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread

from remit.decision.context import Context
from remit.decision.declarations import Key
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.inventory import Inventory
from remit.gateway.registry_worker import RegistryWorker
from remit.store.prepared_listing import PreparedListing
from remit.upstream.ports import ServerLists
from remit.upstream.upstream_model import Offer, Upstream

OfferReader = Callable[[ServerLists, Upstream], Offer]

MOST_AT_ONCE = 16  # servers
_MOST_JUDGED = 2  # lists at once: threads share the processor, so more would all end late
Made = TypeVar("Made")


class ListingKeeper:
    """Reads, judges and stores lists, in threads of their own."""

    def __init__(self, worker: RegistryWorker[Inventory], read: OfferReader) -> None:
        self._worker = worker
        self._read = read
        self._threads = anyio.CapacityLimiter(MOST_AT_ONCE)
        self._judges = anyio.CapacityLimiter(_MOST_JUDGED)

    async def read(self, lists: ServerLists, upstream: Upstream) -> Offer:
        """Read the lists of a server."""
        return await self._apart(partial(self._read, lists, upstream))

    async def keep(self, offer: Offer, key: Key, catalog: EndpointCatalog) -> None:
        """Judge and store the offer of a server.

        Raises:
            RemitError: the store cannot be used.
        """
        listing = await self._apart(partial(PreparedListing, catalog.declarations[key], offer))
        await self._worker.run(_compare, listing, catalog.context)
        await to_thread.run_sync(listing.judge, limiter=self._judges, abandon_on_cancel=True)
        await self._worker.run(_keep_judged, listing, catalog.context)

    async def _apart(self, work: Callable[[], Made]) -> Made:
        return await to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)


def _compare(inventory: Inventory, listing: PreparedListing, context: Context) -> None:
    inventory.registry.catalog.compare(listing, context)


def _keep_judged(inventory: Inventory, listing: PreparedListing, context: Context) -> None:
    inventory.registry.catalog.keep_judged(listing, context)
