"""Requests under way: what comes back for each of them, and who is asked and told meanwhile."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress

import anyio

from remit.upstream.messaging.messages import Message, fields
from remit.upstream.ports import Answer, JsonRpcError, Params, RequestContext

MAX_WAITING = 256  # notifications that a slow caller has not taken yet; then the oldest are let go
_FAREWELL = 5.0  # seconds for a caller to take what was said before the answer


class PendingRequest:
    """One request that waits for its answer."""

    __slots__ = (
        *("acknowledged", "answer", "arrived", "asks", "caller", "fault", "id", "is_telling", "size"),
        *("_inbox", "_limit", "_scope", "_told", "token"),
    )

    def __init__(self, number: int, caller: RequestContext | None = None) -> None:
        self.id = number
        self.caller = caller
        self.token: object = None  # the caller's own, of its progress
        self.answer: Message | None = None
        self.fault: Exception | None = None
        self.size = 0  # bytes of the answer
        self.arrived = anyio.Event()
        self.acknowledged: anyio.Event | None = None  # of a stream of changes
        self.asks: dict[object, anyio.CancelScope] = {}  # what its server asks the caller
        self.is_telling = False
        self._inbox: deque[tuple[str, Params]] | None = None
        self._told: anyio.Event | None = None
        self._scope: anyio.CancelScope | None = None
        self._limit: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is waited for."""
        return self.arrived.is_set()

    def within(self, seconds: float | None) -> anyio.CancelScope:
        """Make the scope in which the answer is waited for; what is heard of it begins the time anew."""
        self._limit = seconds
        self._scope = anyio.CancelScope()
        self.prolong()
        return self._scope

    def prolong(self) -> None:
        """Begin the time anew; while a person is asked, it stands still."""
        if self._scope is not None and self._limit is not None:
            waits = bool(self.asks)
            self._scope.deadline = float("inf") if waits else anyio.current_time() + self._limit

    def answered(self, message: Message, size: int = 0) -> None:
        """Take the answer."""
        self.answer, self.size = message, size
        self.arrived.set()

    def failed(self, fault: Exception) -> None:
        """Give up waiting."""
        if self.answer is None and self.fault is None:
            self.fault = fault
            self.arrived.set()

    def result(self) -> Answer:
        """Give what the server answered.

        Raises:
            JsonRpcError: it is an error.
        """
        if self.fault is not None:
            raise self.fault
        assert self.answer is not None  # noqa: S101 - it has arrived
        error = self.answer.get("error")
        if error is not None:
            raise _answered(error)
        return fields(self.answer.get("result"))

    def notify(self, method: str, params: Params, start: Callable[..., object]) -> None:
        """Tell the caller something in a task of its own, in the order of the wire."""
        if self.caller is None:
            return
        if self._inbox is None:
            self._inbox = deque(maxlen=MAX_WAITING)
        self._inbox.append((method, params))
        if not self.is_telling:
            self.is_telling = True
            self._told = anyio.Event()
            start(self._tell_all, self.caller, self._inbox, self._told)

    async def _tell_all(
        self, caller: RequestContext, inbox: deque[tuple[str, Params]], told: anyio.Event
    ) -> None:
        try:
            while inbox:
                method, params = inbox.popleft()
                with suppress(Exception):  # a caller that is gone costs the server nothing
                    await caller.notify(method, params)
        finally:
            self.is_telling = False
            told.set()

    async def settle(self) -> None:
        """See to it that all that came before the answer is told before it."""
        if self.is_telling and self._told is not None:
            with anyio.move_on_after(_FAREWELL):
                await self._told.wait()

    def close(self) -> None:
        """End what was asked and told on its behalf."""
        if self._inbox is not None:
            self._inbox.clear()
        for scope in self.asks.values():
            scope.cancel()


async def answer_from_caller(caller: RequestContext, method: str, params: Params) -> Message:
    """Ask a caller on behalf of a server, and give what the server is answered."""
    try:
        return {"result": await caller.send_request(method, params)}
    except JsonRpcError as error:
        data = {} if error.data is None else {"data": error.data}
        return {"error": {"code": error.code, "message": str(error), **data}}


def _answered(error: object) -> JsonRpcError:
    told = fields(error)
    code, text = told.get("code"), told.get("message")
    return JsonRpcError(
        code if isinstance(code, int) else 0,
        text if isinstance(text, str) else "unknown error",
        told.get("data"),
    )
