"""A JSON-RPC connection to one client over a pair of streams, in the era that the client starts with.

It does not use the SDK because every agent session waits for this process to start, and importing the SDK
takes longer than importing the rest of the gateway.
"""

from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup

from remit.gateway.requests.client_request import ClientRequest, ClientSession
from remit.gateway.requests.dispatcher import Dispatcher
from remit.gateway.requests.downstream_eras import SERVER_INFO
from remit.gateway.requests.request_validation import validate_request
from remit.gateway.transports.line_streams import LineReader, LineWriter
from remit.gateway.transports.list_encoding import error_line, message_line, result_line
from remit.gateway.transports.request_tasks import RequestTasks
from remit.protocol.constants import CAPABILITIES_KEY, VERSION_KEY
from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object

Id = str | int
Message = Mapping[str, Any]

_CLOSE_SECONDS = 5.0  # to release a session's resources


class JsonRpcConnection:
    """One client on one pair of streams."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        reader: LineReader,
        writer: LineWriter,
        tasks: TaskGroup,
        *,
        may_approve: bool,
    ) -> None:
        self._dispatcher = dispatcher
        self._reader = reader
        self._writer = writer
        self._may_approve = may_approve
        self._requests = RequestTasks(tasks, self._serve)
        self._session: ClientSession | None = None
        self._era: Era | None = None  # None until the client settles on one
        self._running: dict[Id, anyio.CancelScope] = {}
        self._cancelled: set[Id] = set()  # running requests that no longer need an answer
        self._questions: dict[str, _Question] = {}
        self._question_count = 0

    async def run(self) -> None:
        """Serve until the client closes its stream."""
        await self._reader.feed(self._take)

    async def close(self) -> None:
        """Release the resources of the client's session."""
        if self._session is not None:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await self._dispatcher.close_session(self._session)

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send the client a request.

        Raises:
            JsonRpcError: the client refuses or disconnects.
        """
        self._question_count += 1
        identity = f"remit-{self._question_count}"
        self._questions[identity] = question = _Question()
        try:
            self._writer.write(message_line({"id": identity, "method": method, "params": dict(params)}))
            await question.answered.wait()
        except anyio.get_cancelled_exc_class():
            await self.notify(
                "notifications/cancelled", {"requestId": identity, "reason": "no longer needed"}
            )
            raise
        finally:
            del self._questions[identity]
        return question.outcome()

    async def notify(self, method: str, params: Params) -> None:
        """Send the client a notification."""
        message: dict[str, Any] = {"method": method, "params": dict(params)} if params else {"method": method}
        self._writer.write(message_line(message))
        if not method.endswith("cancelled"):
            await self._writer.wait_for_room()

    def _take(self, message: Message) -> None:
        method, identity = message.get("method"), message.get("id")
        if method is None:
            question = self._questions.get(str(identity))
            if question is not None:
                question.take_answer(message)
        elif identity is None:
            self._take_notification(method, as_object(message.get("params")))
        elif identity in self._running:
            error = JsonRpcError(ErrorCode.INVALID_REQUEST, "a request with this id is in progress")
            self._refuse(identity, error)
        else:
            self._take_request(identity, method, as_object(message.get("params")))

    def _take_notification(self, method: str, params: Params) -> None:
        if method == "notifications/cancelled":
            identity = params.get("requestId")
            if isinstance(identity, str | int) and identity in self._running:
                self._cancelled.add(identity)
                self._running[identity].cancel()
        elif method == "notifications/initialized" and self._session is not None:
            self._dispatcher.start_notifying(self._session, self.notify)

    def _take_request(self, identity: Id, method: str, params: Params) -> None:
        """Answer handshakes and pings at once; start a task for everything else."""
        try:
            if method == "initialize":
                self._answer(identity, self._initialize(params))
                return
            era = self._era_of(method, params)
            if era is Era.SESSION and self._session is None:
                raise JsonRpcError(ErrorCode.INVALID_REQUEST, f"send `initialize` before `{method}`")
            if era is Era.SESSION and method == "ping":
                self._answer(identity, {})
            else:
                self._start(identity, method, params, era)
        except JsonRpcError as error:
            self._refuse(identity, error)

    def _initialize(self, params: Params) -> Answer:
        version = params.get("protocolVersion")
        if self._era is Era.STATELESS:
            raise _unsupported("this connection speaks the protocol of 2026", version)
        if not isinstance(version, str):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "`protocolVersion` is missing or invalid")
        session = ClientSession("stdio", None, as_object(params.get("capabilities")))
        if self._session is None:
            self._dispatcher.open_session()
        else:
            session.subscriber = self._session.subscriber
        self._session, self._era = session, Era.SESSION
        answer: Answer = {
            "protocolVersion": version if version in Era.SESSION.versions else Era.SESSION.latest,
            "capabilities": self._dispatcher.capabilities(Era.SESSION),
            "serverInfo": SERVER_INFO,
        }
        instructions = self._dispatcher.endpoint.instructions
        return {**answer, "instructions": instructions} if instructions else answer

    def _era_of(self, method: str, params: Params) -> Era:
        """Determine the era of a request from its envelope.

        `server/discover` does not fix the era: a client may fall back to `initialize`.
        """
        meta = as_object(params.get("_meta"))
        if VERSION_KEY not in meta:
            if self._era is Era.STATELESS:
                raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`_meta` has no `{VERSION_KEY}`")
            return Era.SESSION
        if self._era is Era.SESSION:
            raise JsonRpcError(ErrorCode.INVALID_REQUEST, "this connection was opened by `initialize`")
        version = meta[VERSION_KEY]
        era = Era.of(version)
        if era is None or era is Era.SESSION:
            raise _unsupported("Unsupported protocol version", version)
        if not isinstance(meta.get(CAPABILITIES_KEY), Mapping):
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, f"`_meta` has no `{CAPABILITIES_KEY}`")
        if method != "server/discover":
            self._era = era
        return era

    def _start(self, identity: Id, method: str, params: Params, era: Era) -> None:
        validate_request(method, params, era)
        if not self._dispatcher.serves(method):
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found", method)
        if method == "subscriptions/listen":
            self._writer.settle(identity)  # answered only when the stream ends
        session = self._session if era is Era.SESSION else None
        request = ClientRequest(identity, method, params, self, era, session, may_approve=self._may_approve)
        self._running[identity] = self._requests.start(request)

    async def _serve(self, request: ClientRequest) -> None:
        try:
            self._answer(request.id, await self._dispatcher.answer(request))
        except JsonRpcError as error:
            self._refuse(request.id, error)
        except anyio.get_cancelled_exc_class():
            if request.id not in self._cancelled:
                self._answer_at_end(request)
            raise
        finally:
            self._writer.settle(request.id)
            self._cancelled.discard(request.id)
            del self._running[request.id]
        await self._writer.wait_for_room()

    def _answer_at_end(self, request: ClientRequest) -> None:
        """Answer a request that still runs at the end; for a change stream, that is not a failure."""
        if request.method == "subscriptions/listen":
            self._answer(request.id, self._dispatcher.end_of_stream(request))
        else:
            self._refuse(request.id, JsonRpcError(ErrorCode.CONNECTION_CLOSED, "Connection closed"))

    def _answer(self, identity: Id, answer: Answer) -> None:
        self._writer.write(result_line(identity, answer))
        self._writer.settle(identity)

    def _refuse(self, identity: Id, error: JsonRpcError) -> None:
        self._writer.write(error_line(identity, error))
        self._writer.settle(identity)


async def serve_client(
    dispatcher: Dispatcher, reader: LineReader, writer: LineWriter, *, may_approve: bool = True
) -> None:
    """Serve one client until it closes its stream, then cancel its running requests."""
    tasks = anyio.create_task_group()
    connection = JsonRpcConnection(dispatcher, reader, writer, tasks, may_approve=may_approve)
    try:
        async with tasks:
            await connection.run()
            tasks.cancel_scope.cancel()
    finally:
        await connection.close()


class _Question:
    """A request to the client."""

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self._answer: Message = {}

    def take_answer(self, answer: Message) -> None:
        self._answer = answer
        self.answered.set()

    def outcome(self) -> Answer:
        if "result" in self._answer:
            return dict(as_object(self._answer["result"]))
        error = as_object(self._answer.get("error"))
        code = error.get("code")
        raise JsonRpcError(
            code if isinstance(code, int) else ErrorCode.INTERNAL_ERROR,
            str(error.get("message")),
            error.get("data"),
        )


def _unsupported(message: str, version: object) -> JsonRpcError:
    data = {"supported": list(Era.STATELESS.versions), "requested": str(version)}
    return JsonRpcError(ErrorCode.UNSUPPORTED_PROTOCOL_VERSION, message, data)
