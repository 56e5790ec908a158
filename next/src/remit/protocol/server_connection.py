"""A connection to one server: the handshake, requests for callers, lists, and the server's questions.

Answers stay raw JSON, because one bad tool must not spoil a whole list.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import anyio

from remit.protocol.caller import Caller
from remit.protocol.change_streams import ChangeStreams
from remit.protocol.eras import (
    DISCOVER,
    INITIALIZE,
    LISTEN,
    RULES,
    SET_LEVEL,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Era,
    Handshake,
)
from remit.protocol.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    ELICITATION_COMPLETE,
    ENVELOPE_KEYS,
    SERVER_KEY,
    SUBSCRIPTION_KEY,
    VERSION_KEY,
    Answer,
    ErrorCode,
    JsonRpcError,
    LostError,
    Params,
    PeerError,
    ProtocolError,
    RefusedError,
)
from remit.protocol.peer import SERVER_LIMITS, Incoming, Peer, Pending, Tasks, Transport
from remit.text import as_list, as_object

PARTS = frozenset({"tools", "resources", "templates", "prompts"})
MAX_ITEMS = 10_000  # per list
MAX_LIST_BYTES = 64 * 2**20  # all the tools of a large server take about one megabyte
MAX_NOTIFICATIONS = 256  # pending for a slow caller; then the oldest are dropped
MAX_QUESTIONS = 16  # from one server that wait for an answer, and in one `input_required`
MAX_ROUNDS = 10  # of `input_required`
MAX_ELICITATIONS = 256  # per connection; users may never come back to a page
EXTRAS_SECONDS = 10.0  # for each list other than the tools
PROBE_SECONDS = 10.0  # for a server that ignores methods it does not know
QUICK_SECONDS = 30.0  # for requests that need no work

_UNKNOWN_VERSION = "supports no protocol version that Remit supports"
_FLUSH_SECONDS = 5.0  # for a caller to receive the notifications that came before the answer
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.25  # seconds, if a server only wants a retry
_LISTS = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}
_CHANGES = frozenset(
    f"notifications/{what}"
    for what in ("tools/list_changed", "resources/list_changed", "prompts/list_changed", "resources/updated")
)

RawLists = Mapping[str, list[Any]]  # the items of each part that answered
OnChange = Callable[[str, Params], None]


class ServerTransport(Transport, Protocol):
    """A transport to a server."""

    @property
    def keeps_state(self) -> bool: ...  # the server may tie state to this connection
    @property
    def only_era(self) -> Era | None: ...  # the only era that has this transport; None: every era
    @property
    def closes_streams(self) -> bool: ...  # giving up a request closes its stream
    def settle(self, handshake: Handshake) -> None: ...  # for all further messages
    def learn(self, tools: Iterable[Any]) -> None: ...  # whose arguments may have to be repeated in headers


class _Call(Pending):
    """A request for a caller, with the notifications and questions that arrive before the answer."""

    __slots__ = ("_inbox", "_notified", "caller", "on_acknowledged", "progress_token", "questions")

    def __init__(self, number: int, caller: Caller | None, time_limit: float | None) -> None:
        super().__init__(number, time_limit)
        self.caller = caller
        self.progress_token: object = None  # the caller's own
        self.on_acknowledged: Callable[[], None] | None = None  # for a change stream
        self.questions: set[Incoming] = set()  # requests from the server to the caller
        self._inbox: deque[tuple[str, Params]] = deque(maxlen=MAX_NOTIFICATIONS)
        self._notified: asyncio.Task[None] | None = None  # while the caller is notified

    def notify(self, method: str, params: Params, tasks: Tasks) -> None:
        """Notify the caller in a task, in the order of arrival."""
        if self.caller is not None:
            self._inbox.append((method, params))
            if self._notified is None or self._notified.done():
                self._notified = tasks.start(self._notify_all(self.caller))

    async def flush(self) -> None:
        """Wait until the caller has received the notifications that came before the answer."""
        if self._notified is not None and not self._notified.done():
            await asyncio.wait([self._notified], timeout=_FLUSH_SECONDS)

    def drop(self) -> None:
        """Drop pending notifications, and cancel open questions."""
        self._inbox.clear()
        for question in self.questions:
            question.cancel()

    async def _notify_all(self, caller: Caller) -> None:
        while self._inbox:
            await _notify(caller, *self._inbox.popleft())


class ServerConnection:
    """An open connection to one server."""

    def __init__(self, transport: ServerTransport, tasks: Tasks, client: Params, on_change: OnChange) -> None:
        self._transport = transport
        self._tasks = tasks
        self._client = client
        self._on_change = on_change
        self._log_level: object = None
        self._streams: ChangeStreams | None = None
        self._messages = _ServerMessages(on_change)
        self._peer = self._messages.peer = Peer(transport, tasks, self._messages, SERVER_LIMITS)
        self.lost = self._peer.lost  # set once the connection is gone
        self.handshake = Handshake(Era.SESSION, "")  # until it is open

    @property
    def keeps_state(self) -> bool:
        """Whether the server may keep state between requests."""
        return RULES[self.handshake.era].keeps_state and self._transport.keeps_state

    @property
    def heard_at(self) -> float:
        """When the server last sent a message, by `time.monotonic`."""
        return self._peer.heard_at

    @property
    def fault(self) -> Exception | None:
        """Why the connection is gone; None while it is open."""
        return self._peer.fault

    def lose(self, fault: Exception) -> None:
        """Give up the connection, and fail its requests."""
        self._peer.lose(fault)

    async def open(self, capabilities: Params, era: Era | None) -> None:
        """Perform the handshake, of which `connect` tells more."""
        self._tasks.start(self._peer.run())
        self._peer.announces_cancellation = False
        era = self._transport.only_era or era
        self.handshake = handshake = await _negotiate(self._peer, self._client, capabilities, era)
        rules = RULES[handshake.era]
        self._transport.settle(handshake)
        self._peer.announces_cancellation = not (rules.cancels_by_closing and self._transport.closes_streams)
        if rules.opening == INITIALIZE:
            self._peer.notify("notifications/initialized")
            await self._transport.flush()
        else:
            self._streams = ChangeStreams(self._listen, self._tasks, self._on_change)
            self._streams.follow_lists(handshake.capabilities)

    async def request(
        self,
        method: str,
        params: Params | None = None,
        *,
        caller: Caller | None = None,
        time_limit: float | None = None,
    ) -> Answer:
        """Send a request, and return the raw answer; questions on the way go to the caller.

        Raises:
            JsonRpcError: the server answers with an error, or the caller refuses its questions.
            PeerError: the connection is gone, refused, or the response is not a valid answer.
            TimeoutError: it does not answer in time.
        """
        params = params or {}
        has_levels = SET_LEVEL not in RULES[self.handshake.era].missing  # else each request carries its own
        if method in (SUBSCRIBE, UNSUBSCRIBE):
            if not isinstance(uri := params.get("uri"), str):
                raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`uri` is missing or invalid")
            await self.follow(uri) if method == SUBSCRIBE else self.ignore(uri)
            return {}
        if method == SET_LEVEL:
            self._log_level = params.get("level")
            if not has_levels:
                return {}
        elif has_levels and caller is not None and caller.log_level not in (None, self._log_level):
            self._log_level = caller.log_level
            if "logging" in self.handshake.capabilities:
                await self._try(SET_LEVEL, {"level": caller.log_level})

        async def ask(more: Params) -> Answer:
            return await self._ask(method, more, caller, time_limit)

        answer = await ask(params)
        if _is_input_required(answer) and caller is not None and not caller.takes_input_required:
            return await _complete_input(answer, params, caller, ask)
        return answer

    async def lists(self, parts: Collection[str] = PARTS, *, time_limit: float | None = None) -> RawLists:
        """Read lists, and raise what `request` raises, for the tools only.

        Other lists may fail or hang, for example when a server's database is down: the tools still count.
        """
        lists: dict[str, list[Any]] = {}

        async def list_extra(part: str) -> None:
            with (
                anyio.move_on_after(min(time_limit or EXTRAS_SECONDS, EXTRAS_SECONDS)),
                suppress(JsonRpcError, PeerError),
            ):
                lists[part] = await self._list(part)

        if "tools" in parts:
            with anyio.fail_after(time_limit):
                lists["tools"] = await self._list("tools")
            self._transport.learn(lists["tools"])
        await asyncio.gather(*(list_extra(part) for part in parts if part != "tools"))
        return lists

    async def follow(self, uri: str) -> None:
        """Subscribe to a resource; raises what `request` raises."""
        if self._streams is not None:
            with anyio.fail_after(QUICK_SECONDS):
                await self._streams.follow(uri)
        else:
            await self._ask(SUBSCRIBE, {"uri": uri}, None, QUICK_SECONDS)

    def ignore(self, uri: str) -> None:
        """End the subscription to a resource."""
        if self._streams is not None:
            self._streams.ignore(uri)
        else:
            self._tasks.start(self._try(UNSUBSCRIBE, {"uri": uri}))

    async def _try(self, method: str, params: Params) -> None:
        with suppress(JsonRpcError, PeerError, TimeoutError):
            await self._ask(method, params, None, QUICK_SECONDS)

    async def _ask(
        self, method: str, params: Params, caller: Caller | None, time_limit: float | None
    ) -> Answer:
        """Send a request; if it lacks headers for its arguments, list the tools and send it again."""
        try:
            return await self._exchange(method, params, self._call(caller, time_limit))
        except JsonRpcError as error:
            if caller is not None and error.code == ErrorCode.URL_ELICITATION_REQUIRED:
                for elicitation in as_list(as_object(error.data).get("elicitations")):
                    self._messages.note_elicitation(as_object(elicitation), caller)
            if error.code != ErrorCode.HEADER_MISMATCH or method != "tools/call":
                raise
        with anyio.fail_after(time_limit):
            self._transport.learn(await self._list("tools"))
        return await self._exchange(method, params, self._call(caller, time_limit))

    def _call(self, caller: Caller | None = None, time_limit: float | None = None) -> _Call:
        return _Call(self._peer.next_id(), caller, time_limit)

    async def _exchange(self, method: str, params: Params, call: _Call) -> Answer:
        try:
            answer = await self._peer.request(method, self._enveloped(params, call), call)
            await call.flush()
            return answer
        finally:
            call.drop()

    def _enveloped(self, params: Params, call: _Call) -> Params:
        """Replace what the caller's envelope says by our own."""
        handshake = self.handshake
        envelope = RULES[handshake.era].envelope(handshake.version, self._client, call.caller)
        if "_meta" not in params:
            return {**params, "_meta": envelope} if envelope else params
        given = as_object(params["_meta"])
        meta = {name: value for name, value in given.items() if name not in ENVELOPE_KEYS}
        if (token := meta.get("progressToken")) is not None:
            call.progress_token, meta["progressToken"] = token, call.id
        meta.update(envelope)
        rest = {name: value for name, value in params.items() if name != "_meta"}
        return {**rest, "_meta": meta} if meta else rest

    async def _list(self, part: str) -> list[Any]:
        """List one part if the server declares it, and tools always: some servers forget to declare them."""
        capability = "resources" if part == "templates" else part
        if part != "tools" and capability not in self.handshake.capabilities:
            return []
        try:
            return await self._pages(*_LISTS[part])
        except JsonRpcError as error:
            if error.code == ErrorCode.METHOD_NOT_FOUND:
                return []
            raise

    async def _pages(self, method: str, field: str) -> list[Any]:
        """List the items of all pages."""
        items: list[Any] = []
        cursors: set[str] = set()
        cursor: object = None
        size = 0
        while True:
            call = self._call()
            page = await self._exchange(method, {} if cursor is None else {"cursor": cursor}, call)
            if not isinstance(page.get(field), list):
                raise ProtocolError(f"answers with something other than a list of {field}")
            items.extend(as_list(page[field]))
            cursor, size = page.get("nextCursor"), size + call.size
            if len(items) > MAX_ITEMS:
                raise ProtocolError(f"lists more than {MAX_ITEMS:,} {field}")
            if size > MAX_LIST_BYTES:
                raise ProtocolError(f"sends more than {MAX_LIST_BYTES // 2**20} MB")
            if not cursor or not isinstance(cursor, str):
                return items
            if cursor in cursors:
                raise ProtocolError(f"its list of {field} has no end: {len(items):,} so far")
            cursors.add(cursor)

    async def _listen(self, wanted: Params, on_acknowledged: Callable[[], None]) -> None:
        """Keep a change stream open until it ends."""
        call = self._call()
        call.on_acknowledged = on_acknowledged
        await self._exchange(LISTEN, {"notifications": wanted}, call)


@asynccontextmanager
async def connect(
    transport: ServerTransport,
    client: Params,
    capabilities: Params,
    *,
    era: Era | None = None,
    on_change: OnChange = lambda _, __: None,
) -> AsyncGenerator[ServerConnection]:
    """Open a connection in a client's role, and close the transport when the block ends.

    A known era saves the question for it. `on_change` hears of changed lists and resources.

    Raises:
        JsonRpcError: the server answers the handshake with an error.
        PeerError: it is lost, refuses, or violates the protocol.
    """
    async with Tasks() as tasks:
        connection = ServerConnection(transport, tasks, client, on_change)
        try:
            await connection.open(capabilities, era)
            yield connection
        finally:
            await transport.close()


async def _negotiate(peer: Peer, client: Params, capabilities: Params, era: Era | None) -> Handshake:
    """Try the latest era first, unless sessions are known to be needed, and fall back to those."""
    version = None if era is Era.SESSION else RULES[Era.STATELESS].latest
    for _ in range(3):
        if version is not None:
            answer = await _discover(peer, client, capabilities, version)
            if isinstance(answer, Handshake):
                return answer
            if answer is not None and answer != version:
                version = answer
                continue
        try:
            return await _initialize(peer, client, capabilities)
        except JsonRpcError as error:  # the server understood `server/discover`, but answered it too late
            version = _named_version(error)
            if version is None:
                raise
    raise ProtocolError(_UNKNOWN_VERSION)


async def _initialize(peer: Peer, client: Params, capabilities: Params) -> Handshake:
    rules = RULES[Era.SESSION]
    offer = {"protocolVersion": rules.latest, "capabilities": dict(capabilities), "clientInfo": dict(client)}
    answer = await peer.request(INITIALIZE, offer)
    version = answer.get("protocolVersion")
    if version not in rules.versions:
        raise ProtocolError(_UNKNOWN_VERSION)
    return _handshake(Era.SESSION, version, answer, answer.get("serverInfo"))


async def _discover(peer: Peer, client: Params, capabilities: Params, version: str) -> Handshake | str | None:
    """Ask a server for its description.

    Returns the version to try next if the server names one, and None if it belongs to another era.
    """
    meta = {VERSION_KEY: version, CLIENT_KEY: client, CAPABILITIES_KEY: dict(capabilities)}
    try:
        answer = await peer.request(DISCOVER, {"_meta": meta}, Pending(peer.next_id(), PROBE_SECONDS))
    except JsonRpcError as error:
        common, known = _named_version(error), as_list(as_object(error.data).get("supported"))
        is_unsupported = error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION and known
        if is_unsupported and common is None and RULES[Era.SESSION].common(known) is None:
            raise ProtocolError(_UNKNOWN_VERSION) from None
        return common
    except (ProtocolError, RefusedError, TimeoutError) as error:
        if peer.fault is not None or (isinstance(error, RefusedError) and error.status in (401, 403)):
            raise
        return None
    if version not in as_list(answer.get("supportedVersions")):
        return None
    return _handshake(Era.STATELESS, version, answer, as_object(answer.get("_meta")).get(SERVER_KEY))


def _handshake(era: Era, version: str, answer: Answer, server: object) -> Handshake:
    instructions = answer.get("instructions")
    told = instructions if isinstance(instructions, str) else None
    return Handshake(era, version, as_object(answer.get("capabilities")), as_object(server), told)


def _named_version(error: JsonRpcError) -> str | None:
    """Choose one of the versions that an error names."""
    if error.code != ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
        return None
    return RULES[Era.STATELESS].common(as_object(error.data).get("supported"))


class _ServerMessages:
    """Routes what a server sends on its own: to the request it belongs to, its caller, or all listeners."""

    peer: Peer

    def __init__(self, on_change: OnChange) -> None:
        self._on_change = on_change
        self._elicitations: OrderedDict[str, Caller] = OrderedDict()  # who was sent to which page

    def answer(self, request: Incoming) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer a server's request through the caller of the request that it belongs to."""
        if request.method == "ping":
            return {}
        call = self._call_of(request.pending)
        if call is None or call.caller is None:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found")
        if len(self.peer.running) >= MAX_QUESTIONS:
            raise JsonRpcError(ErrorCode.INTERNAL_ERROR, "Too many questions at once")
        if request.method == "elicitation/create":  # noted now: its completion may follow at once
            self.note_elicitation(request.params, call.caller)
        return self._relay(request, call, call.caller)

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:
        """Route a notification."""
        tasks = self.peer.tasks
        if method in _CHANGES:
            self._on_change(method, {name: value for name, value in params.items() if name != "_meta"})
        elif method == "notifications/progress":
            call = self.peer.find(params.get("progressToken"))
            if isinstance(call, _Call):
                call.extend()
                if call.progress_token is not None:
                    call.notify(method, {**params, "progressToken": call.progress_token}, tasks)
        elif method == "notifications/message":
            if (call := self._call_of(pending)) is not None:
                call.notify(method, params, tasks)
        elif method == ELICITATION_COMPLETE:
            caller = self._elicitations.pop(str(params.get("elicitationId")), None)
            if caller is not None:
                tasks.start(_notify(caller, method, params))
        elif method == "notifications/cancelled":
            ended = self.peer.find(params.get("requestId"))
            if isinstance(ended, _Call) and ended.on_acknowledged is not None:  # it ends a change stream
                ended.fail(LostError())
        elif method == "notifications/subscriptions/acknowledged":
            call = pending or self.peer.find(as_object(params.get("_meta")).get(SUBSCRIPTION_KEY))
            if isinstance(call, _Call) and call.on_acknowledged is not None:
                call.on_acknowledged()

    def note_elicitation(self, params: Params, caller: Caller) -> None:
        """Remember the caller of an elicitation that names a URL, to be notified of its completion.

        A server names a URL in `elicitation/create`, or in an error that requires a visit first.
        """
        number = params.get("elicitationId")
        if params.get("mode") == "url" and isinstance(number, str):
            self._elicitations[number] = caller
            self._elicitations.move_to_end(number)
            if len(self._elicitations) > MAX_ELICITATIONS:
                self._elicitations.popitem(last=False)

    def _call_of(self, pending: Pending | None) -> _Call | None:
        """Return the call whose stream brought a message, or the latest if all are of one caller.

        Else nobody knows whose the message is.
        """
        if isinstance(pending, _Call):
            return pending
        calls = [call for call in self.peer.pending.values() if isinstance(call, _Call) and call.caller]
        callers = {(call.caller.session, call.caller.name) for call in calls if call.caller}
        return calls[-1] if len(callers) == 1 else None

    async def _relay(self, question: Incoming, call: _Call, caller: Caller) -> Answer:
        if call.id not in self.peer.pending:
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, "the request is over that this question belongs to")
        call.questions.add(question)
        call.is_paused = True
        call.extend()
        try:
            return await caller.ask(question.method, question.params)
        finally:
            call.questions.discard(question)
            call.is_paused = bool(call.questions)
            call.extend()


async def _notify(caller: Caller, method: str, params: Params) -> None:
    with suppress(Exception):  # a caller that is gone must not disturb the server
        await caller.notify(method, params)


def _is_input_required(answer: Answer) -> bool:
    return answer.get("resultType") == "input_required"


async def _complete_input(
    answer: Answer, params: Params, caller: Caller, retry: Callable[[Params], Awaitable[Answer]]
) -> Answer:
    """Ask a caller for the required input and retry the request, until the server has all it needs."""
    pause = _FIRST_PAUSE
    for _ in range(MAX_ROUNDS):
        more = dict(params)
        if questions := as_object(answer.get("inputRequests")):
            more["inputResponses"] = await _responses(questions, caller)
        else:
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if "requestState" in answer:
            more["requestState"] = answer["requestState"]
        answer = await retry(more)
        if not _is_input_required(answer):
            return answer
    raise ProtocolError("does not stop asking")


async def _responses(questions: Mapping[str, Any], caller: Caller) -> dict[str, Answer]:
    """Ask all questions at once; the first refusal ends the others."""
    if len(questions) > MAX_QUESTIONS:
        raise ProtocolError(f"asks more than {MAX_QUESTIONS} questions at once")
    methods = [as_object(question).get("method") for question in questions.values()]
    if not all(isinstance(method, str) for method in methods):
        raise ProtocolError("asks something that cannot be read")
    asked = [
        asyncio.ensure_future(caller.ask(question["method"], as_object(question.get("params"))))
        for question in questions.values()
    ]
    try:
        return dict(zip(questions, await asyncio.gather(*asked), strict=True))
    finally:
        for future in asked:
            future.cancel()
