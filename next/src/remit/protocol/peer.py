"""JSON-RPC over one transport: numbered requests, their answers, and the requests of the other side.

A peer knows neither clients nor servers; its handler does. Requests run as plain tasks of the event loop,
which cost a third of anyio's.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Coroutine
from time import monotonic
from typing import Any, NamedTuple, Protocol, cast

import anyio

from remit.errors import RemitError
from remit.protocol.messages import (
    TOO_LONG,
    UNREADABLE,
    Answer,
    ErrorCode,
    Id,
    JsonRpcError,
    LostError,
    Message,
    Params,
    ProtocolError,
    unreadable_answer,
)
from remit.text import as_object

FLOOD = "floods Remit with messages"
NOISE = "writes output that is not MCP"
_END_SECONDS = 5.0  # for cancelled tasks to release what they hold

_logger = logging.getLogger(__name__)


class Limits(NamedTuple):
    """How much the other side may do, and whether it must keep to the protocol."""

    is_strict: bool  # invalid messages are answered with errors, and one that does not read is not read from
    burst: float  # unsolicited messages
    per_second: float  # of them, after a burst
    noise: int  # bytes in a row that are not messages; some servers print logs to stdout
    replies: int  # to it that it has not read
    drain: float  # seconds to answer its requests once it has closed its stream, and to write the answers


CLIENT_LIMITS = Limits(True, math.inf, math.inf, 0, 2**31, drain=1.5)  # of a client, for the server's role
SERVER_LIMITS = Limits(False, 5_000, 500.0, 2**20, 1_000, drain=0)  # of a server, for the client's role


class Tasks:
    """Plain tasks of the event loop that end together; a failed one is logged and affects no other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Tasks":
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(self._running)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work until it ends, or all are ended."""
        task = self._loop.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.error("a task failed", exc_info=error)


async def end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait briefly until they have released what they hold."""
    ending = [task for task in tasks if task is not asyncio.current_task()]
    for task in ending:
        task.cancel()
    if ending:
        with anyio.CancelScope(shield=True):
            await asyncio.wait(ending, timeout=_END_SECONDS)


class Pending:
    """A request to the other side that waits for its answer."""

    __slots__ = (
        *("_clock", "_deadline", "_loop", "_scope"),
        *("answer", "arrived", "fault", "id", "size", "time_limit"),
    )

    def __init__(self, number: int, time_limit: float | None = None) -> None:
        self.id = number
        self.answer: Message | None = None
        self.fault: Exception | None = None
        self.size = 0  # bytes of the answer
        self.time_limit = time_limit  # seconds; `extend` restarts it
        self._loop = asyncio.get_running_loop()
        self.arrived: asyncio.Future[None] = self._loop.create_future()  # or it has failed, or taken too long
        self._scope: anyio.CancelScope | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._deadline = math.inf

    @property
    def is_paused(self) -> bool:
        """Whether its time does not count."""
        return False

    @property
    def is_over(self) -> bool:
        """Whether the answer or a failure has arrived."""
        return self.answer is not None or self.fault is not None

    def start_clock(self) -> None:
        """Start the time limit, after which `arrived` is set without an answer."""
        if self.time_limit is not None:
            self._deadline = self._loop.time() + self.time_limit
            self._clock = self._loop.call_at(self._deadline, self._look_at_clock)

    def within_limit(self) -> anyio.CancelScope:
        """Start the time limit, and return a scope that it cancels, for work that `arrived` does not end."""
        self._scope = anyio.CancelScope()
        self.start_clock()
        return self._scope

    def extend(self) -> None:
        """Restart the time limit, unless it is paused."""
        if self.is_paused:
            self._deadline = math.inf
        elif self._clock is None:
            self.start_clock()
        elif self.time_limit is not None:
            self._deadline = self._loop.time() + self.time_limit

    def take_answer(self, message: Message, size: int = 0) -> None:
        """Store the answer."""
        self.answer, self.size = message, size
        self._arrive()

    def fail(self, fault: Exception) -> None:
        """Fail the request, unless it is answered."""
        if not self.is_over:
            self.fault = fault
            self._arrive()

    def result(self) -> Answer:
        """Return the result.

        Raises:
            JsonRpcError: the other side answered with an error.
            TimeoutError: it did not answer in time.
        """
        if self.fault is not None:
            raise self.fault
        if self.answer is None:
            raise TimeoutError
        error = self.answer.get("error")
        if error is not None:
            raise JsonRpcError.from_object(error)
        return as_object(self.answer.get("result"))

    def stop_clock(self) -> None:
        """End the time limit."""
        self.time_limit = None
        if self._clock is not None:
            self._clock.cancel()

    def _arrive(self) -> None:
        if not self.arrived.done():
            self.arrived.set_result(None)

    def _look_at_clock(self) -> None:
        """Give up, or look again later if there was progress; while paused, do neither."""
        if self._deadline == math.inf:
            self._clock = None
        elif self._loop.time() < self._deadline:
            self._clock = self._loop.call_at(self._deadline, self._look_at_clock)
        else:
            self._arrive()
            if self._scope is not None:
                self._scope.cancel()


class Incoming:
    """A request from the other side."""

    __slots__ = ("at_end", "has_started", "id", "is_cancelled", "method", "params", "pending", "task", "work")

    def __init__(self, number: Id, method: str, params: Answer, pending: Pending | None) -> None:
        self.id = number
        self.method = method
        self.params = params
        self.pending = pending  # our request whose stream brought it; None: unknown
        self.at_end: Answer | None = (
            None  # the answer once the connection ends; a handler sets it for a stream
        )
        self.task: asyncio.Task[None] | None = None
        self.work: Coroutine[Any, Any, Answer] | None = None
        self.has_started = False
        self.is_cancelled = False  # it needs no answer


class Transport(Protocol):
    """Turns bytes into messages, and messages into bytes."""

    async def run(self, peer: "Peer") -> bool:
        """Hand over messages until the stream ends; return whether the other side still reads."""
        ...

    def request(self, message: Message, pending: Pending) -> Awaitable[None] | None:
        """Send a request; return what to wait for within its time limit before its answer can arrive.

        Raises:
            LostError: the connection is gone.
        """
        ...

    def send(self, message: Message) -> None:
        """Send a message that needs no answer, now or soon; if the connection is gone, do nothing."""
        ...

    async def room(self) -> None:
        """Wait until the other side has read enough of what was sent."""
        ...

    async def flush(self) -> None:
        """Wait until all that was sent is written, or nobody reads it."""
        ...

    @property
    def unsent(self) -> int:
        """How many messages the other side has not read."""
        ...

    async def close(self) -> None:
        """Stop using the connection."""
        ...


class Handler(Protocol):
    """Answers the other side."""

    def answer(self, request: Incoming) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer a request at once, or in a task of its own.

        Raises:
            JsonRpcError: the answer is an error.
        """
        ...

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:
        """Take a notification, which the stream of a request may have brought."""
        ...


class Peer:
    """One side of a JSON-RPC connection."""

    def __init__(self, transport: Transport, tasks: Tasks, handler: Handler, limits: Limits) -> None:
        self.transport = transport
        self.tasks = tasks
        self.limits = limits
        self.pending: dict[int, Pending] = {}
        self.fault: Exception | None = None
        self.lost = asyncio.Event()
        self.heard_at = monotonic()
        self.announces_cancellation = True  # else closing the stream of a request cancels it
        self._handler = handler
        self._last_id = 0
        self._running: dict[Id, Incoming] = {}
        self._noise = 0
        self._tokens, self._counted_at = limits.burst, self.heard_at

    async def run(self) -> None:
        """Receive messages until the stream ends, then answer what can still be answered."""
        fault: Exception = LostError()
        try:
            if await self.transport.run(self) and self.limits.drain:
                await self._drain()
        except ProtocolError as error:
            fault = error
        finally:
            self.lose(fault)
            tasks = {request.task for request in self._running.values() if request.task is not None}
            for request in list(self._running.values()):
                if not request.has_started:
                    self._abandon(request)
            await end(tasks)
            with anyio.move_on_after(self.limits.drain, shield=True):
                await self.transport.flush()

    @property
    def running(self) -> int:
        """How many requests of the other side run."""
        return len(self._running)

    async def request(
        self, method: str, params: Params | None = None, pending: Pending | None = None
    ) -> Answer:
        """Send a request, and return the result as raw JSON; if the caller gives up, cancel it there.

        Raises:
            JsonRpcError: the other side answers with an error.
            PeerError: the connection is gone, or the response is not a valid answer.
            TimeoutError: it does not answer in time.
        """
        if self.fault is not None:
            raise self.fault
        pending = pending or Pending(self.next_id())
        message: Message = {"jsonrpc": "2.0", "id": pending.id, "method": method}
        if params:
            message["params"] = params
        self.pending[pending.id] = pending
        try:
            rest = self.transport.request(message, pending)
            if rest is None:
                pending.start_clock()  # only now: the other side works already
            else:
                with pending.within_limit():
                    await rest
            await pending.arrived
        finally:
            pending.stop_clock()
            del self.pending[pending.id]
            if not pending.is_over and self.announces_cancellation:
                self.notify(
                    "notifications/cancelled", {"requestId": pending.id, "reason": "no longer needed"}
                )
        return pending.result()

    def next_id(self) -> int:
        """Number the next request."""
        self._last_id += 1
        return self._last_id

    def notify(self, method: str, params: Params | None = None) -> None:
        """Send a notification; who sends many waits for `transport.room()`."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = params
        self.transport.send(message)

    def lose(self, fault: Exception) -> None:
        """Fail all requests: the connection is gone."""
        if self.fault is None:
            self.fault = fault
            for pending in self.pending.values():
                pending.fail(fault)
            self.lost.set()

    def cancel(self, request: Incoming) -> None:
        """Cancel a request of the other side, which gets no answer."""
        if not request.is_cancelled and request.task is not None:
            request.is_cancelled = True
            if not request.has_started:
                self._abandon(request)
            request.task.cancel()

    def find(self, number: object) -> Pending | None:
        """Find the pending request of an id, which some servers return as text."""
        if type(number) is int:
            return self.pending.get(number)
        if isinstance(number, str) and number.isdecimal() and len(number) < 19:
            return self.pending.get(int(number))
        return None

    def take(self, message: object, size: int, pending: Pending | None = None) -> None:
        """Take a message, which the stream of a request may have brought."""
        if self.fault is not None:
            return
        if self.limits.is_strict and (words := _invalid(message)) is not None:
            number = as_object(message).get("id")
            self._refuse(number if isinstance(number, str | int) else None, ErrorCode.INVALID_REQUEST, words)
            return
        if not isinstance(message, dict):
            self._take_batch(message, size, pending)
            return
        self._noise = 0
        self.heard_at = monotonic()
        members = cast("Message", message)
        method, number = members.get("method"), members.get("id")
        if method is None:
            self._take_answer(members, number, size)
        elif isinstance(method, str) and self._count():
            params = as_object(members.get("params"))
            if number is None:
                if method == "notifications/cancelled":
                    self._take_cancellation(params.get("requestId"))
                self._handler.take(method, params, pending)
            else:
                self._take_request(number, method, params, pending)

    def take_unreadable(self, line: bytes) -> None:
        """Take a line that is not JSON.

        Raises:
            ProtocolError: the other side does not speak the protocol.
        """
        if self.limits.is_strict:
            self._refuse(None, ErrorCode.PARSE_ERROR, "this is not JSON")
            return
        is_answer, number = unreadable_answer(line)
        if is_answer:
            pending = None if number is None else self.pending.get(number)
            if pending is not None:
                pending.fail(ProtocolError(UNREADABLE))
            elif self.pending:
                raise ProtocolError(UNREADABLE)
            return
        self._noise += len(line)
        if self._noise > self.limits.noise:
            raise ProtocolError(NOISE)

    def take_too_long(self, most: int) -> None:
        """Take a line that is too long to read.

        Raises:
            ProtocolError: the other side is a server.
        """
        if not self.limits.is_strict:
            raise ProtocolError(TOO_LONG)
        self._refuse(None, ErrorCode.INVALID_REQUEST, f"the message is longer than {most} bytes")

    def _take_batch(self, messages: object, size: int, pending: Pending | None) -> None:
        """Take several messages at once, which 2025-03-26 allowed."""
        self._count()
        if isinstance(messages, list):
            for message in cast("list[object]", messages):
                self.take(None if isinstance(message, list) else message, size, pending)

    def _take_answer(self, answer: Message, number: object, size: int) -> None:
        pending = self.find(number)
        if pending is None:
            self._count()
        else:
            pending.take_answer(answer, size)

    def _take_request(self, number: Any, method: str, params: Answer, pending: Pending | None) -> None:
        if self.transport.unsent >= self.limits.replies:
            self.lose(ProtocolError(FLOOD))
        elif not isinstance(number, str | int | float):
            self._refuse(None, ErrorCode.INVALID_REQUEST, "the id is neither text nor a number")
        elif number in self._running:
            self._refuse(number, ErrorCode.INVALID_REQUEST, "a request with this id is in progress")
        else:
            request = Incoming(cast("Id", number), method, params, pending)
            try:
                answer = self._handler.answer(request)
            except JsonRpcError as error:
                self._reply(number, {"error": error.as_object()})
                return
            if isinstance(answer, dict):
                self._reply(number, {"result": answer})
            else:
                request.work = answer
                self._running[request.id] = request
                request.task = self.tasks.start(self._serve(request, answer))

    async def _serve(self, request: Incoming, work: Coroutine[Any, Any, Answer]) -> None:
        request.has_started = True
        try:
            outcome: Message = {"result": await work}
        except JsonRpcError as error:
            outcome = {"error": error.as_object()}
        except RemitError as error:
            outcome = {"error": JsonRpcError.from_remit(error).as_object()}
        except asyncio.CancelledError:
            if not request.is_cancelled:
                self._reply(request.id, _at_end(request))
            raise
        except Exception:  # a failed request must not take down the others
            _logger.exception("`%s` failed", request.method)
            outcome = {"error": JsonRpcError(ErrorCode.INTERNAL_ERROR, "Internal error").as_object()}
        finally:
            self._running.pop(request.id, None)
        if not request.is_cancelled:
            self._reply(request.id, outcome)

    def _abandon(self, request: Incoming) -> None:
        """End a request whose task has not begun, and so cannot do it."""
        if self._running.pop(request.id, None) is not None and request.work is not None:
            request.work.close()
            if not request.is_cancelled:
                self._reply(request.id, _at_end(request))

    async def _drain(self) -> None:
        """Let requests finish that do not run until the connection ends."""
        working = [
            request.task
            for request in self._running.values()
            if request.at_end is None and request.task is not None
        ]
        if working:
            await asyncio.wait(working, timeout=self.limits.drain)

    def _take_cancellation(self, number: object) -> None:
        if isinstance(number, str | int | float) and (request := self._running.get(cast("Id", number))):
            self.cancel(request)

    def _reply(self, number: Id | None, outcome: Message) -> None:
        self.transport.send({"jsonrpc": "2.0", "id": number, **outcome})

    def _refuse(self, number: Id | None, code: int, words: str) -> None:
        self._reply(number, {"error": JsonRpcError(code, words).as_object()})

    def _count(self) -> bool:
        """Count an unsolicited message; return False if there are too many."""
        limits = self.limits
        if limits.is_strict:
            return True
        now = monotonic()
        gained = (now - self._counted_at) * limits.per_second
        self._tokens, self._counted_at = min(limits.burst, self._tokens + gained) - 1, now
        if self._tokens < 0:
            self.lose(ProtocolError(FLOOD))
        return self._tokens >= 0


def _at_end(request: Incoming) -> Message:
    """Return the outcome of a request that the end of the connection interrupts."""
    if request.at_end is not None:
        return {"result": request.at_end}
    return {"error": JsonRpcError(ErrorCode.CONNECTION_CLOSED, "Connection closed").as_object()}


def _invalid(message: object) -> str | None:
    """Say what is wrong with a message, if anything is."""
    if not isinstance(message, dict):
        is_batch = isinstance(message, list)
        return "send one message per line, not a list" if is_batch else "this is not a JSON-RPC 2.0 message"
    members = cast("Message", message)
    number, params = members.get("id"), members.get("params")
    is_valid = (
        members.get("jsonrpc") == "2.0"
        and (number is None or type(number) is int or type(number) is str)
        and (params is None or isinstance(params, dict))
        and (isinstance(members.get("method"), str) or "result" in members or "error" in members)
    )
    return None if is_valid else "this is not a JSON-RPC 2.0 message"
