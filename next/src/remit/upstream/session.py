"""One session of one server: a task that opens the connection, keeps it and closes it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from anyio.to_thread import run_sync

from remit import __version__
from remit.decision import Failure, Offer
from remit.protocol import (
    PARTS,
    RELAYED,
    Era,
    JsonRpcError,
    LineTransport,
    LostError,
    OnChange,
    Params,
    PeerError,
    ProtocolError,
    ServerConnection,
    ServerTransport,
    Tasks,
    connect,
)
from remit.upstream.failures import Remains, explain, last_output, without_secrets
from remit.upstream.launch import Launcher, ReadyServer
from remit.upstream.lists import read_offer
from remit.upstream.model import Upstream

if TYPE_CHECKING:  # loaded before the first server starts, not before the gateway answers
    from remit.upstream.process import ServerProcess, Watchdog

TOOLS_CHANGED = "notifications/tools/list_changed"
EXTRAS_SECONDS = 2.0  # for lists other than the tools, while a call waits
TOOLS = frozenset({"tools"})
FAULTS = (JsonRpcError, PeerError, TimeoutError)

OnList = Callable[[Upstream, Offer], Awaitable[None]]
_CLIENT = {"name": "remit", "version": __version__}


class SessionKey(NamedTuple):
    """Identifies the callers that share a session."""

    session: str = ""  # the caller's own; empty: all callers
    capabilities: str = "{}"  # of the client, if the handshake fixes them


class SessionStart(NamedTuple):
    """What a session is opened with."""

    launcher: Launcher
    name: str | None  # of the caller
    capabilities: Params  # of the client
    era: Era | None  # None: not known yet
    watchdog: "Callable[[], Watchdog]"
    idle: float


class Session:
    """A connection that its callers share, and what is known of the tools behind it."""

    def __init__(self, upstream: Upstream, key: SessionKey, start: SessionStart) -> None:
        self._upstream = upstream
        self._start = start
        self._process: ServerProcess | None = None
        self._remains = Remains()
        self._is_dismissed = False
        self._task: asyncio.Task[None] | None = None
        self._output: tuple[str, list[str]] = "", []  # what it wrote last, and the lines without secrets
        self.key = key
        self.connection: ServerConnection | None = None
        self.offer: Offer | None = None  # as it was handed over last
        self.announced = 0  # changes of its tools
        self._compared = -1  # how many were announced when the tools were listed last
        self._comparing: asyncio.Task[Exception | None] | None = None
        self.secrets: frozenset[str] = frozenset()  # values that must never be shown
        self.subscriptions: set[str] = set()  # URIs of resources
        self.users = 0  # running requests
        self.used_at = monotonic()
        self.is_settled = asyncio.Event()  # it is open, or over
        self.is_over = asyncio.Event()
        self.error: BaseException | None = None  # None: it did not fail
        self.failure: Failure | None = None
        self.was_needed = False  # it was lost while in use, or violated the protocol

    @property
    def is_open(self) -> bool:
        """Whether it accepts requests."""
        return self.connection is not None and self.connection.fault is None

    @property
    def is_ending(self) -> bool:
        """Whether it is over, or about to end."""
        is_lost = self.connection is not None and self.connection.fault is not None
        return self._is_dismissed or is_lost or self.is_over.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether it has neither requests nor subscriptions."""
        return not self.users and not self.subscriptions

    @property
    def is_compared(self) -> bool:
        """Whether its tools were handed over, and none were announced since."""
        return self._compared == self.announced

    @property
    def opened(self) -> ServerConnection:
        """The connection of an open session."""
        assert self.connection is not None  # noqa: S101 - callers get open sessions only
        return self.connection

    def dismiss(self) -> None:
        """End the session, without counting that as a failure."""
        self._is_dismissed = True
        if self.connection is not None:
            self.connection.lose(LostError("was ended"))
        elif self._task is not None:
            self._task.cancel()

    def explain(self, error: BaseException) -> Failure:
        """Explain an error, without secrets."""
        remains = self._remains if self._process is None else self._process.remains
        return explain(error, self._upstream, remains, self.secrets)

    def without_secrets(self, error: JsonRpcError) -> JsonRpcError:
        """Return an error that its server answered with, without secrets."""
        return without_secrets(error, self.secrets)

    def output(self) -> list[str]:
        """Return the last lines that its process wrote to stderr, without secrets."""
        text = self._remains.output if self._process is None else self._process.tail.text
        if text != self._output[0]:  # hiding secrets takes longer than comparing, and this is asked often
            self._output = text, last_output(text, self.secrets)
        return self._output[1]

    async def compare(self, on_list: OnList, on_change: OnChange, tasks: Tasks) -> None:
        """List what the server has, and hand it over; all callers wait for the same.

        Raises:
            JsonRpcError, PeerError, TimeoutError: the server does not list its tools.
        """
        if self._comparing is None or self._comparing.done():
            self._comparing = tasks.start(self._compare(on_list, on_change))
        comparing = self._comparing
        await asyncio.wait([comparing])
        error = LostError("was ended") if comparing.cancelled() else comparing.result()
        if error is not None:
            raise error

    async def _compare(self, on_list: OnList, on_change: OnChange) -> Exception | None:
        try:
            if self.offer is not None:
                await self.list_parts(TOOLS, on_list)
            elif await self.list_parts(PARTS, on_list, EXTRAS_SECONDS):
                on_change("notifications/resources/list_changed", {})  # ask again, when no call waits
        except Exception as error:
            return error
        return None

    async def list_parts(
        self, parts: Collection[str], on_list: OnList, extras_seconds: float | None = None
    ) -> Collection[str]:
        """List some parts, and hand over all that is known; return the parts that did not answer.

        Raises what `compare` raises, for the tools only.
        """
        connection, began, announced = self.opened, monotonic(), self.announced
        lists: dict[str, list[Any]] = {}
        if "tools" in parts:
            lists |= await connection.lists(TOOLS, time_limit=self._upstream.deadline)
        if extras := set(parts) - TOOLS:
            lists |= await connection.lists(extras, time_limit=extras_seconds)
        partial = connection.keeps_state and dict(self._start.capabilities) != dict(RELAYED)
        offer = await asyncio.get_running_loop().run_in_executor(
            None, self._read, lists, connection, partial, monotonic() - began
        )
        await on_list(self._upstream, offer)
        self.offer = offer
        if "tools" in lists:
            self._compared = announced
        return set(parts) - lists.keys()

    def _read(
        self, lists: Mapping[str, list[Any]], connection: ServerConnection, partial: bool, seconds: float
    ) -> Offer:
        offer = read_offer(
            lists,
            connection.handshake,
            self._upstream,
            secrets=self.secrets,
            is_partial=partial,
            seconds=seconds,
        )
        if (known := self.offer) is None:
            return offer
        offer = offer._replace(**{part: getattr(known, part) for part in PARTS - lists.keys()})
        return offer if "tools" in lists else offer._replace(quarantined=known.quarantined)

    def note_subscription(self, method: str, params: Params) -> None:
        """Remember the resources that its callers follow."""
        if method == "resources/subscribe":
            self.subscriptions.add(params["uri"])
        elif method == "resources/unsubscribe":
            self.subscriptions.discard(params["uri"])

    async def run(self, on_change: OnChange, on_open: "Callable[[Session], None]") -> None:
        """Open, keep and close the connection in one task."""
        self._task = asyncio.current_task()

        def count(method: str, params: Params) -> None:
            self.announced += method == TOOLS_CHANGED
            on_change(method, params)

        try:
            if not self._is_dismissed:
                await self._live(count, on_open)
        except Exception as error:  # one server must not take down the others
            self.error = error
            self.failure = self.explain(error)
        finally:
            if self._is_dismissed:
                self.error = None
            self.is_over.set()
            self.is_settled.set()

    async def _live(self, on_change: OnChange, on_open: "Callable[[Session], None]") -> None:
        start = self._start
        async with asyncio.timeout(self._upstream.deadline) as starting, AsyncExitStack() as stack:
            ready = await stack.enter_async_context(start.launcher.ready(self._upstream, start.name))
            self.secrets = ready.secrets
            transport = await stack.enter_async_context(self._open(ready))
            opening = connect(
                transport, _CLIENT, dict(start.capabilities), era=start.era, on_change=on_change
            )
            connection = await stack.enter_async_context(opening)
            starting.reschedule(None)
            self.connection = connection
            on_open(self)
            self.is_settled.set()
            await self._keep(connection)
        if connection.fault is not None:
            raise connection.fault

    @asynccontextmanager
    async def _open(self, ready: ReadyServer) -> AsyncGenerator[ServerTransport]:
        """Start a process, or open a client of HTTP; both are loaded only now."""
        if ready.launch.is_remote:
            await run_sync(import_module, "remit.upstream.remote")  # 70 ms, in which others are answered
            from remit.upstream.remote import open_remote

            async with open_remote(ready) as transport:
                yield transport
            return
        from remit.upstream.process import start_process

        watchdog = self._start.watchdog()
        starting = start_process(
            ready.words, env=ready.environment, cwd=ready.cwd, options=ready.options, watchdog=watchdog
        )
        try:
            async with starting as self._process:
                yield LineTransport(self._process.read_fd, self._process.write_fd)
        finally:
            if self._process is not None:
                self._remains, self._process = self._process.remains, None

    async def _keep(self, connection: ServerConnection) -> None:
        idle = self._start.idle
        if not connection.keeps_state and not self.key.session:
            idle = float("inf")  # all callers share it, and it announces changes
        while connection.fault is None:
            rest = self.used_at + idle - monotonic() if self.is_idle else idle
            if rest <= 0:
                self.dismiss()
                break
            try:
                async with asyncio.timeout(None if rest == float("inf") else rest):
                    await connection.lost.wait()
            except TimeoutError:
                continue
        self.was_needed = self.users > 0 or isinstance(connection.fault, ProtocolError)
