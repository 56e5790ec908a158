"""Takes all that a server sends, and leads it to where it belongs: an answer, a caller, or all who listen."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from remit.protocol.constants import ELICITED, INTERNAL_ERROR, METHOD_NOT_FOUND, SUBSCRIPTION_KEY
from remit.upstream.messaging.messages import LostError, Message, ProtocolError, fields
from remit.upstream.messaging.pending_requests import PendingRequest, answer_from_caller
from remit.upstream.messaging.url_elicitations import UrlElicitations
from remit.upstream.ports import Params, RequestContext
from remit.upstream.transports.message_transport import MessageTransport

MAX_ASKED = 16  # questions of one server that are open at once
MAX_REPLIES = 1_000  # that a server has asked for and does not read
BURST, PER_SECOND = 5_000, 500.0  # messages that are no answers, or answers that nobody waits for
FLOOD = "floods Remit with messages"

_CHANGES = frozenset(
    f"notifications/{what}"
    for what in ("tools/list_changed", "resources/list_changed", "prompts/list_changed", "resources/updated")
)

OnNotification = Callable[[str, Params], None]


class Demultiplexer:
    """The ear of one connection."""

    def __init__(self, tasks: TaskGroup, heard: OnNotification) -> None:
        self._tasks = tasks
        self._heard = heard  # changes, of which everyone may want to know
        self._elicitations = UrlElicitations()
        self._asked = 0
        self._replies = 0
        self._allowance, self._counted_at = float(BURST), anyio.current_time()
        self.wire: MessageTransport | None = None
        self.calls: dict[int, PendingRequest] = {}
        self.fault: Exception | None = None
        self.is_lost = anyio.Event()
        self.heard_at = anyio.current_time()

    def take(self, message: Any, size: int, call: PendingRequest | None = None) -> None:
        """Take a message that came, on the stream of a call where it belongs to one."""
        if isinstance(message, list):  # as the protocol once had it
            self._may_say()
            for one in cast("list[Any]", message):
                if self.fault is None:
                    self.take(None if isinstance(one, list) else one, size, call)
            return
        if not isinstance(message, dict):
            self._may_say()
            return
        self.heard_at = anyio.current_time()
        found = cast("Message", message)
        method, number = found.get("method"), found.get("id")
        if method is None:
            if (waiting := self._call(number)) is not None:
                if waiting.caller is not None:
                    self._elicitations.note_needed(found, waiting.caller)
                waiting.answered(found, size)
            else:
                self._may_say()
            return
        if not isinstance(method, str) or not self._may_say():
            return
        params = fields(found.get("params"))
        if number is None:
            self._told(method, params, call)
        else:
            self._answer(number, method, params, call or self._latest())

    def unreadable(self, number: int | None, fault: Exception) -> None:
        """Let the call fail whose answer it was; where that is not known, all of them."""
        call = None if number is None else self.calls.get(number)
        if call is not None:
            call.failed(fault)
        elif self.calls:
            self.lost(fault)

    def lost(self, fault: Exception) -> None:
        """Let all calls fail: nothing more will come."""
        if self.fault is None:
            self.fault = fault
            for call in self.calls.values():
                call.failed(fault)
            self.is_lost.set()

    def _call(self, number: object) -> PendingRequest | None:
        if isinstance(number, str) and number.isdecimal() and len(number) < 19:
            number = int(number)
        return self.calls.get(number) if isinstance(number, int) else None

    def _latest(self) -> PendingRequest | None:
        return next((call for call in reversed(self.calls.values()) if call.caller is not None), None)

    def _may_say(self) -> bool:
        now = anyio.current_time()
        gained = (now - self._counted_at) * PER_SECOND
        self._allowance, self._counted_at = min(BURST, self._allowance + gained) - 1, now
        if self._allowance < 0:
            self.lost(ProtocolError(FLOOD))
        return self._allowance >= 0

    def _told(self, method: str, params: Message, call: PendingRequest | None) -> None:
        if method in _CHANGES:
            self._heard(method, {name: value for name, value in params.items() if name != "_meta"})
        elif method == "notifications/progress":
            about = self._call(params.get("progressToken"))
            if about is not None:
                about.prolong()
                if about.token is not None:
                    about.notify(method, {**params, "progressToken": about.token}, self._tasks.start_soon)
        elif method == "notifications/message":
            about = call or self._latest()
            if about is not None:
                about.notify(method, params, self._tasks.start_soon)
        elif method == ELICITED:
            if (whoever := self._elicitations.completed(params)) is not None:
                self._tasks.start_soon(_tell, whoever, method, params)
        elif method == "notifications/cancelled":
            for each in self.calls.values():
                if (scope := each.asks.get(_hashable(params.get("requestId")))) is not None:
                    scope.cancel()
            ended = self._call(params.get("requestId"))
            if ended is not None and ended.acknowledged is not None:  # it ends a stream of changes
                ended.failed(LostError())
        elif method == "notifications/subscriptions/acknowledged":
            about = call or self._subscription(params)
            if about is not None and about.acknowledged is not None:
                about.acknowledged.set()

    def _subscription(self, params: Message) -> PendingRequest | None:
        return self._call(fields(params.get("_meta")).get(SUBSCRIPTION_KEY))

    def _answer(self, number: object, method: str, params: Message, call: PendingRequest | None) -> None:
        """Answer what the server asks, through the caller of the request that it belongs to."""
        if self._replies >= MAX_REPLIES:
            self.lost(ProtocolError(FLOOD))
        elif method == "ping":
            self._tasks.start_soon(self._reply, number, {"result": dict[str, object]()})
        elif call is None or call.caller is None:
            error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
            self._tasks.start_soon(self._reply, number, {"error": error})
        elif self._asked >= MAX_ASKED:
            error = {"code": INTERNAL_ERROR, "message": "Too many questions at once"}
            self._tasks.start_soon(self._reply, number, {"error": error})
        else:
            if method == "elicitation/create":
                self._elicitations.note(params, call.caller)  # now: that it is done may be said at once
            self._tasks.start_soon(self._ask, number, method, params, call)

    async def _ask(self, number: object, method: str, params: Message, call: PendingRequest) -> None:
        assert call.caller is not None  # noqa: S101 - it is why this is asked
        name = _hashable(number)
        self._asked += 1
        try:
            with anyio.CancelScope() as scope:
                call.asks[name] = scope
                call.prolong()
                await self._reply(number, await answer_from_caller(call.caller, method, params))
        finally:
            self._asked -= 1
            call.asks.pop(name, None)
            call.prolong()

    async def _reply(self, number: object, outcome: Message) -> None:
        assert self.wire is not None  # noqa: S101 - nothing comes without it
        self._replies += 1
        try:
            with suppress(Exception):  # the server is gone, or refuses to hear what it asked for
                await self.wire.send({"jsonrpc": "2.0", "id": number, **outcome})
        finally:
            self._replies -= 1


async def _tell(caller: RequestContext, method: str, params: Params) -> None:
    with suppress(Exception):  # a caller that is gone costs the server nothing
        await caller.notify(method, params)


def _hashable(number: object) -> object:
    return number if isinstance(number, str | int) else None
