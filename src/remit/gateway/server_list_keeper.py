"""Reads, judges and stores the lists of servers.

A long list takes seconds to read and to judge. Both happen in threads of their own, so that the lists and
calls of other servers do not wait: the registry's worker only reads and writes the store.
"""

import time
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
from remit.store.prepared_server_list import PreparedServerList
from remit.upstream.ports import ServerLists
from remit.upstream.upstream_model import Offer, Upstream

OfferReader = Callable[[ServerLists, Upstream], Offer]

MOST_AT_ONCE = 16  # servers
_MOST_JUDGED = 2  # lists at once: threads share the processor, so more would all end late
Made = TypeVar("Made")


class ServerListKeeper:
    """Reads, judges and stores lists, in threads of their own."""

    def __init__(self, worker: RegistryWorker[Inventory], read: OfferReader) -> None:
        self._worker = worker
        self._read = read
        self._threads = anyio.CapacityLimiter(MOST_AT_ONCE)
        self._judges = anyio.CapacityLimiter(_MOST_JUDGED)
        self._seconds: dict[Key, float] = {}  # of the processor, since they were last taken

    async def read(self, lists: ServerLists, upstream: Upstream) -> Offer:
        """Read the lists of a server."""
        return await self._apart(upstream.key, partial(self._read, lists, upstream))

    async def keep(self, offer: Offer, key: Key, catalog: EndpointCatalog) -> None:
        """Judge and store the offer of a server.

        Raises:
            RemitError: the store cannot be used.
        """
        listing = await self._apart(key, partial(PreparedServerList, catalog.declarations[key], offer))
        await self._worker.run(_compare, listing, catalog.context)
        await self._apart(key, listing.judge, self._judges)
        await self._worker.run(_keep_judged, listing, catalog.context)

    def take_seconds(self, key: Key) -> float:
        """Return how long the lists of a server kept the processor busy since the last time."""
        return self._seconds.pop(key, 0.0)

    async def _apart(
        self, key: Key, work: Callable[[], Made], limiter: anyio.CapacityLimiter | None = None
    ) -> Made:
        made, seconds = await to_thread.run_sync(
            _timed, work, limiter=limiter or self._threads, abandon_on_cancel=True
        )
        self._seconds[key] = self._seconds.get(key, 0.0) + seconds
        return made


def _timed(work: Callable[[], Made]) -> tuple[Made, float]:
    start = time.thread_time()
    made = work()
    return made, time.thread_time() - start


def _compare(inventory: Inventory, listing: PreparedServerList, context: Context) -> None:
    inventory.registry.catalog.compare(listing, context)


def _keep_judged(inventory: Inventory, listing: PreparedServerList, context: Context) -> None:
    inventory.registry.catalog.keep_judged(listing, context)
