"""Stocking: asks servers what they offer, those that are not known yet and those that say it changed."""

import logging
from collections.abc import Callable

import anyio
import anyio.abc

from remit.decision.declarations import Key
from remit.errors import RemitError, UpstreamError
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.inventory import Inventory
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.protocol.traffic import TokenBucket
from remit.upstream.ports import ServerLists, UpstreamPool
from remit.upstream.upstream_model import Failure, Offer, Upstream

OfferReader = Callable[[ServerLists, Upstream], Offer]

PARTS = frozenset({"tools", "resources", "templates", "prompts"})
FIRST_LIST = 5.0  # seconds for which a first list waits
_MOST_AT_ONCE = 16
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0  # seconds until a server that failed is asked again
_BURST, _PER_SECOND = 20.0, 0.5  # requests to a server that keeps announcing changes
_log = logging.getLogger("remit.gateway")


class InventoryRefresher:
    """Keeps what servers offer up to date; each is asked once at a time."""

    def __init__(
        self,
        clerk: RegistryWorker[Inventory],
        links: UpstreamPool,
        read: OfferReader,
        group: anyio.abc.TaskGroup,
        on_kept: Callable[[], None],
    ) -> None:
        self._clerk = clerk
        self._links = links
        self._read = read
        self._group = group
        self._on_kept = on_kept
        self._places = anyio.CapacityLimiter(_MOST_AT_ONCE)
        self._tried: set[tuple[Key, str | None]] = set()  # with the digest of the entry
        self._followed_up: set[Key] = set()
        self._asking: dict[Key, bool] = {}  # and whether it is to be asked again
        self._askable: frozenset[Key] = frozenset()
        self._resting: set[Key] = set()  # those that failed, and are asked again after a pause
        self._pauses: dict[Key, float] = {}
        self._warned: dict[Key, str] = {}
        self._paces: dict[Key, TokenBucket] = {}
        self._unusable: dict[Key, set[tuple[str, str]]] = {}  # tools, and why
        self._has_idled = anyio.Event()
        self._has_idled.set()

    def consider(self, board: PublishedLists) -> None:
        """Have those servers asked that may be, and are not known as they stand in their file."""
        catalog = board.catalog
        self._askable = frozenset(board.servers())
        for key in board.servers():
            mark = (key, catalog.servers[key].digest)
            if key not in catalog.extras and mark not in self._tried:
                self._tried.add(mark)
                self.ask(key)

    def follow_up(self, key: Key) -> None:
        """Have a server that answers asked once what it offers: what is known of it may be from long ago."""
        if key not in self._followed_up:
            self._followed_up.add(key)
            self.ask(key)

    def ask(self, key: Key) -> None:
        """Have a server asked; where that is being done, once more after it."""
        self._followed_up.add(key)
        if key in self._asking:
            self._asking[key] = True
            return
        if self._has_idled.is_set():
            self._has_idled = anyio.Event()
        self._asking[key] = True
        self._group.start_soon(self._keep_asking, key)

    @property
    def is_idle(self) -> bool:
        """Whether nobody is being asked."""
        return not self._asking

    async def settled(self) -> None:
        """Wait until nobody is being asked."""
        while self._asking:
            await self._has_idled.wait()

    async def _keep_asking(self, key: Key) -> None:
        try:
            while self._asking[key]:
                pace = self._paces.setdefault(key, TokenBucket(_BURST, _PER_SECOND))
                await anyio.sleep(pace.take(anyio.current_time()))
                self._asking[key] = False
                async with self._places:
                    await self._ask(key)
        finally:
            del self._asking[key]
            if not self._asking:
                self._has_idled.set()

    async def _ask(self, key: Key) -> None:
        board = await self._clerk.do(Inventory.board)
        if key not in set(board.servers()):  # since it was to be asked, its entry may have become another
            return
        catalog, upstream = board.catalog, board.catalog.upstreams[key]
        try:
            offer = self._read(await self._links.list_all(upstream, parts=PARTS), upstream)
        except UpstreamError as error:
            self._warn(key, upstream, error)
            offer = Offer(failure=Failure(reason=str(error), hint=error.hint))
            self._group.start_soon(self._ask_again, key)
        else:
            self._pauses.pop(key, None)
            self._warned.pop(key, None)
            self._warn_of(offer, upstream)
        try:
            await self._clerk.do(_keep, catalog, key, offer)
        except RemitError as error:
            _log.warning("what %s offers cannot be kept: %s", upstream.label, error)
        self._on_kept()

    def _warn_of(self, offer: Offer, upstream: Upstream) -> None:
        """Name the tools that cannot be used, once: nothing else says why they are missing."""
        unusable = {(bad.tool, bad.reason) for bad in offer.quarantined}
        for tool, reason in sorted(unusable - self._unusable.get(upstream.key, set())):
            _log.warning("%s: the tool `%s` cannot be used: %s", upstream.label, tool, reason)
        self._unusable[upstream.key] = unusable

    def _warn(self, key: Key, upstream: Upstream, error: UpstreamError) -> None:
        """Say why a server does not answer; once, however often it is asked."""
        if self._warned.get(key) != str(error):
            self._warned[key] = str(error)
            _log.warning("%s does not say what it offers: %s", upstream.label, error)

    async def _ask_again(self, key: Key) -> None:
        """Ask a server that failed once more after a while: it may have been late, or away."""
        if key in self._resting:
            return
        pause = self._pauses.get(key, _FIRST_PAUSE)
        self._pauses[key] = min(2 * pause, _LONGEST_PAUSE)
        self._resting.add(key)
        await anyio.sleep(pause)
        self._resting.discard(key)
        if key in self._askable:
            self.ask(key)


def _keep(inventory: Inventory, catalog: EndpointCatalog, key: Key, offer: Offer) -> None:
    inventory.registry.supply.keep(catalog.declarations[key], offer, catalog.context)
