"""Adapts an endpoint to the SDK's HTTP transport, which handles every era.

A middleware answers requests, so the SDK does not validate answers and drop unknown members.
"""

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp_types.methods import validate_client_request

from remit.errors import RemitError
from remit.gateway.endpoint import Endpoint, Identity
from remit.gateway.session import SERVER_INFO, Request, Session
from remit.protocol import Answer, Era, JsonRpcError, Params, RawJson, Tasks, era_of
from remit.text import as_object

SdkContext = ServerRequestContext[Any, Any]

IDENTITY = "remit.identity"  # in the scope of a request
_STATE = "remit"  # our key in the state of the SDK's connection
_MOST_SHARED = 1_000  # sessions of callers without one


class SdkServer(Server[Any]):
    """Serves one endpoint through the SDK's transports."""

    def __init__(self, endpoint: Endpoint, tasks: Tasks) -> None:
        super().__init__(
            SERVER_INFO["name"],
            version=SERVER_INFO["version"],
            title=SERVER_INFO["title"],
            # Without it, the SDK lists the tools before each call.
            get_tool_input_schema=endpoint.input_schema,
        )
        self.middleware = [self._answer]  # without the SDK's tracing, which nothing collects here
        self._endpoint = endpoint
        self._tasks = tasks
        self._shared: dict[Identity, Session] = {}  # of clients without a session

    def get_capabilities(self, *_: Any, **__: Any) -> types.ServerCapabilities:
        """Return the capabilities for clients with a session; the SDK itself declares no changes of lists."""
        return types.ServerCapabilities.model_validate(self._endpoint.capabilities(Era.SESSION))

    async def _answer(self, ctx: SdkContext, call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None:
            return await self._take_notification(ctx, call_next)
        if ctx.method == "initialize":
            return await self._initialize(ctx, call_next)
        session = self._session(ctx)
        if not session.serves(ctx.method):
            return await call_next(ctx)
        _check(ctx)
        era = era_of(ctx.protocol_version) or Era.SESSION
        # The SDK's public methods validate what they send; raw messages need its dispatch context.
        channel = _Channel(ctx.session._request_outbound)  # pyright: ignore[reportPrivateUsage]
        request = Request(ctx.request_id, ctx.method, ctx.params or {}, era, channel)
        try:
            return _plain(await session.serve(request))
        except RemitError as error:
            raise _error(JsonRpcError.from_remit(error)) from None
        except JsonRpcError as error:
            raise _error(error) from None

    async def _initialize(self, ctx: SdkContext, call_next: CallNext) -> HandlerResult:
        self.instructions = await self._endpoint.instructions()
        answer = await call_next(ctx)
        session, connection = self._session(ctx), connection_of(ctx)
        session.open(as_object((ctx.params or {}).get("capabilities")))
        if session.channel is None:
            session.channel = _ConnectionChannel(connection)
            connection.exit_stack.push_async_callback(session.close)
        return answer

    async def _take_notification(self, ctx: SdkContext, call_next: CallNext) -> HandlerResult:
        answer = await call_next(ctx)
        if ctx.method == "notifications/initialized" and _STATE in connection_of(ctx).state:
            self._session(ctx).start_announcing()
        return answer

    def _session(self, ctx: SdkContext) -> Session:
        """Return the session of a request, or the one that clients without one share."""
        if era_of(ctx.protocol_version) is Era.STATELESS:
            sessions: dict[Any, Session] = self._shared
            key: object = identity_of(ctx)
            if len(sessions) >= _MOST_SHARED and key not in sessions:
                sessions.clear()
        else:
            sessions, key = connection_of(ctx).state, _STATE
        if key not in sessions:
            sessions[key] = Session(
                self._endpoint, self._tasks, door="http", identity=identity_of(ctx), environment={}
            )
        return sessions[key]


class _Channel:
    """Sends messages about one request through the SDK."""

    def __init__(self, outbound: DispatchContext[Any]) -> None:
        self._outbound = outbound

    async def ask(self, method: str, params: Params) -> Answer:
        """Send the client a request."""
        try:
            return await self._outbound.send_raw_request(method, params)
        except MCPError as error:
            raise JsonRpcError(error.code, error.message, error.data) from None

    async def notify(self, method: str, params: Params) -> None:
        """Send the client a notification."""
        await self._outbound.notify(method, params)


class _ConnectionChannel:
    """Sends notifications on the stream of a session."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def ask(self, method: str, params: Params) -> Answer:
        """Refuse: only a request's own stream brings an answer back."""
        del params
        raise JsonRpcError(types.METHOD_NOT_FOUND, f"`{method}` cannot be asked outside of a request")

    async def notify(self, method: str, params: Params) -> None:
        """Send the client a notification."""
        await self._connection.notify(method, params or None)


def connection_of(ctx: SdkContext) -> Connection:
    """Return the connection of a request; a stateless request has its own."""
    # The SDK has no public access to the connection, which holds the session's state and cleanup.
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage]


def identity_of(ctx: SdkContext) -> Identity:
    """Return who makes a request."""
    return Identity() if ctx.request is None else ctx.request.scope[IDENTITY]


def _check(ctx: SdkContext) -> None:
    """Reject invalid requests, and requests before `initialize`."""
    try:
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
    except KeyError:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method) from None
    if not connection_of(ctx).initialize_accepted:
        raise MCPError(types.INVALID_PARAMS, "Invalid request parameters", "")


def _plain(answer: Answer) -> HandlerResult:
    """Return an answer that the SDK can write: it fails on values that JSON cannot represent."""
    plain: Mapping[str, Any] = {
        name: value.value if isinstance(value, RawJson) else RawJson(value).value
        for name, value in answer.items()
    }
    return dict(plain)


def _error(error: JsonRpcError) -> MCPError:
    return MCPError(error.code, str(RawJson(str(error)).value), RawJson(error.data).value)
