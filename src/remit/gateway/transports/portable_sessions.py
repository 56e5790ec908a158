"""Sessions of older clients that another node can go on with.

A client gets an id that carries its session. A node that does not know the session opens it again: it sends
the handshake to itself, and then the request. A session that more than its state binds to a node ends with
404 at another: it has a server of its own, subscriptions, or a question that waits for the client's answer.

A session that its client ends at one node is over at all of them: the store knows it, and tells the nodes
that have it open.
"""

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit.errors import StoreError
from remit.gateway.transports.http_refusal import refusal
from remit.gateway.transports.sdk_server import SESSION
from remit.text.json_values import as_object

if TYPE_CHECKING:  # its cryptography is loaded for a shared store only
    from remit.gateway.transports.session_seal import SealedSession, SessionSeal

_HEADER = b"mcp-session-id"
_MOST_ENDED = 10_000
_UNFINISHED = (
    "the session is over at this gateway, but not at others: the store is down; send this again later"
)

_logger = logging.getLogger(__name__)


class PortableSessions:
    """Answers the requests to one endpoint, whose sessions may come from other nodes."""

    def __init__(self, app: ASGIApp, seal: "SessionSeal", endpoint: str, max_body: int) -> None:
        self._app = app
        self._seal = seal
        self._endpoint = endpoint
        self._max_body = max_body
        self._inner: dict[str, str] = {}  # the SDK's ids, by ours
        self._outer: dict[str, str] = {}
        self._closings: dict[str, Scope] = {}  # requests that end a session here, by our ids
        self._ended: dict[str, None] = {}  # ids of sessions that must not start again here
        self._bound: set[str] = set()
        self._locks: dict[str, anyio.Lock] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        headers = Headers(scope=scope)
        version, id = headers.get(MCP_PROTOCOL_VERSION_HEADER), headers.get("mcp-session-id")
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._app(scope, receive, send)
        elif id is None and scope["method"] == "POST":
            await self._open(scope, receive, send)
        elif id is None:
            await self._app(scope, receive, send)
        else:
            await self._go_on(id, scope, receive, send)

    async def bind(self, inner: str) -> None:
        """Note that a session cannot move any more."""
        id = self._outer.get(inner)
        if id is None or id in self._bound:
            return
        try:
            await to_thread.run_sync(self._seal.bind, id)
            self._bound.add(id)
        except StoreError as error:  # tried again after the next request
            _logger.warning("a session that cannot move could not be noted: %s", error)

    def forget(self, inner: str) -> None:
        """Drop a session that is over at this node."""
        id = self._outer.pop(inner, None)
        if id is not None:
            self._inner.pop(id, None)
            self._closings.pop(id, None)
            if id in self._bound:
                self._bound.discard(id)
                self._end(id)

    def held(self) -> set[str]:
        """Return the ids of the sessions that are open here, or just being opened."""
        return {*self._inner, *self._locks}

    async def close(self, id: str) -> None:
        """End a session at this node, with its streams."""
        self._end(id)
        if (closing := self._closings.get(id)) is not None:
            await self._app(closing, _body({}), _discard)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, again = await _buffered(receive, self._max_body)
        parameters = _initialize_parameters(body)
        sealed = None
        if parameters is not None:
            try:
                sealed = await to_thread.run_sync(self._seal.seal, parameters, self._holder(scope))
            except StoreError as error:
                _logger.warning("a session cannot move to other gateways: %s", error)
        if sealed is None:
            await self._app(scope, again, send)
            return
        id, session = sealed
        scope[SESSION] = session.name
        await self._app(scope, again, self._renamed(id, send, scope))

    async def _go_on(self, id: str, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "DELETE":
            response = await self._end_everywhere(id, scope)
            await (response or self._app)(scope, receive, send)
            return
        if id not in self._inner:
            body = b""
            if scope["method"] == "POST":
                body, receive = await _buffered(receive, self._max_body)
            if not _is_reply(body):
                await self._open_again(id, scope)
        inner = None if id in self._ended else self._inner.get(id)
        if inner is None:
            await self._app(scope, receive, send)  # 404
            return
        await self._app(_with_session(scope, inner), receive, self._renamed(id, send))

    async def _end_everywhere(self, id: str, scope: Scope) -> Response | None:
        """End a session at all nodes; return None if this is not the id of one that is still open."""
        try:
            if await to_thread.run_sync(self._seal.open, id, self._holder(scope)) is None:
                return None
            is_over = not await to_thread.run_sync(self._seal.end, id)
        except StoreError as error:
            _logger.warning("the end of a session could not be noted: %s", error)
            if id in self._inner:
                await self.close(id)
            return refusal(503, _UNFINISHED, {"Retry-After": "5"})
        await self.close(id)
        return None if is_over else JSONResponse(None)

    async def _open_again(self, id: str, scope: Scope) -> None:
        lock = self._locks.setdefault(id, anyio.Lock())
        try:
            async with lock:
                if id in self._inner or id in self._ended or "last-event-id" in Headers(scope=scope):
                    return
                session = await to_thread.run_sync(self._movable, id, self._holder(scope))
                if session is not None:
                    await self._shake_hands(id, session, scope)
                if id in self._ended:  # meanwhile
                    await self.close(id)
        finally:
            if not lock.statistics().tasks_waiting:
                self._locks.pop(id, None)

    def _movable(self, id: str, holder: str) -> "SealedSession | None":
        """Return the session of an id, if nothing binds it to another node."""
        try:
            session = self._seal.open(id, holder)
        except StoreError as error:
            _logger.warning("the id of a session cannot be opened: %s", error)
            return None
        try:
            return None if session is None or self._seal.is_fixed(id) else session
        except StoreError:
            return None  # the client connects again, as it would without this

    async def _shake_hands(self, id: str, session: "SealedSession", scope: Scope) -> None:
        """Send the client's handshake once more, to this node."""
        opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": dict(session.parameters)}
        first = _posted({**scope, SESSION: session.name})
        await self._app(first, _body(opening), self._renamed(id, _discard, scope))
        if (inner := self._inner.get(id)) is not None:
            done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await self._app(_with_session(_posted(scope), inner), _body(done), _discard)

    def _renamed(self, id: str, send: Send, opening: Scope | None = None) -> Send:
        """Show a client its own id instead of the SDK's, which is learned from the answer to an opening."""

        async def renamed(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = dict(message["headers"])
                if _HEADER in found and opening is not None and message["status"] < 400:
                    self._learn(id, found[_HEADER].decode(), opening)
                others = [each for each in message["headers"] if each[0].lower() != _HEADER]
                own = [(_HEADER, id.encode())] if _HEADER in found else []
                message = {**message, "headers": [*others, *own]}
            await send(message)

        return renamed

    def _learn(self, id: str, inner: str, opening: Scope) -> None:
        self._inner[id], self._outer[inner] = inner, id
        headers = [each for each in opening["headers"] if each[0] == b"host"]
        self._closings[id] = _with_session({**opening, "method": "DELETE", "headers": headers}, inner)

    def _end(self, id: str) -> None:
        if len(self._ended) >= _MOST_ENDED:
            self._ended.pop(next(iter(self._ended)))
        self._ended[id] = None

    def _holder(self, scope: Scope) -> str:
        """Name the endpoint and the principal that an id is for."""
        user = scope.get("user")
        who = authorization_context(user) if isinstance(user, AuthenticatedUser) else None
        return json.dumps([self._endpoint, repr(who)])


async def _buffered(receive: Receive, most: int) -> tuple[bytes, Receive]:
    """Read a body up to a limit; return it, and what receives it again."""
    messages: list[Message] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body") or size > most:
            break

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return b"".join(message.get("body", b"") for message in messages), again


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        return as_object(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _initialize_parameters(body: bytes) -> Mapping[str, Any] | None:
    message = _read(body)
    parameters = message.get("params")
    is_opening = message.get("method") == "initialize" and isinstance(parameters, dict)
    return cast("dict[str, Any]", parameters) if is_opening else None


def _is_reply(body: bytes) -> bool:
    """Check whether a message answers a question, which only the node that asked can use."""
    message = _read(body)
    return "method" not in message and ("result" in message or "error" in message)


def _posted(scope: Scope) -> Scope:
    """Return the scope of a message that this node sends to itself for a request."""
    kept = [each for each in scope["headers"] if each[0] in (b"host", b"authorization")]
    own = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
    return {**scope, "method": "POST", "headers": [*kept, *own]}


def _with_session(scope: Scope, inner: str) -> Scope:
    others = [each for each in scope["headers"] if each[0].lower() != _HEADER]
    return {**scope, "headers": [*others, (_HEADER, inner.encode())]}


def _body(message: Mapping[str, Any]) -> Receive:
    messages: list[Message] = [
        {"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}
    ]

    async def receive() -> Message:
        if not messages:
            await anyio.sleep_forever()
        return messages.pop()

    return receive


async def _discard(message: Message) -> None:
    """Send nothing."""
