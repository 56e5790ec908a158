"""Refreshes the inventory from servers that are new or report changed lists."""

import logging
from dataclasses import replace

import anyio
import anyio.abc

from remit.decision.declarations import Key
from remit.decision.tool_names import REMIT
from remit.errors import (
    NotSignedInError,
    OwnedElsewhereError,
    RemitError,
    StoreUnavailableError,
    UpstreamError,
)
from remit.gateway.change_tracker import ChangeSignal
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.inventory import Inventory
from remit.gateway.memory_upstream import MemoryUpstream
from remit.gateway.published_lists import PublishedLists
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.requests.request_contexts import ClientlessRequestContext
from remit.gateway.server_list_keeper import MOST_AT_ONCE, ServerListKeeper
from remit.gateway.session_offers import SessionOffers
from remit.protocol.call_statistics import TokenBucket
from remit.upstream.ports import PARTS, RELAYED, TOOLS, RequestContext, ServerLists
from remit.upstream.upstream_model import Failure, Offer, Upstream
from remit.upstream.upstream_pool import UpstreamPool

FIRST_LIST = 1.5  # seconds that a first list waits for servers; clients give up after 5
NAMED = 10.0  # seconds that a request for something unknown waits for servers that are being asked
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0  # seconds before a failed server is asked again
_BURST, _PER_SECOND = 20.0, 0.5  # tokens of a server's bucket, and how fast it refills
_PER_WORK = 20.0  # tokens for a second of work, so a server that always announces long lists gets 2.5 %
_MOST_MET = 64  # principals whose credentials are tried to list a server
_log = logging.getLogger("remit.gateway")


class InventoryRefresher:
    """Keeps the lists of servers up to date; asks each server once at a time."""

    def __init__(
        self,
        worker: RegistryWorker[Inventory],
        pool: UpstreamPool,
        memory: MemoryUpstream,
        keeper: ServerListKeeper,
        group: anyio.abc.TaskGroup,
        signal: ChangeSignal,
    ) -> None:
        self._worker = worker
        self._pool = pool
        self._memory = memory
        self._keeper = keeper
        self._group = group
        self._signal = signal
        self._patient_until = anyio.current_time() + FIRST_LIST
        self._slots = anyio.CapacityLimiter(MOST_AT_ONCE)
        self._tried: set[tuple[Key, str | None]] = set()  # with the digests of their entries
        self._followed_up: set[Key] = set()
        self._asking: dict[Key, bool] = {}  # whether to ask again afterwards
        self._askable: frozenset[Key] = frozenset()
        self._resting: set[Key] = set()  # failed servers, during their pause
        self._pauses: dict[Key, float] = {}
        self._warned: dict[Key, str] = {}
        self._paces: dict[Key, TokenBucket] = {}
        self._unusable: dict[Key, set[tuple[str, str]]] = {}  # tools, and why
        self._has_idled = anyio.Event()
        self._has_idled.set()
        self.offers = SessionOffers()
        self._lists_for_all = False
        self._doubted: set[Key] = set()  # servers whose partial list lacks a stored tool
        self._met: list[str] = []  # principals, latest first
        self._listed: set[Key] = set()  # servers that were listed with the credential of a principal
        self._asked_for_all: set[tuple[Key, str | None]] = set()  # with the digests of their entries

    def list_for_all(self) -> None:
        """From now on, also list what servers offer only to clients that can answer their questions.

        A client without a session gets the same list as all others, so servers are asked once with all that
        the endpoint can relay. Those that are not started yet are asked when they are.
        """
        if not self._lists_for_all:
            self._lists_for_all = True
            for key in self._askable & self._followed_up:
                self.ask(key)

    def meet(self, principal: str | None, lists: PublishedLists) -> None:
        """Note who asks, so that servers which need a caller's own credential can be listed with it."""
        if principal is None or principal in self._met:
            return
        self._met = [principal, *self._met[: _MOST_MET - 1]]
        for key in lists.servers():
            if lists.catalog.upstreams[key].is_per_principal and key not in self._listed:
                self._patient_until = anyio.current_time() + FIRST_LIST
                self.ask(key)

    def consider(self, lists: PublishedLists) -> None:
        """Ask the available servers that were never asked under their current entry."""
        catalog = lists.catalog
        self._askable = frozenset(lists.servers())
        for key in lists.servers():
            mark = (key, catalog.servers[key].digest)
            if key not in catalog.extras and mark not in self._tried:
                self._tried.add(mark)
                self.ask(key)

    def follow_up(self, key: Key) -> None:
        """Ask a server after its first answered call: its stored lists may be outdated."""
        if key not in self._followed_up:
            self._followed_up.add(key)
            self.ask(key)

    def ask(self, key: Key) -> None:
        """Ask a server for its lists in the background; if already asking, ask once more afterwards."""
        self._followed_up.add(key)
        if key in self._asking:
            self._asking[key] = True
            return
        if self._has_idled.is_set():
            self._has_idled = anyio.Event()
        self._asking[key] = True
        self._group.start_soon(self._keep_asking, key)

    async def list_first(self, upstream: Upstream, catalog: EndpointCatalog, caller: RequestContext) -> bool:
        """Store the tools of a session before its first call, and after it announced others.

        Return whether there were any to store, so the decision about the call may have changed.

        Raises:
            RemitError: the server cannot be reached, or the store cannot be used.
        """
        if upstream.source == REMIT:
            return False
        # The first list of a server is complete: later, its instructions would count as changed.
        is_first = upstream.key not in catalog.extras and not upstream.is_per_principal
        found = await self._pool.list_first(upstream, caller, parts=PARTS if is_first else TOOLS)
        if found is None:
            return False
        found = _of_principal(found, upstream, caller)
        offer = await self._keeper.read(self.offers.combined(upstream.key, found), upstream)
        self._warn_of(offer, upstream)
        try:
            kept = offer if is_first else replace(offer, extras=None)
            await self._keeper.keep(kept, upstream.key, catalog)
        except StoreUnavailableError:
            if not _is_as_known(offer, catalog):
                raise
            found.note_compared()
            return False
        found.note_kept()
        self._doubt(offer, upstream.key, catalog)
        self._signal.set()
        return True

    @property
    def is_settled(self) -> bool:
        """Whether lists no longer wait for servers."""
        return not self._asking or self.patience is None

    @property
    def patience(self) -> float | None:
        """The seconds that a first list still waits; None if it no longer waits."""
        left = self._patient_until - anyio.current_time()
        return left if left > 0 else None

    async def settled(self) -> None:
        """Wait until no server is being asked, or the waiting time is over."""
        with anyio.move_on_after(self.patience or 0):
            while self._asking:
                await self._has_idled.wait()

    async def has_answers(self) -> bool:
        """Wait for the servers that are being asked now, and return whether there were any."""
        was_asking = bool(self._asking)
        with anyio.move_on_after(NAMED):
            while self._asking:
                await self._has_idled.wait()
        return was_asking

    async def _keep_asking(self, key: Key) -> None:
        try:
            while self._asking[key]:
                pace = self._paces.setdefault(key, TokenBucket(_BURST, _PER_SECOND))
                await anyio.sleep(pace.take(anyio.current_time()))
                self._asking[key] = False
                async with self._slots:
                    await self._ask(key)
                work = _PER_WORK * self._keeper.take_seconds(key)
                pace.spend(work, debt=_LONGEST_PAUSE * _PER_SECOND)
        finally:
            del self._asking[key]
            if not self._asking:
                self._has_idled.set()
                self._signal.set()

    async def _ask(self, key: Key) -> None:
        lists = await self._worker.run(Inventory.lists)
        if key not in set(lists.servers()):  # its entry may have changed meanwhile
            return
        catalog, upstream = lists.catalog, lists.catalog.upstreams[key]
        source = self._memory if upstream.source == REMIT else self._pool
        found = ServerLists()
        try:
            if upstream.is_per_principal:
                found = await self._offered_to_someone(upstream)
                self._listed.add(key)
            elif source is self._pool and self._asks_for_all(key, catalog):
                found = await self._offered_to_all(upstream)
            else:
                found = await source.list_all(upstream, parts=PARTS)
            offer = await self._keeper.read(self.offers.combined(key, found), upstream)
        except OwnedElsewhereError:  # its owner lists it for all
            self._signal.set()
            return
        except UpstreamError as error:
            self._warn(key, upstream, error)
            offer = Offer(failure=Failure(reason=error.reason, hint=error.hint))
            self._group.start_soon(self._ask_again, key)
        else:
            self._pauses.pop(key, None)
            self._warned.pop(key, None)
            self._warn_of(offer, upstream)
        try:
            await self._keeper.keep(_kept_part(offer, upstream), key, catalog)
            found.note_kept()
            self._doubt(offer, key, catalog)
        except RemitError as error:
            _log.warning("could not store the tools of %s: %s", upstream.label, error)
        self._signal.set()

    def _asks_for_all(self, key: Key, catalog: EndpointCatalog) -> bool:
        """Check whether to ask a server with all capabilities: once, for all clients or to settle a doubt."""
        mark = (key, catalog.servers[key].digest)
        if not (self._lists_for_all or key in self._doubted) or mark in self._asked_for_all:
            return False
        self._asked_for_all.add(mark)
        return True

    def _doubt(self, offer: Offer, key: Key, catalog: EndpointCatalog) -> None:
        """Ask with all capabilities if a session lacks stored tools: are they gone, or not offered to it?"""
        if not offer.is_partial or offer.failure is not None or key in self._doubted:
            return
        listed = {each.name for each in offer.tools}
        rows = (row for rows in catalog.rows.values() for row in rows if catalog.owners.get(row.key) == key)
        if any(row.name not in listed and not row.is_unlisted for row in rows):
            self._doubted.add(key)
            self.ask(key)

    async def _offered_to_someone(self, upstream: Upstream) -> ServerLists:
        """List the tools of a server with the credential of the latest principal that has one.

        Its resources and prompts may be that principal's own, so they are not asked for.

        Raises:
            UpstreamError: no principal that was here is signed in to it, or it cannot be reached.
        """
        for principal in self._met:
            try:
                return await self._offered_to_all(upstream, principal, TOOLS)
            except NotSignedInError:
                continue
        reason = "is listed once a caller is signed in to it"
        raise NotSignedInError(f"`{upstream.label}` {reason}", reason=reason)

    async def _offered_to_all(
        self, upstream: Upstream, principal: str | None = None, parts: frozenset[str] = PARTS
    ) -> ServerLists:
        """List what a server offers to a client with all capabilities, in a session that ends at once."""
        context = ClientlessRequestContext(f"lists of {upstream.label}", principal, RELAYED)
        try:
            found = await self._pool.list_all(upstream, parts=parts, caller=context)
            return _of_principal(found, upstream, context)
        finally:
            await self._pool.leave(context.session)

    def _warn_of(self, offer: Offer, upstream: Upstream) -> None:
        """Log tools that cannot be used, once each: nothing else explains why they are missing."""
        unusable = {(bad.tool, bad.reason) for bad in offer.quarantined}
        for tool, reason in sorted(unusable - self._unusable.get(upstream.key, set())):
            _log.warning("%s: the tool `%s` cannot be used: %s", upstream.label, tool, reason)
        self._unusable[upstream.key] = unusable

    def _warn(self, key: Key, upstream: Upstream, error: UpstreamError) -> None:
        """Log why a server does not answer, once per reason; callers learn by themselves who must sign in."""
        if not isinstance(error, NotSignedInError) and self._warned.get(key) != error.reason:
            self._warned[key] = error.reason
            _log.warning("could not list the tools of %s: %s", upstream.label, error.reason)

    async def _ask_again(self, key: Key) -> None:
        """Ask a failed server again after a pause."""
        if key in self._resting:
            return
        pause = self._pauses.get(key, _FIRST_PAUSE)
        self._pauses[key] = min(2 * pause, _LONGEST_PAUSE)
        self._resting.add(key)
        await anyio.sleep(pause)
        self._resting.discard(key)
        if key in self._askable:
            self.ask(key)


def _of_principal(found: ServerLists, upstream: Upstream, caller: RequestContext) -> ServerLists:
    """Keep apart what principals are offered, so that the list of one removes no tool of another."""
    if not upstream.is_per_principal:
        return found
    return found._replace(offered_to=f"{caller.principal} {found.offered_to}")


def _kept_part(offer: Offer, upstream: Upstream) -> Offer:
    """Leave out what may belong to the principal whose credential was used."""
    return replace(offer, extras=None) if upstream.is_per_principal else offer


def _is_as_known(offer: Offer, catalog: EndpointCatalog) -> bool:
    """Check that a session offers only definitions that the catalog has, and so needs no judgement."""
    known = {*catalog.definitions.values(), *catalog.held}
    return offer.failure is None and all(each in known for each in offer.tools)
