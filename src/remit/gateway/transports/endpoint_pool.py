"""The endpoints of one gateway: each is opened when first asked for, and closed when others need room."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from remit.errors import ServingError
from remit.gateway.ports import Endpoint, EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher
from remit.gateway.requests.open_dispatcher import open_dispatcher
from remit.gateway.transports.list_splicing import ListSplicer
from remit.gateway.transports.sdk_server import SdkServer

MOST = 64
MOST_SESSIONS = 1000  # of one endpoint
IDLE = 1800.0  # seconds after which a session that nobody uses ends
LARGEST_BODY = 4 * 2**20

_logger = logging.getLogger(__name__)

Open = Callable[[EndpointSpec], AbstractAsyncContextManager[Endpoint]]


class OpenEndpoint:
    """An endpoint that is open."""

    def __init__(self, opening: EndpointSpec, desk: Dispatcher) -> None:
        self.opening = opening
        self.desk = desk
        self.over = anyio.Event()
        self._sessions = StreamableHTTPSessionManager(
            SdkServer(desk),
            session_idle_timeout=IDLE,
            max_sessions=MOST_SESSIONS,
            max_request_body_size=LARGEST_BODY,
        )
        self._requests = 0
        self.last_used = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether nobody would miss it."""
        return not self._requests and not self.desk.sessions

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Keep it ready until it is over."""
        async with self._sessions.run():
            task_status.started()
            await self.over.wait()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        self._requests += 1
        try:
            await self._sessions.handle_request(scope, receive, ListSplicer(scope, send))
        finally:
            self._requests -= 1
            self.last_used = anyio.current_time()


class EndpointPool:
    """All endpoints that are open now."""

    def __init__(self, open_endpoint: Open, tasks: TaskGroup, *, most: int = MOST) -> None:
        self._open = open_endpoint
        self._tasks = tasks
        self._most = most
        self._served: dict[EndpointSpec, OpenEndpoint] = {}
        self._locks: dict[EndpointSpec, anyio.Lock] = {}

    def __iter__(self) -> Iterator[OpenEndpoint]:
        return iter(list(self._served.values()))

    async def at(self, opening: EndpointSpec) -> OpenEndpoint:
        """Give an endpoint, open.

        Raises:
            RemitError: there is no such endpoint, or no room for it.
        """
        if (served := self._served.get(opening)) is not None:
            return served
        lock = self._locks.setdefault(opening, anyio.Lock())
        try:
            async with lock:
                if (served := self._served.get(opening)) is None:
                    self._make_room()
                    served = await self._tasks.start(self._hold, opening)
                return served
        finally:
            if not lock.statistics().tasks_waiting:
                self._locks.pop(opening, None)

    def end(self) -> None:
        """Close them all."""
        for served in self:
            served.desk.end()
            served.over.set()

    def _make_room(self) -> None:
        if len(self._served) < self._most:
            return
        idle = [served for served in self._served.values() if served.is_idle]
        if not idle:
            raise ServingError(f"{self._most} endpoints are in use, which is the most there may be")
        longest = min(idle, key=lambda served: served.last_used)
        del self._served[longest.opening]
        longest.over.set()

    async def _hold(self, opening: EndpointSpec, *, task_status: TaskStatus[OpenEndpoint]) -> None:
        has_started = False
        try:
            async with (
                open_dispatcher(self._open(opening), opening) as desk,
                anyio.create_task_group() as own,
            ):
                served = OpenEndpoint(opening, desk)
                await own.start(served.run)
                self._served[opening] = served
                has_started = True
                task_status.started(served)
        except Exception:
            if not has_started:
                raise  # to the one who asked for it
            _logger.exception("the endpoint of `%s` failed", opening.directory)
        finally:
            self._served.pop(opening, None)
