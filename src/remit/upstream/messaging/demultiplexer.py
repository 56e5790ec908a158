"""Routes each message from a server to its pending request, its caller, or all listeners."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from remit.protocol.call_statistics import TokenBucket
from remit.protocol.constants import ELICITATION_COMPLETE, SUBSCRIPTION_KEY
from remit.protocol.json_rpc import ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.messaging.messages import LostError, Message, ProtocolError
from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.ports import RequestContext
from remit.upstream.transports.message_transport import MessageTransport

MAX_QUESTIONS_OPEN = 16  # requests from one server that wait for a caller's answer
MAX_REPLIES = 1_000  # pending replies that a server does not read
BURST, PER_SECOND = 5_000, 500.0  # unsolicited messages
MAX_ELICITATIONS = 256  # per connection; users may never come back to a page
FLOOD = "floods Remit with messages"

_CHANGES = frozenset(
    f"notifications/{what}"
    for what in ("tools/list_changed", "resources/list_changed", "prompts/list_changed", "resources/updated")
)

OnNotification = Callable[[str, Params], None]


class Demultiplexer:
    """Receives all messages of one connection."""

    def __init__(self, tasks: TaskGroup, on_notification: OnNotification) -> None:
        self._tasks = tasks
        self._on_notification = on_notification  # for changes, which concern every caller
        self._elicitations = UrlElicitations()
        self._questions = 0
        self._replies = 0
        self._bucket = TokenBucket(BURST, PER_SECOND, now=monotonic())
        self.transport: MessageTransport | None = None
        self.pending: dict[int, PendingRequest] = {}
        self.fault: Exception | None = None
        self.is_lost = anyio.Event()
        self.heard_at = monotonic()

    def take(self, message: Any, size: int, request: PendingRequest | None = None) -> None:
        """Route a message, which may come from the stream of a request."""
        if isinstance(message, list):  # a batch, which 2025-03-26 allowed
            self._count()
            for one in cast("list[Any]", message):
                if self.fault is None:
                    self.take(None if isinstance(one, list) else one, size, request)
            return
        if not isinstance(message, dict):
            self._count()
            return
        self.heard_at = monotonic()
        found = cast("Message", message)
        method, identity = found.get("method"), found.get("id")
        if method is None:
            self._take_answer(found, identity, size)
        elif isinstance(method, str) and self._count():
            params = as_object(found.get("params"))
            if identity is None:
                self._take_notification(method, params, request)
            else:
                self._take_request(identity, method, params, request or self._only_callers())

    def unreadable(self, number: int | None, fault: Exception) -> None:
        """Fail the request whose answer is unreadable, or all requests if it is unknown."""
        pending = None if number is None else self.pending.get(number)
        if pending is not None:
            pending.fail(fault)
        elif self.pending:
            self.lost(fault)

    def lost(self, fault: Exception) -> None:
        """Fail all requests: the connection is gone."""
        if self.fault is None:
            self.fault = fault
            for pending in self.pending.values():
                pending.fail(fault)
            self.is_lost.set()

    def _take_answer(self, answer: Message, identity: object, size: int) -> None:
        pending = self._find(identity)
        if pending is None:
            self._count()
            return
        if pending.caller is not None:
            self._elicitations.note_required(answer, pending.caller)
        pending.take_answer(answer, size)

    def _find(self, identity: object) -> PendingRequest | None:
        if isinstance(identity, str) and identity.isdecimal() and len(identity) < 19:
            identity = int(identity)
        return self.pending.get(identity) if isinstance(identity, int) else None

    def _only_callers(self) -> PendingRequest | None:
        """Return the latest request if all are of one caller; else nobody knows whose a message is."""
        asked = [each for each in self.pending.values() if each.caller is not None]
        callers = {(each.caller.session, each.caller.principal) for each in asked if each.caller is not None}
        return asked[-1] if len(callers) == 1 else None

    def _count(self) -> bool:
        """Count an unsolicited message; return False if there are too many."""
        is_flood = self._bucket.take(monotonic()) > 0
        if is_flood:
            self.lost(ProtocolError(FLOOD))
        return not is_flood

    def _take_notification(self, method: str, params: Message, request: PendingRequest | None) -> None:
        if method in _CHANGES:
            self._on_notification(method, {name: value for name, value in params.items() if name != "_meta"})
        elif method == "notifications/progress":
            self._take_progress(method, params)
        elif method == "notifications/message":
            about = request or self._only_callers()
            if about is not None:
                about.notify(method, params, self._tasks.start_soon)
        elif method == ELICITATION_COMPLETE:
            if (caller := self._elicitations.pop_completed(params)) is not None:
                self._tasks.start_soon(_notify, caller, method, params)
        elif method == "notifications/cancelled":
            self._take_cancellation(params)
        elif method == "notifications/subscriptions/acknowledged":
            about = request or self._find(as_object(params.get("_meta")).get(SUBSCRIPTION_KEY))
            if about is not None and about.acknowledged is not None:
                about.acknowledged.set()

    def _take_progress(self, method: str, params: Message) -> None:
        about = self._find(params.get("progressToken"))
        if about is not None:
            about.extend()
            if about.progress_token is not None:
                forwarded = {**params, "progressToken": about.progress_token}
                about.notify(method, forwarded, self._tasks.start_soon)

    def _take_cancellation(self, params: Message) -> None:
        for each in self.pending.values():
            if (scope := each.questions.get(_hashable(params.get("requestId")))) is not None:
                scope.cancel()
        ended = self._find(params.get("requestId"))
        if ended is not None and ended.acknowledged is not None:  # it ends a change stream
            ended.fail(LostError())

    def _take_request(
        self, identity: object, method: str, params: Message, request: PendingRequest | None
    ) -> None:
        """Answer a server's request through the caller of the request that it belongs to."""
        if self._replies >= MAX_REPLIES:
            self.lost(ProtocolError(FLOOD))
        elif method == "ping":
            self._tasks.start_soon(self._reply, identity, {"result": dict[str, object]()})
        elif request is None or request.caller is None:
            self._refuse(identity, JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found"))
        elif self._questions >= MAX_QUESTIONS_OPEN:
            self._refuse(identity, JsonRpcError(ErrorCode.INTERNAL_ERROR, "Too many questions at once"))
        else:
            if method == "elicitation/create":  # noted now: its completion may follow at once
                self._elicitations.note(params, request.caller)
            self._tasks.start_soon(self._relay, identity, method, params, request, request.caller)

    def _refuse(self, identity: object, error: JsonRpcError) -> None:
        self._tasks.start_soon(self._reply, identity, {"error": error.as_object()})

    async def _relay(
        self, identity: object, method: str, params: Message, request: PendingRequest, caller: RequestContext
    ) -> None:
        name = _hashable(identity)
        self._questions += 1
        try:
            with anyio.CancelScope() as scope:
                request.questions[name] = scope
                request.extend()
                try:
                    outcome: Message = {"result": await caller.send_request(method, params)}
                except JsonRpcError as error:
                    outcome = {"error": error.as_object()}
                await self._reply(identity, outcome)
        finally:
            self._questions -= 1
            request.questions.pop(name, None)
            request.extend()

    async def _reply(self, identity: object, outcome: Message) -> None:
        assert self.transport is not None  # noqa: S101 - messages come through it
        self._replies += 1
        try:
            with suppress(Exception):  # the server is gone, or refuses the answer
                await self.transport.send({"jsonrpc": "2.0", "id": identity, **outcome})
        finally:
            self._replies -= 1


async def _notify(caller: RequestContext, method: str, params: Params) -> None:
    with suppress(Exception):  # a caller that is gone must not disturb the server
        await caller.notify(method, params)


def _hashable(identity: object) -> object:
    return identity if isinstance(identity, str | int) else None


class UrlElicitations:
    """Remembers which caller was sent to which URL, so only that caller is notified of the completion.

    A server names a URL in `elicitation/create`, or in an error that requires a visit first.
    """

    def __init__(self) -> None:
        self._callers: OrderedDict[str, RequestContext] = OrderedDict()

    def note(self, params: Mapping[str, Any], caller: RequestContext) -> None:
        """Remember the caller of an elicitation, if it names a URL."""
        identity = params.get("elicitationId")
        if params.get("mode") == "url" and isinstance(identity, str):
            self._callers[identity] = caller
            self._callers.move_to_end(identity)
            if len(self._callers) > MAX_ELICITATIONS:
                self._callers.popitem(last=False)

    def note_required(self, answer: Message, caller: RequestContext) -> None:
        """Remember the caller of a request that fails until a URL is visited."""
        if "error" not in answer:
            return
        error = as_object(answer["error"])
        required = as_object(error.get("data")).get("elicitations")
        if error.get("code") == ErrorCode.URL_ELICITATION_REQUIRED and isinstance(required, list):
            for each in cast("list[object]", required):
                self.note(as_object(each), caller)

    def pop_completed(self, params: Mapping[str, Any]) -> RequestContext | None:
        """Remove and return the caller of a completed elicitation."""
        identity = params.get("elicitationId")
        return self._callers.pop(identity, None) if isinstance(identity, str) else None
