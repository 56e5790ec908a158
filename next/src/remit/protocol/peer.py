"""JSON-RPC over one transport: numbered requests, their answers, and the requests of the other side.

A peer knows neither clients nor servers; its handler does. Requests run as plain tasks of the event loop,
which cost a third of anyio's.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Iterable
from time import monotonic
from typing import Any, NamedTuple, Protocol, cast

import anyio

from remit.errors import RemitError
from remit.protocol.messages import (
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
from remit.text import as_list, as_object

FLOOD = "floods Remit with messages"
NOISE = "writes output that is not MCP"
_END_SECONDS = 5.0  # for cancelled tasks to release what they hold

_logger = logging.getLogger(__name__)


class Limits(NamedTuple):
    """How much the other side may do."""

    is_strict: bool  # its invalid messages are answered with errors, and while it does not read, nor do we
    drain: float = (
        0.0  # seconds to answer its requests once it has closed its stream, and to write the answers
    )
    burst: float = 5_000.0  # unsolicited messages
    per_second: float = 500.0  # of them, after a burst
    noise: int = 2**20  # bytes in a row that are not messages; some servers print logs to stdout
    replies: int = 1_000  # that it has not read


CLIENT_LIMITS = Limits(True, 1.5, burst=math.inf, replies=2**31)  # of a client, for the role of a server
SERVER_LIMITS = Limits(False)


class Tasks:
    """Plain tasks of the event loop that end together; a failed one is logged and affects no other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: set[asyncio.Task[Any]] = set()
        self._is_over = False

    async def __aenter__(self) -> "Tasks":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        await end(self._running)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run work until it ends, or all are ended."""
        task = self._loop.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._note_end)
        if self._is_over:
            task.cancel()
        return task

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.error("a task failed", exc_info=error)


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
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
        *("_clock", "_deadline", "_loop", "answer", "arrived"),
        *("fault", "id", "is_paused", "sending", "size", "time_limit"),
    )

    def __init__(self, number: int, time_limit: float | None = None) -> None:
        self.id = number
        self.time_limit = time_limit  # seconds; `extend` restarts it
        self.is_paused = False  # its time does not count
        self.answer: Message | None = None
        self.size = 0  # bytes of the answer
        self.fault: Exception | None = None
        self.sending: asyncio.Task[Any] | None = None  # for a transport that does not send at once
        self._loop = asyncio.get_running_loop()
        self.arrived: asyncio.Future[None] = self._loop.create_future()  # or it has failed, or taken too long
        self._clock: asyncio.TimerHandle | None = None
        self._deadline = math.inf

    @property
    def is_over(self) -> bool:
        """Whether the answer or a failure has arrived."""
        return self.answer is not None or self.fault is not None

    def extend(self) -> None:
        """Start the time limit again, unless it is paused; after it, `arrived` is set without an answer."""
        if self.time_limit is not None:
            self._deadline = math.inf if self.is_paused else self._loop.time() + self.time_limit
            if self._clock is None and not self.is_paused:
                self._clock = self._loop.call_at(self._deadline, self._look_at_clock)

    def take_answer(self, message: Message, size: int) -> None:
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
        if (error := self.answer.get("error")) is not None:
            raise JsonRpcError.from_object(error)
        return as_object(self.answer.get("result"))

    def close(self) -> None:
        """End the time limit, and what still sends."""
        self.time_limit = None
        if self._clock is not None:
            self._clock.cancel()
        if self.sending is not None and not self.is_over:
            self.sending.cancel()

    def _arrive(self) -> None:
        if not self.arrived.done():
            self.arrived.set_result(None)

    def _look_at_clock(self) -> None:
        """Give up, or look again later if there was progress; while paused, do neither."""
        self._clock = None
        if self._loop.time() >= self._deadline:
            self._arrive()
        elif self._deadline != math.inf:
            self._clock = self._loop.call_at(self._deadline, self._look_at_clock)


class Incoming:
    """A request from the other side."""

    __slots__ = ("at_end", "id", "is_cancelled", "method", "params", "pending", "task")

    def __init__(self, number: Id, method: str, params: Answer, pending: Pending | None) -> None:
        self.id = number
        self.method = method
        self.params = params
        self.pending = pending  # our request whose stream brought it; None: unknown
        self.at_end: Answer | None = (
            None  # the answer once the connection ends; a handler sets it for a stream
        )
        self.task: asyncio.Task[None] | None = None
        self.is_cancelled = False  # it needs no answer

    def cancel(self) -> None:
        """Cancel it; it gets no answer."""
        if self.task is not None and not self.is_cancelled:
            self.is_cancelled = True
            self.task.cancel()


class Transport(Protocol):
    """Turns bytes into messages, and messages into bytes."""

    def attach(self, peer: "Peer") -> None: ...  # which gets the messages
    async def run(self) -> None: ...  # hands over messages until the stream ends
    def request(self, message: Message, pending: Pending) -> None: ...  # fails it if it cannot be sent
    def send(self, message: Message) -> None: ...  # soon, unless the connection is gone; needs no answer
    @property
    def unsent(self) -> int: ...  # how many messages the other side has not read
    async def flush(self) -> None: ...  # waits until all is written, or nobody reads it
    async def close(self) -> None: ...  # stops using the connection


class Handler(Protocol):
    """Answers the other side."""

    def answer(self, request: Incoming) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer a request at once or in a task of its own; `JsonRpcError` is an answer, too."""
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
        self.running: dict[Id, Incoming] = {}
        self.fault: Exception | None = None
        self.lost = asyncio.Event()
        self.heard_at = monotonic()
        self.announces_cancellation = True  # else closing the stream of a request cancels it
        self._loop = asyncio.get_running_loop()
        self._handler = handler
        self._last_id = 0
        self._noise = 0
        self._tokens, self._counted_at = limits.burst, self.heard_at
        transport.attach(self)

    async def run(self) -> None:
        """Receive messages until the stream ends, then answer what can still be answered."""
        fault: Exception = LostError()
        try:
            await self.transport.run()
            working = self._tasks(lambda request: request.at_end is None)
            if working and self.limits.drain:
                await asyncio.wait(working, timeout=self.limits.drain)
        except ProtocolError as error:
            fault = error
        finally:
            self.lose(fault)
            await end(self._tasks(lambda _: True))
            with anyio.move_on_after(self.limits.drain, shield=True):
                await self.transport.flush()

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
            self.transport.request(message, pending)
            pending.extend()  # only now: the other side works already
            await pending.arrived
        finally:
            pending.close()
            del self.pending[pending.id]
            if not pending.is_over and self.announces_cancellation:
                given_up = {"requestId": pending.id, "reason": "no longer needed"}
                self.notify("notifications/cancelled", given_up)
        return pending.result()

    def next_id(self) -> int:
        """Number the next request."""
        self._last_id += 1
        return self._last_id

    def notify(self, method: str, params: Params | None = None) -> None:
        """Send a notification; who sends many waits for `transport.flush()`."""
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

    def find(self, number: object) -> Pending | None:
        """Find the pending request of an id, which some servers return as text."""
        if isinstance(number, str) and number.isdecimal() and len(number) < 19:
            number = int(number)
        return self.pending.get(number) if type(number) is int else None

    def take(self, message: object, size: int, pending: Pending | None = None) -> None:
        """Take a message, which the stream of a request may have brought."""
        if self.fault is not None:
            return
        if self.limits.is_strict and (words := _invalid(message)) is not None:
            number = as_object(message).get("id")
            self._refuse(number if isinstance(number, str | int) else None, words)
        elif not isinstance(message, dict):
            self._count()
            for item in as_list(message):  # a batch, which 2025-03-26 allowed
                self.take(None if isinstance(item, list) else item, size, pending)
        else:
            self._noise = 0
            self.heard_at = monotonic()
            self._take(cast("Message", message), size, pending)

    def take_unreadable(self, line: bytes) -> None:
        """Take a line that is not JSON.

        Raises:
            ProtocolError: the other side does not speak the protocol.
        """
        if self.limits.is_strict:
            self._refuse(None, "this is not JSON", ErrorCode.PARSE_ERROR)
            return
        is_answer, number = unreadable_answer(line)
        pending = self.find(number)
        if pending is not None:
            pending.fail(ProtocolError(UNREADABLE))
        elif is_answer and self.pending:
            raise ProtocolError(UNREADABLE)
        self._noise += 0 if is_answer else len(line)
        if self._noise > self.limits.noise:
            raise ProtocolError(NOISE)

    def reject(self, words: str, fault: ProtocolError) -> None:
        """Refuse a line that cannot be taken.

        Raises:
            ProtocolError: the fault, of a side that cannot be told.
        """
        if not self.limits.is_strict:
            raise fault
        self._refuse(None, words)

    def _take(self, message: Message, size: int, pending: Pending | None) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:
            if (asked := self.find(number)) is not None:
                asked.take_answer(message, size)
            else:
                self._count()
        elif isinstance(method, str) and self._count():
            params = as_object(message.get("params"))
            if number is not None:
                self._take_request(number, method, params, pending)
                return
            if method == "notifications/cancelled":
                cancelled = _id_or_none(params.get("requestId"))
                if cancelled is not None and cancelled in self.running:
                    self.running[cancelled].cancel()
            self._handler.take(method, params, pending)

    def _take_request(self, value: object, method: str, params: Answer, pending: Pending | None) -> None:
        number = _id_or_none(value)
        if self.transport.unsent >= self.limits.replies:
            self.lose(ProtocolError(FLOOD))
        elif number is None:
            self._refuse(None, "the id is neither text nor a number")
        elif number in self.running:
            self._refuse(number, "a request with this id is in progress")
        else:
            request = Incoming(number, method, params, pending)
            try:
                answer = self._handler.answer(request)
            except Exception as error:
                self._reply(number, {"error": _as_object(error, method)})
                return
            if isinstance(answer, dict):
                self._reply(number, {"result": answer})
                return
            self.running[number] = request
            request.task = self._loop.create_task(self._serve(request, answer))
            request.task.add_done_callback(lambda task: self._finish(request, answer, task))

    async def _serve(self, request: Incoming, work: Coroutine[Any, Any, Answer]) -> None:
        result = await work
        if not request.is_cancelled:  # `_finish` comes a round of the event loop later
            self._reply(request.id, {"result": result})

    def _finish(self, request: Incoming, work: Coroutine[Any, Any, Answer], task: asyncio.Task[None]) -> None:
        """Reply to a request that failed, or that the end of the connection interrupted."""
        del self.running[request.id]
        work.close()  # it may not have begun
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None or request.is_cancelled:
            return
        if task.cancelled() and request.at_end is not None:
            self._reply(request.id, {"result": request.at_end})
        else:
            self._reply(request.id, {"error": _as_object(error, request.method)})

    def _tasks(self, is_meant: Callable[[Incoming], bool]) -> list[asyncio.Task[None]]:
        return [request.task for request in self.running.values() if request.task and is_meant(request)]

    def _reply(self, number: Id | None, outcome: Message) -> None:
        self.transport.send({"jsonrpc": "2.0", "id": number, **outcome})

    def _refuse(self, number: Id | None, words: str, code: int = ErrorCode.INVALID_REQUEST) -> None:
        self._reply(number, {"error": JsonRpcError(code, words).as_object()})

    def _count(self) -> bool:
        """Count an unsolicited message; return False if there are too many."""
        now = monotonic()
        gained = (now - self._counted_at) * self.limits.per_second
        self._tokens, self._counted_at = min(self.limits.burst, self._tokens + gained) - 1, now
        if self._tokens < 0:
            self.lose(ProtocolError(FLOOD))
        return self._tokens >= 0


def _as_object(error: BaseException, method: str) -> Message:
    """Return the `error` member for what ended a request."""
    if isinstance(error, RemitError):
        error = JsonRpcError.from_remit(error)
    elif isinstance(error, asyncio.CancelledError):
        error = JsonRpcError(ErrorCode.CONNECTION_CLOSED, "Connection closed")
    elif not isinstance(error, JsonRpcError):  # a failed request must not take down the others
        _logger.error("`%s` failed", method, exc_info=error)
        error = JsonRpcError(ErrorCode.INTERNAL_ERROR, "Internal error")
    return error.as_object()


def _id_or_none(value: object) -> Id | None:
    return value if isinstance(value, str | int) else None


def _invalid(message: object) -> str | None:
    """Say what is wrong with a message, if anything is."""
    if isinstance(message, list):
        return "send one message per line, not a list"
    members = as_object(message)
    number, params = members.get("id"), members.get("params")
    is_valid = (
        members.get("jsonrpc") == "2.0"
        and (number is None or type(number) is int or type(number) is str)
        and (params is None or isinstance(params, dict))
        and (isinstance(members.get("method"), str) or "result" in members or "error" in members)
    )
    return None if is_valid else "this is not a JSON-RPC 2.0 message"
