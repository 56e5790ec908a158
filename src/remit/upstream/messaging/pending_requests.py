"""Pending requests, with the notifications and questions that arrive before the answer."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import anyio

from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.messaging.messages import Message
from remit.upstream.ports import RequestContext

MAX_NOTIFICATIONS = 256  # pending for a slow caller; then the oldest are dropped
_FLUSH_SECONDS = 5.0  # for a caller to receive the notifications that came before the answer


class PendingRequest:
    """One request that waits for its answer."""

    __slots__ = (
        *("acknowledged", "answer", "arrived", "caller", "fault", "id", "is_notifying", "size", "time_limit"),
        *("_clock", "_deadline", "_inbox", "_loop", "_notified", "_scope", "progress_token", "questions"),
    )

    def __init__(self, number: int, caller: RequestContext | None = None) -> None:
        self.id = number
        self.caller = caller
        self.progress_token: object = None  # the caller's own
        self.answer: Message | None = None
        self.fault: Exception | None = None
        self.size = 0  # bytes of the answer
        self.time_limit: float | None = None  # seconds; progress restarts it
        self._loop = asyncio.get_running_loop()
        self.arrived: asyncio.Future[None] = self._loop.create_future()  # or it has failed, or taken too long
        self.acknowledged: anyio.Event | None = None  # for a change stream
        self.questions: dict[object, anyio.CancelScope] = {}  # requests from the server to the caller
        self.is_notifying = False
        self._inbox: deque[tuple[str, Params]] | None = None
        self._notified: anyio.Event | None = None
        self._scope: anyio.CancelScope | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._deadline = math.inf

    @property
    def is_over(self) -> bool:
        """Whether the answer or a failure has arrived."""
        return self.answer is not None or self.fault is not None

    def start_clock(self) -> None:
        """Start the time limit, after which `arrived` is set without an answer.

        A scope that is cancelled in time would do the same, but each call would make one.
        """
        if self.time_limit is not None:
            self._deadline = self._loop.time() + self.time_limit
            self._clock = self._loop.call_at(self._deadline, self._look_at_clock)

    def within_limit(self) -> anyio.CancelScope:
        """Start the time limit, and return a scope that it cancels, for work that `arrived` does not end."""
        self._scope = anyio.CancelScope()
        self.start_clock()
        return self._scope

    def extend(self) -> None:
        """Restart the time limit, which pauses while the caller is asked."""
        if self.questions:
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
        if self.answer is None and self.fault is None:
            self.fault = fault
            self._arrive()

    def result(self) -> Answer:
        """Return the server's result.

        Raises:
            JsonRpcError: the server answered with an error.
        """
        if self.fault is not None:
            raise self.fault
        assert self.answer is not None  # noqa: S101 - it has arrived
        error = self.answer.get("error")
        if error is not None:
            raise _error(error)
        return as_object(self.answer.get("result"))

    def notify(self, method: str, params: Params, start: Callable[..., object]) -> None:
        """Notify the caller in a task, in the order of arrival."""
        if self.caller is None:
            return
        if self._inbox is None:
            self._inbox = deque(maxlen=MAX_NOTIFICATIONS)
        self._inbox.append((method, params))
        if not self.is_notifying:
            self.is_notifying = True
            self._notified = anyio.Event()
            start(self._notify_all, self.caller, self._inbox, self._notified)

    async def _notify_all(
        self, caller: RequestContext, inbox: deque[tuple[str, Params]], notified: anyio.Event
    ) -> None:
        try:
            while inbox:
                method, params = inbox.popleft()
                with suppress(Exception):  # a caller that is gone must not disturb the server
                    await caller.notify(method, params)
        finally:
            self.is_notifying = False
            notified.set()

    async def flush(self) -> None:
        """Wait until the caller has received the notifications that came before the answer."""
        if self.is_notifying and self._notified is not None:
            with anyio.move_on_after(_FLUSH_SECONDS):
                await self._notified.wait()

    def close(self) -> None:
        """Stop the clock, drop pending notifications, and cancel open questions."""
        self.time_limit = None
        if self._clock is not None:
            self._clock.cancel()
        if self._inbox is not None:
            self._inbox.clear()
        for scope in self.questions.values():
            scope.cancel()

    def _arrive(self) -> None:
        if not self.arrived.done():
            self.arrived.set_result(None)

    def _look_at_clock(self) -> None:
        """Give up, or look again later if there was progress; while the caller is asked, do neither."""
        if self._deadline == math.inf:
            self._clock = None
        elif self._loop.time() < self._deadline:
            self._clock = self._loop.call_at(self._deadline, self._look_at_clock)
        else:
            self._arrive()
            if self._scope is not None:
                self._scope.cancel()


def _error(error: object) -> JsonRpcError:
    found = as_object(error)
    code, text = found.get("code"), found.get("message")
    return JsonRpcError(
        code if isinstance(code, int) else 0,
        text if isinstance(text, str) else "unknown error",
        found.get("data"),
    )
