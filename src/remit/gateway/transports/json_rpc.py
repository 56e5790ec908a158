"""Speaks JSON-RPC with one client over a pair of streams, in the era that the client opens with.

Written here, and not taken from the SDK, because every session of an agent waits for it to start: the SDK
takes longer to import than all the rest of the gateway.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from remit.gateway.requests.dispatcher import INFO, Dispatcher
from remit.gateway.requests.request import ClientRequest, ClientSession
from remit.gateway.requests.request_validation import validate_request
from remit.gateway.transports.list_encoding import error_line, message_line, result_line
from remit.protocol.constants import CAPABILITIES_KEY, NEWER, OLDER, VERSION_KEY
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params, as_object

Id = str | int
Message = Mapping[str, Any]

_GOODBYE = 5.0  # seconds to let go of what was kept for a client


class MessageReader(Protocol):
    """Where messages come from: each an object with a method or an answer in it."""

    def __aiter__(self) -> "MessageReader": ...

    async def __anext__(self) -> Message: ...


class MessageWriter(Protocol):
    """Where messages go to, each on a line."""

    def write(self, line: bytes) -> None: ...

    async def room(self) -> None: ...

    def settle(self, identity: Id) -> None: ...


class JsonRpcConnection:
    """One client on one pair of streams."""

    def __init__(
        self, desk: Dispatcher, source: MessageReader, target: MessageWriter, tasks: TaskGroup
    ) -> None:
        self._desk = desk
        self._source = source
        self._target = target
        self._tasks = tasks
        self._session: ClientSession | None = None  # of an older client
        self._is_newer = False  # its client has asked for something as 2026 does
        self._at_work: dict[Id, anyio.CancelScope] = {}
        self._withdrawn: set[Id] = set()  # of those, the ones whose client wants no answer any more
        self._questions: dict[str, _Question] = {}
        self._asked = 0

    async def run(self) -> None:
        """Speak until the client sends no more."""
        async for message in self._source:
            self._hear(message)

    async def part(self) -> None:
        """Let go of what was kept for the client."""
        if self._session is not None:
            with anyio.move_on_after(_GOODBYE, shield=True):
                await self._desk.part(self._session)

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask the client.

        Raises:
            JsonRpcError: it says no, or goes away.
        """
        self._asked += 1
        identity = f"remit-{self._asked}"
        self._questions[identity] = question = _Question()
        try:
            self._target.write(message_line({"id": identity, "method": method, "params": dict(params)}))
            await question.answered.wait()
        except anyio.get_cancelled_exc_class():
            await self.notify(
                "notifications/cancelled", {"requestId": identity, "reason": "not needed any more"}
            )
            raise
        finally:
            del self._questions[identity]
        return question.outcome()

    async def notify(self, method: str, params: Params) -> None:
        """Tell the client something."""
        said: dict[str, Any] = {"method": method, "params": dict(params)} if params else {"method": method}
        self._target.write(message_line(said))
        if not method.endswith("cancelled"):
            await self._target.room()

    def _hear(self, message: Message) -> None:
        method, identity = message.get("method"), message.get("id")
        if method is None:
            question = self._questions.get(str(identity))
            if question is not None:
                question.settle(message)
        elif identity is None:
            self._notice(method, as_object(message.get("params")))
        elif identity in self._at_work:
            self._refuse(
                identity, JsonRpcError(ErrorCode.INVALID_REQUEST, "a request of this id is under way")
            )
        else:
            self._take(identity, method, as_object(message.get("params")))

    def _notice(self, method: str, params: Params) -> None:
        if method == "notifications/cancelled":
            identity = params.get("requestId")
            if isinstance(identity, str | int) and identity in self._at_work:
                self._withdrawn.add(identity)
                self._at_work[identity].cancel()
        elif method == "notifications/initialized" and self._session is not None:
            self._desk.start_telling(self._session, self.notify)

    def _take(self, identity: Id, method: str, params: Params) -> None:
        """Answer at once what needs nobody, and have the rest answered."""
        try:
            if method == "initialize":
                self._answer(identity, self._initialize(params))
            elif self._is_of_2026(method, params):
                self._start(identity, method, params, None)
            elif self._session is None:
                raise JsonRpcError(ErrorCode.INVALID_REQUEST, f"`{method}` comes after `initialize`")
            elif method == "ping":
                self._answer(identity, {})
            else:
                self._start(identity, method, params, self._session)
        except JsonRpcError as error:
            self._refuse(identity, error)

    def _initialize(self, params: Params) -> Answer:
        asked = params.get("protocolVersion")
        if self._is_newer:
            data = {"supported": list(NEWER), "requested": str(asked)}
            raise JsonRpcError(
                ErrorCode.UNSUPPORTED_PROTOCOL_VERSION, "this connection speaks the protocol of 2026", data
            )
        if not isinstance(asked, str):
            raise JsonRpcError(
                ErrorCode.INVALID_PARAMS, "`protocolVersion` is missing, or not what it should be"
            )
        session = ClientSession("stdio", None, as_object(params.get("capabilities")))
        if self._session is None:
            self._desk.greet()
        else:
            session.listener = self._session.listener
        self._session = session
        answer: Answer = {
            "protocolVersion": asked if asked in OLDER else OLDER[-1],
            "capabilities": self._desk.capabilities(is_newer=False),
            "serverInfo": INFO,
        }
        instructions = self._desk.instructions
        return {**answer, "instructions": instructions} if instructions else answer

    def _is_of_2026(self, method: str, params: Params) -> bool:
        """Whether a request stands for itself, as those of 2026 do.

        A client may ask what there is, lose patience, and open as an older one: asking settles nothing.
        """
        meta = as_object(params.get("_meta"))
        if VERSION_KEY not in meta:
            if self._is_newer:
                raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`_meta` has no `{VERSION_KEY}`")
            return False
        if self._session is not None:
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, "this connection was opened by `initialize`")
        version = meta[VERSION_KEY]
        if version not in NEWER:
            data = {"supported": list(NEWER), "requested": str(version)}
            raise JsonRpcError(ErrorCode.UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
        if not isinstance(meta.get(CAPABILITIES_KEY), Mapping):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`_meta` has no `{CAPABILITIES_KEY}`")
        self._is_newer = self._is_newer or method != "server/discover"
        return True

    def _start(self, identity: Id, method: str, params: Params, session: ClientSession | None) -> None:
        validate_request(method, params, is_newer=session is None)
        if not self._desk.serves(method):
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found", method)
        if method == "subscriptions/listen":
            self._target.settle(identity)  # it goes on until somebody ends it: nobody waits for its answer
        self._at_work[identity] = scope = anyio.CancelScope()
        self._tasks.start_soon(self._serve, ClientRequest(identity, method, params, self, session), scope)

    async def _serve(self, request: ClientRequest, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                self._answer(request.id, await self._desk.answer(request))
            except JsonRpcError as error:
                self._refuse(request.id, error)
            except anyio.get_cancelled_exc_class():
                if request.id not in self._withdrawn:
                    self._take_leave(request)
                raise
            finally:
                self._target.settle(request.id)
                self._withdrawn.discard(request.id)
                del self._at_work[request.id]
        await self._target.room()

    def _take_leave(self, request: ClientRequest) -> None:
        """Answer what is still under way at the end; that a listener hears no more is no failure."""
        if request.method == "subscriptions/listen":
            self._answer(request.id, self._desk.last_words(request))
        else:
            self._refuse(request.id, JsonRpcError(ErrorCode.CONNECTION_CLOSED, "Connection closed"))

    def _answer(self, identity: Id, answer: Answer) -> None:
        self._target.write(result_line(identity, answer))
        self._target.settle(identity)

    def _refuse(self, identity: Id, error: JsonRpcError) -> None:
        self._target.write(error_line(identity, error.code, str(error), error.data))
        self._target.settle(identity)


async def serve_client(desk: Dispatcher, source: MessageReader, target: MessageWriter) -> None:
    """Speak with one client until it sends no more; what is then still under way is ended."""
    tasks = anyio.create_task_group()
    speaker = JsonRpcConnection(desk, source, target, tasks)
    try:
        async with tasks:
            await speaker.run()
            tasks.cancel_scope.cancel()
    finally:
        await speaker.part()


class _Question:
    """Something the client was asked."""

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self._said: Message = {}

    def settle(self, said: Message) -> None:
        self._said = said
        self.answered.set()

    def outcome(self) -> Answer:
        if "result" in self._said:
            return dict(as_object(self._said["result"]))
        error = as_object(self._said.get("error"))
        code, words = error.get("code"), error.get("message")
        raise JsonRpcError(
            code if isinstance(code, int) else ErrorCode.INTERNAL_ERROR, str(words), error.get("data")
        )
