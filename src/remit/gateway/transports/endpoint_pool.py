"""Opens endpoints on first use, and closes idle ones to make room."""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from remit.errors import ServingError, StoreError
from remit.gateway.change_tracker import ChangeSignal
from remit.gateway.ports import Endpoint, EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher, open_dispatcher
from remit.gateway.transports.http_refusal import refusal
from remit.gateway.transports.list_splicing import ListSplicer
from remit.gateway.transports.moved_requests import movable
from remit.gateway.transports.portable_sessions import PortableSessions
from remit.gateway.transports.sdk_server import SdkServer

if TYPE_CHECKING:
    from remit.gateway.transports.session_seal import SessionSeal

MAX_ENDPOINTS = 64
MAX_SHARE = 0.5  # of endpoints, and of the sessions of each, for one principal
MAX_SESSIONS = 1000  # per endpoint
IDLE = 1800.0  # seconds after which an unused session ends
MAX_BODY = 4 * 2**20
_DRAIN_STEP = 0.05  # seconds between two looks at the calls in flight
_LAST_WRITES = 0.5  # seconds in which answers of calls that are done reach their clients

_logger = logging.getLogger(__name__)

Open = Callable[[EndpointSpec], AbstractAsyncContextManager[Endpoint]]


class OpenEndpoint:
    """An open endpoint."""

    def __init__(
        self,
        spec: EndpointSpec,
        dispatcher: Dispatcher,
        opener: str | None,
        seal: "SessionSeal | None" = None,
    ) -> None:
        self.spec = spec
        self.opener = opener  # the principal
        self.dispatcher = dispatcher
        self.over = anyio.Event()
        server = SdkServer(dispatcher)
        self._sessions = StreamableHTTPSessionManager(
            server,
            session_idle_timeout=IDLE,
            max_sessions=MAX_SESSIONS,
            max_request_body_size=MAX_BODY,
        )
        self._app: ASGIApp = self._admit
        self.portable_sessions: PortableSessions | None = None
        if seal is not None:
            self.portable_sessions = PortableSessions(self._app, seal, json.dumps(spec), MAX_BODY)
            self._app = server.sessions = self.portable_sessions
        self._requests = 0
        self.last_used = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether it has neither requests nor sessions."""
        return not self._requests and not self.dispatcher.sessions

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Serve until `over` is set."""
        async with self._sessions.run():
            task_status.started()
            await self.over.wait()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        self._requests += 1
        try:
            await self._app(scope, receive, ListSplicer(scope, movable(scope, send)))
        finally:
            self._requests -= 1
            self.last_used = anyio.current_time()

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it opens a session and its principal has too many."""
        user = scope.get("user")
        if isinstance(user, AuthenticatedUser) and _opens_session(Headers(scope=scope)):
            # The SDK has no public access to the owners of sessions.
            owners = self._sessions._session_owners.values()  # pyright: ignore[reportPrivateUsage]
            whose = authorization_context(user)
            if sum(owner == whose for owner in owners) >= MAX_SESSIONS * MAX_SHARE:
                await refusal(503, "you have too many open sessions")(scope, receive, send)
                return
        await self._sessions.handle_request(scope, receive, send)


def _opens_session(headers: Headers) -> bool:
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    return "mcp-session-id" not in headers and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)


class EndpointPool:
    """All open endpoints."""

    def __init__(
        self,
        open_endpoint: Open,
        tasks: TaskGroup,
        *,
        max_endpoints: int = MAX_ENDPOINTS,
        seal: "SessionSeal | None" = None,
    ) -> None:
        self._open = open_endpoint
        self._seal = seal
        self._tasks = tasks
        self._max_endpoints = max_endpoints
        self._served: dict[EndpointSpec, OpenEndpoint] = {}
        self._locks: dict[EndpointSpec, anyio.Lock] = {}
        if seal is not None:
            tasks.start_soon(self._follow_ended, seal)

    def __iter__(self) -> Iterator[OpenEndpoint]:
        return iter(list(self._served.values()))

    async def at(
        self, spec: EndpointSpec, opener: str | None = None, *, most: int | None = None
    ) -> OpenEndpoint:
        """Return an endpoint; open it on first use, as one of at most so many of its principal.

        Raises:
            RemitError: the endpoint does not exist, or there is no room for it.
        """
        if (served := self._served.get(spec)) is not None:
            return served
        lock = self._locks.setdefault(spec, anyio.Lock())
        try:
            async with lock:
                if (served := self._served.get(spec)) is None:
                    self._make_room(opener, most)
                    served = await self._tasks.start(self._hold, spec, opener)
                return served
        finally:
            if not lock.statistics().tasks_waiting:
                self._locks.pop(spec, None)

    async def drain(self, seconds: float) -> None:
        """End change streams, let calls in flight finish for a time, then close all endpoints."""
        for served in self:
            served.dispatcher.end_streams()
        is_busy = any(served.dispatcher.calls_in_flight for served in self)
        with anyio.move_on_after(seconds):
            while any(served.dispatcher.calls_in_flight for served in self):
                await anyio.sleep(_DRAIN_STEP)
            if is_busy:
                await anyio.sleep(_LAST_WRITES)
        for served in self:
            served.over.set()

    async def _follow_ended(self, seal: "SessionSeal") -> None:
        """End sessions here that their clients end at other nodes, until cancelled."""
        signal = ChangeSignal()
        seal.follow(signal.from_threads())
        while True:
            await signal.wait()
            if not seal.may_have_ended():
                continue
            open_at = [each.portable_sessions for each in self if each.portable_sessions is not None]
            held = {id: sessions for sessions in open_at for id in sessions.held()}
            try:
                ended = await to_thread.run_sync(seal.ended, [*held])
            except StoreError as error:  # looks again once the store is back, which is a change
                _logger.warning("sessions that ended elsewhere cannot be read: %s", error)
                continue
            for id in ended:
                try:
                    await held[id].close(id)
                except Exception:  # its endpoint may be closing; the others must still be told
                    _logger.exception("a session that ended elsewhere could not be closed")

    def _make_room(self, opener: str | None, most: int | None) -> None:
        """Close an idle endpoint if there are too many: of this principal, or of the one with the most."""
        if most is None:
            most = self._max_endpoints if opener is None else max(1, int(self._max_endpoints * MAX_SHARE))
        counts = Counter(served.opener for served in self._served.values())
        if opener is not None and counts[opener] >= most:
            self._close_one([each for each in self if each.opener == opener], f"{most} of your endpoints")
        elif len(self._served) >= self._max_endpoints:
            self._close_one([*self], f"{self._max_endpoints} endpoints")

    def _close_one(self, served: list[OpenEndpoint], which: str) -> None:
        counts = Counter(each.opener for each in served)
        idle = [each for each in served if each.is_idle]
        if not idle:
            raise ServingError(f"{which} are in use, which is the maximum")
        longest = min(idle, key=lambda each: (-counts[each.opener], each.last_used))
        del self._served[longest.spec]
        longest.over.set()

    async def _hold(
        self, spec: EndpointSpec, opener: str | None, *, task_status: TaskStatus[OpenEndpoint]
    ) -> None:
        has_started = False
        try:
            async with (
                open_dispatcher(self._open(spec), spec) as dispatcher,
                anyio.create_task_group() as own,
            ):
                served = OpenEndpoint(spec, dispatcher, opener, self._seal)
                await own.start(served.run)
                self._served[spec] = served
                has_started = True
                task_status.started(served)
        except Exception:
            if not has_started:
                raise  # to the caller of `at`
            _logger.exception("the endpoint of `%s` failed", spec.directory)
        finally:
            self._served.pop(spec, None)
