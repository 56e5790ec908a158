"""Asks servers for their lists, has these judged and stored, and backs off from those that fail or flood."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.catalog import Registry
from remit.config import ServerOptions
from remit.decision import MEMORY_SERVER, REMIT, Declaration, Failure, Key, Offer, Workspace, needs_trust
from remit.errors import RemitError, UpstreamError
from remit.protocol import RELAYED, Answer, ErrorCode, JsonRpcError, Params, Tasks
from remit.text import Clock

if TYPE_CHECKING:  # loaded when a server is asked
    from remit.gateway.live_lists import LiveLists, Worker
    from remit.gateway.view import Published
    from remit.store import KnownList
    from remit.trust import Inspector, OtherTools, PreparedList
    from remit.upstream import Change, OnList, Upstream, UpstreamPool

FIRST_LIST = 1.5  # seconds that a first list waits for servers; clients give up after 5
NAMED = 10.0  # seconds that a request for something unknown waits for servers that are being asked
MOST_AT_ONCE = 16  # servers
_MOST_JUDGED = 2  # lists at once: threads share the processor, so more would all end late
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0  # seconds before a failed server is asked again
_BURST, _PER_SECOND = 20.0, 0.5  # tokens of a server's bucket, and how fast it refills
_PER_WORK = 20.0  # tokens for a second of work, so a server that always announces long lists gets 2.5 %
STORED = "stored"  # instead of a notification's method: the list of a server is stored
_log = logging.getLogger("remit.gateway")

OpenPool = Callable[["OnList"], AbstractAsyncContextManager["UpstreamPool"]]


class _Known(NamedTuple):
    """Where the lists of a server belong."""

    declaration: Declaration
    workspace: Workspace


class Servers:
    """The servers of a process, opened on first use; what they list is judged and stored."""

    def __init__(
        self,
        open_pool: OpenPool,
        worker: "Worker[Registry]",
        clock: Clock,
        find_inspector: "Callable[[], Inspector | None]",
    ) -> None:
        self._open_pool = open_pool
        self._worker = worker
        self._clock = clock
        self._find_inspector = find_inspector
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._pool: UpstreamPool | None = None
        self._judges = ThreadPoolExecutor(_MOST_JUDGED)
        self._known: dict[Key, _Known] = {}
        self._unusable: dict[Key, Collection[Any]] = {}
        self._listeners: list[Callable[[Key, str, Params], None]] = []
        self.work: dict[Key, float] = {}  # seconds of the processor that lists took, since they were read
        self.stored = 0  # lists, so who waited for one decides again
        self.lacking: set[Key] = set()  # servers whose last partial list lacks a stored tool

    @property
    def is_open(self) -> bool:
        """Whether any server was used."""
        return self._pool is not None

    async def pool(self) -> "UpstreamPool":
        """Return the pool."""
        async with self._opening:
            if self._pool is None:
                self._pool = await self._stack.enter_async_context(self._open_pool(self.keep))
                changes = await self._stack.enter_async_context(self._pool.changes())
                following = asyncio.get_running_loop().create_task(self._follow(changes))
                self._stack.callback(following.cancel)
            return self._pool

    def statuses(self) -> Collection[Any]:
        """Report the status of each server used so far."""
        return () if self._pool is None else self._pool.statuses()

    def follow(self, take: Callable[[Key, str, Params], None]) -> Callable[[], None]:
        """Hand over what servers announce, and `STORED` after a list; returns what ends that."""
        self._listeners.append(take)
        return partial(self._listeners.remove, take)

    def know(self, declarations: Mapping[Key, Declaration], workspace: Workspace) -> None:
        """Note where the lists of servers belong."""
        for key, declaration in declarations.items():
            self._known[key] = _Known(declaration, workspace)

    async def drop(self, keys: Collection[Key]) -> None:
        """End the sessions of servers that are no longer available."""
        if self._pool is not None and keys:
            await self._pool.drop(keys)

    async def leave(self, session: str) -> None:
        """End the sessions that belong to a caller's session alone."""
        if self._pool is not None:
            await self._pool.leave(session)

    async def close(self) -> None:
        """End all servers."""
        await self._stack.aclose()
        self._judges.shutdown(wait=False, cancel_futures=True)

    async def keep(self, upstream: "Upstream", offer: Offer) -> None:
        """Judge the list of a server, off the event loop, and store it.

        Raises:
            RemitError: the store cannot be used.
        """
        known = self._known.get(upstream.key)
        if known is None:
            return
        from remit.trust import PreparedList  # loaded when a server is asked

        prepared = PreparedList(known.declaration, offer, self._find_inspector())
        before, others = await self._worker.run(partial(_known_list, prepared, known))
        loop = asyncio.get_running_loop()
        seconds = await loop.run_in_executor(self._judges, _judge, prepared, before, others)
        self.work[upstream.key] = self.work.get(upstream.key, 0.0) + seconds
        at = self._clock()
        await self._worker.run(lambda registry: prepared.keep(registry.store, known.workspace, at))
        self.stored += 1
        names = {known.declaration.name, *(tool.name for tool in offer.tools)}
        if offer.is_partial and not names.issuperset(before.accepted):
            self.lacking.add(upstream.key)
        self._warn_of(upstream, offer)
        self._tell(upstream.key, STORED, {})

    def _warn_of(self, upstream: "Upstream", offer: Offer) -> None:
        """Log tools that cannot be used, once each: nothing else explains why they are missing."""
        unusable = {(bad.tool, bad.reason) for bad in offer.quarantined}
        for tool, reason in sorted(unusable.difference(self._unusable.get(upstream.key, ()))):
            _log.warning("%s: the tool `%s` cannot be used: %s", upstream.label, tool, reason)
        self._unusable[upstream.key] = unusable

    async def _follow(self, changes: "AsyncIterator[Change]") -> None:
        async for change in changes:
            self._tell(*change)

    def _tell(self, key: Key, method: str, params: Params) -> None:
        for take in [*self._listeners]:
            take(key, method, params)


class Refresher:
    """Decides which servers of an endpoint are asked, and when; each once at a time."""

    def __init__(
        self, lists: "LiveLists", servers: Servers, worker: "Worker[Registry]", tasks: Tasks
    ) -> None:
        self._lists = lists
        self._servers = servers
        self._worker = worker
        self._tasks = tasks
        self._patient_until = monotonic() + FIRST_LIST
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._tried: dict[Key, Upstream] = {}  # as they were started
        self._doubted: set[Key] = set()
        self._asking: dict[Key, bool] = {}  # whether to ask again afterwards
        self._pauses: dict[Key, float] = {}
        self._warned: dict[Key, str] = {}
        self._paces: dict[Key, TokenBucket] = {}
        self._considering = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._upstreams: tuple[Published, Mapping[Key, Upstream]] | None = None
        self._computing = asyncio.Lock()

    async def upstreams(self, published: "Published") -> "Mapping[Key, Upstream]":
        """Return the servers that may be called by the lists of one moment; end those that are gone.

        Raises:
            RemitError: the store cannot be used.
        """
        async with self._computing:
            if self._upstreams is None or self._upstreams[0] is not published:
                before: Mapping[Key, Upstream] = {} if self._upstreams is None else self._upstreams[1]
                upstreams = await self._worker.run(partial(_upstreams, published))
                catalog = published.served.catalog
                declarations = {key: item.declaration for key, item in catalog.declarations.items()}
                self._servers.know(declarations, catalog.context.workspace)
                self._upstreams = published, upstreams
                gone = [
                    key
                    for key, upstream in before.items()
                    if (now := upstreams.get(key)) is None or not now.is_started_like(upstream)
                ]
                await self._servers.drop(gone)
            return self._upstreams[1]

    def consider(self, published: "Published") -> None:
        """Ask the available servers that were never asked with their entry; end those that are gone."""
        offers = published.served.catalog.offers
        unknown = [key for key in published.servers if key not in offers]
        if unknown or self._upstreams is not None:
            self._considering += 1
            self._idle.clear()
            self._tasks.start(self._consider(published, unknown))

    def ask_again(self, key: Key) -> None:
        """Ask a server whose lists may have changed, if it is available here."""
        if key in self._lists.last.servers:
            self.ask(key)

    def ask(self, key: Key) -> None:
        """Ask a server for its lists in the background; if already asking, ask once more afterwards."""
        is_asking = key in self._asking
        self._asking[key] = True
        if not is_asking:
            self._idle.clear()
            self._tasks.start(self._keep_asking(key))

    def doubt(self, key: Key) -> None:
        """Ask a server once with all capabilities, if a session lacks its tools: are they gone?"""
        if key in self._servers.lacking and key not in self._doubted:
            self._doubted.add(key)
            self.ask(key)

    @property
    def is_settled(self) -> bool:
        """Whether lists no longer wait for servers."""
        return self._idle.is_set() or monotonic() >= self._patient_until

    async def settled(self) -> None:
        """Wait until no server is being asked, or the waiting time is over."""
        await self._wait(self._patient_until - monotonic())

    async def has_answers(self) -> bool:
        """Wait for the servers that are being asked now, and return whether there were any."""
        was_asking = not self._idle.is_set()
        await self._wait(NAMED)
        return was_asking

    async def _wait(self, seconds: float) -> None:
        if not self._idle.is_set() and seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._idle.wait()

    async def _consider(self, published: "Published", unknown: Collection[Key]) -> None:
        try:
            upstreams = await self.upstreams(published)
        except RemitError as error:
            _log.warning("servers cannot be asked now: %s", error)
        else:
            for key in unknown:
                upstream, tried = upstreams.get(key), self._tried.get(key)
                if upstream is not None and (tried is None or not upstream.is_started_like(tried)):
                    self._tried[key] = upstream
                    self.ask(key)
        finally:
            self._considering -= 1
            self._rest()

    async def _keep_asking(self, key: Key) -> None:
        try:
            while self._asking[key]:
                pace = self._paces.setdefault(key, TokenBucket(_BURST, _PER_SECOND))
                await asyncio.sleep(pace.take(monotonic()))
                self._asking[key] = False
                async with self._slots:
                    await self._ask(key)
                pace.spend(_PER_WORK * self._servers.work.pop(key, 0.0), debt=_LONGEST_PAUSE * _PER_SECOND)
        except RemitError as error:
            _log.warning("could not store the lists of a server: %s", error)
        finally:
            del self._asking[key]
            self._rest()

    def _rest(self) -> None:
        if not self._asking and not self._considering:
            self._idle.set()
        self._lists.look()

    async def _ask(self, key: Key) -> None:
        published = await self._lists.fresh(with_states=False)
        upstream = (await self.upstreams(published)).get(key)
        if upstream is None:  # its entry may have changed meanwhile
            return
        if upstream.source == REMIT:  # it runs in this process
            from remit.memory import offer

            await self._servers.keep(upstream, await asyncio.to_thread(offer))
            return
        pool = await self._servers.pool()
        try:
            if key in self._doubted:
                caller = Nobody(f"lists of {upstream.label}")  # with all capabilities
                try:
                    await pool.list(upstream, caller)
                finally:
                    await pool.leave(caller.session)
                self._servers.lacking.discard(key)
            else:
                await pool.list(upstream)
        except UpstreamError as error:
            self._warn(key, upstream, error)
            failed = Offer(failure=Failure(error.reason, error.hint))
            await self._servers.keep(upstream, failed)
            self._tasks.start(self._ask_later(key))
        else:
            self._pauses.pop(key, None)
            self._warned.pop(key, None)

    async def _ask_later(self, key: Key) -> None:
        """Ask a failed server again after a pause."""
        pause = self._pauses.get(key, _FIRST_PAUSE)
        self._pauses[key] = min(2 * pause, _LONGEST_PAUSE)
        await asyncio.sleep(pause)
        self.ask_again(key)

    def _warn(self, key: Key, upstream: "Upstream", error: UpstreamError) -> None:
        """Log why a server does not answer, once per reason."""
        if self._warned.get(key) != error.reason:
            self._warned[key] = error.reason
            _log.warning("could not list the tools of %s: %s", upstream.label, error.reason)


class TokenBucket:
    """Paces work: a burst, then a number per second; expensive work costs more."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._tokens = burst
        self._at: float | None = None

    def take(self, now: float) -> float:
        """Take a token, and return the seconds to wait for it."""
        gained = 0.0 if self._at is None else (now - self._at) * self._per_second
        self._tokens, self._at = min(self._burst, self._tokens + gained) - 1, now
        return max(0.0, -self._tokens / self._per_second)

    def spend(self, tokens: float, *, debt: float) -> None:
        """Take more tokens afterwards, down to a debt."""
        self._tokens = max(self._tokens - tokens, -debt)


class Nobody:
    """The caller of what the gateway asks by itself: no client can answer."""

    environment: Mapping[str, str] = {}
    log_level = None
    takes_input_required = False

    def __init__(self, session: str, name: str | None = None, capabilities: Params = RELAYED) -> None:
        self.session = session
        self.name = name
        self.capabilities = capabilities

    async def ask(self, method: str, params: Params) -> Answer:
        """Refuse: no client asked.

        Raises:
            JsonRpcError: always.
        """
        del params
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"`{method}` cannot be asked during this request")

    async def notify(self, method: str, params: Params) -> None:
        """Do nothing."""
        del method, params


def _judge(prepared: "PreparedList", before: "KnownList", others: "OtherTools") -> float:
    """Judge a list, and return the seconds of the processor that it took."""
    started = time.thread_time()
    prepared.inspect(before, others)
    return time.thread_time() - started


def _known_list(
    prepared: "PreparedList", known: _Known, registry: Registry
) -> "tuple[KnownList, OtherTools]":
    from remit.trust import OtherTools

    listings = registry.store.listings
    before = listings.known(known.declaration, prepared.digests, known.workspace)
    return before, OtherTools(*listings.names(known.workspace))


def _upstreams(published: "Published", registry: Registry) -> "Mapping[Key, Upstream]":
    from remit.upstream import Upstream, make_upstreams

    catalog = published.served.catalog
    context, configuration = catalog.context, catalog.configuration

    def options(declaration: Declaration) -> ServerOptions:
        is_projects = needs_trust(
            declaration.scope, declaration.project_hash, declaration.source, context.workspace
        )
        return configuration.options(declaration.server or "", declaration.plugin, is_projects=is_projects)

    trusted = registry.store.trust.entries(context.workspace)
    upstreams = dict(
        make_upstreams(catalog.resolved, published.listed, context, options, trusted, catalog.offers)
    )
    for key, server in published.servers.items():
        if server.source == REMIT:  # runs in this process
            upstreams[key] = Upstream(
                key=key, label=MEMORY_SERVER, client=server.client, source=REMIT, permit=None
            )
    return upstreams
