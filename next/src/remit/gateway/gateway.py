"""A gateway process: its endpoints and servers, the clients that its doors accept, and its end."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from remit.catalog import Registry
from remit.errors import ServingError
from remit.gateway.call_records import Records
from remit.gateway.endpoint import Endpoint, EndpointSpec, Identity, Process
from remit.gateway.live_lists import Worker
from remit.gateway.refresher import OpenPool, Servers
from remit.gateway.session import Session
from remit.protocol import CLIENT_LIMITS, Peer, Tasks, Transport
from remit.store import Store
from remit.text import Clock

if TYPE_CHECKING:  # loaded when a server is asked
    from remit.trust import Inspector

MAX_ENDPOINTS = 64
# The event loop cannot handle signals on Windows, where the interpreter's own interrupt has to do.
SIGNALS = [] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
_DRAIN_STEP = 0.05  # seconds between two looks at the calls in flight
_LAST_WRITES = 0.5  # seconds in which answers of calls that are done reach their clients
_CLOSE_SECONDS = 5.0  # to release what a session holds


class Parts(NamedTuple):
    """What a gateway is put together from."""

    open_registry: Callable[[], Registry]
    open_pool: OpenPool
    data_directory: str
    clock: Clock
    open_durable_store: Callable[[], Store]  # for memory, whose answers promise that it is on disk
    find_inspector: "Callable[[], Inspector | None]" = lambda: None


class Hello(NamedTuple):
    """What a client's connection begins with: nothing below a door reads it from the process."""

    spec: EndpointSpec
    environment: Mapping[str, str] = {}
    identity: Identity = Identity()


class Gateway:
    """The endpoints of a process, each opened on first use, and the servers that they share."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.endpoints: dict[EndpointSpec, Endpoint] = {}
        self._opening: dict[EndpointSpec, asyncio.Lock] = {}
        self._stack = AsyncExitStack()
        self._process: Process | None = None

    async def __aenter__(self) -> "Gateway":
        tasks = Tasks()
        worker = Worker(self.parts.open_registry)
        self._stack.push_async_callback(worker.close)
        records = Records(worker, f"{self.parts.data_directory}/calls", self.parts.clock)
        self._stack.push_async_callback(records.flush)
        parts = self.parts
        servers = Servers(parts.open_pool, worker, parts.clock, parts.find_inspector)
        self._stack.push_async_callback(servers.close)
        memory = Worker(parts.open_durable_store)
        self._stack.push_async_callback(memory.close)
        await self._stack.enter_async_context(tasks)
        self._process = Process(worker, servers, records, memory, tasks, parts.clock)
        tasks.start(records.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        for endpoint in [*self.endpoints.values()]:
            await endpoint.close()
        await self._stack.aclose()

    @property
    def process(self) -> Process:
        """What all endpoints share, once the gateway has started."""
        assert self._process is not None  # noqa: S101 - `async with` comes first
        return self._process

    async def endpoint(self, spec: EndpointSpec) -> Endpoint:
        """Return an endpoint; open it on first use, and close an idle one if there are too many.

        Raises:
            RemitError: the endpoint does not exist, or there is no room for it.
            ValueError: its mode does not exist.
        """
        lock = self._opening.setdefault(spec, asyncio.Lock())
        async with lock:
            endpoint = self.endpoints.get(spec)
            if endpoint is None:
                await self._make_room()
                endpoint = Endpoint(spec, self.process)
                try:
                    await endpoint.open()
                except BaseException:
                    await endpoint.close()
                    raise
                self.endpoints[spec] = endpoint
        self._opening.pop(spec, None)
        return endpoint

    async def attach(self, transport: Transport, hello: Hello, *, door: str) -> None:
        """Serve one client until it closes its stream.

        Raises:
            RemitError: the endpoint cannot be opened.
        """
        endpoint = await self.endpoint(hello.spec)
        await endpoint.instructions()  # so `initialize` is answered at once, before what follows it
        async with Tasks() as tasks:
            session = Session(
                endpoint, tasks, door=door, identity=hello.identity, environment=hello.environment
            )
            peer = Peer(transport, tasks, session, CLIENT_LIMITS)
            session.attach(peer)
            try:
                await peer.run()
            finally:
                with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                    await session.close()

    async def drain(self, seconds: float) -> None:
        """End change streams, and let calls in flight finish for a time."""
        for endpoint in self.endpoints.values():
            endpoint.end_streams()
        is_busy = self._is_busy
        with anyio.move_on_after(seconds):
            while self._is_busy:
                await asyncio.sleep(_DRAIN_STEP)
            if is_busy:
                await asyncio.sleep(_LAST_WRITES)

    @property
    def _is_busy(self) -> bool:
        return any(endpoint.calls_in_flight for endpoint in self.endpoints.values())

    async def _make_room(self) -> None:
        if len(self.endpoints) < MAX_ENDPOINTS:
            return
        for spec, endpoint in self.endpoints.items():
            if not endpoint.sessions and not endpoint.calls_in_flight:
                del self.endpoints[spec]
                await endpoint.close()
                return
        raise ServingError(f"{MAX_ENDPOINTS} endpoints are in use, which is the maximum")


def run_until_stopped(work: Callable[[], Awaitable[Any]]) -> int:
    """Run work until it is done or a signal arrives, and return the exit code; a second signal kills."""
    return asyncio.run(_until_signal(work))


async def _until_signal(work: Callable[[], Awaitable[Any]]) -> int:
    loop, received = asyncio.get_running_loop(), 0
    running = asyncio.ensure_future(work())

    def stop(number: int) -> None:
        nonlocal received
        received = 128 + number
        for other in SIGNALS:
            loop.remove_signal_handler(other)
        running.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, partial(stop, number))
    try:
        await running
    except asyncio.CancelledError:
        if not received:
            raise
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    return received
