"""The desk of an endpoint as a server of the SDK, whose HTTP transport serves it in both eras.

Requests are answered in a middleware, before the SDK would validate and cut what is answered.
"""

from typing import Any, cast

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp_types.methods import validate_client_request

from remit.gateway.requests.dispatcher import INFO, Dispatcher
from remit.gateway.requests.era_adapters import is_modern
from remit.gateway.requests.request import ClientRequest, ClientSession
from remit.gateway.transports.list_encoding import encodable
from remit.gateway.transports.list_splicing import splice_lists
from remit.protocol.constants import LIST_METHODS
from remit.protocol.json_rpc import Answer, JsonRpcError, Params, as_object

RequestContext = ServerRequestContext[Any, Any]

_STATE = "remit"  # our place in the SDK's connection


class SdkServer(Server[Any]):
    """One endpoint, for the SDK's transports."""

    def __init__(self, desk: Dispatcher) -> None:
        super().__init__(
            INFO["name"],
            version=INFO["version"],
            title=INFO["title"],
            get_tool_input_schema=desk.input_schema,
        )
        self.middleware = [self._answer]  # without the SDK's spans: nothing collects them here
        self._desk = desk

    def create_initialization_options(self, *_: Any, **__: Any) -> Any:
        """Say what an older client is told at the start."""
        self.instructions = self._desk.instructions
        return super().create_initialization_options()

    def get_capabilities(self, *_: Any, **__: Any) -> types.ServerCapabilities:
        """Say what this endpoint has, to an older client: newer ones ask the desk itself."""
        return types.ServerCapabilities.model_validate(self._desk.capabilities(is_newer=False))

    async def _answer(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None:
            return await self._hear(ctx, call_next)
        if ctx.method == "initialize":
            return await self._greet(ctx, call_next)
        if not self._desk.serves(ctx.method):
            return await call_next(ctx)
        _check(ctx)
        try:
            answer = await self._desk.answer(_request(ctx))
        except JsonRpcError as error:
            raise MCPError(error.code, encodable(str(error)), encodable(error.data)) from None
        if ctx.method not in LIST_METHODS:
            return encodable(answer)  # the SDK would stop at what it cannot write
        return answer if ctx.request is None else splice_lists(answer, ctx.request.scope)

    async def _greet(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        answer = await call_next(ctx)
        connection = connection_of(ctx)
        said = as_object((ctx.params or {}).get("capabilities"))
        session = ClientSession(f"http:{connection.session_id}", _principal(ctx), said)
        if _STATE not in connection.state:
            self._desk.greet()
            connection.exit_stack.push_async_callback(self._part, connection)
        connection.state[_STATE] = session
        return answer

    async def _hear(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        answer = await call_next(ctx)
        connection = connection_of(ctx)
        if ctx.method == "notifications/initialized" and _STATE in connection.state:

            async def tell(method: str, params: Params) -> None:
                await connection.notify(method, params or None)

            self._desk.start_telling(connection.state[_STATE], tell)
        return answer

    async def _part(self, connection: Connection) -> None:
        await self._desk.part(connection.state[_STATE])


class _Channel:
    """The way back of the SDK for one request."""

    def __init__(self, outbound: DispatchContext[Any]) -> None:
        self._outbound = outbound

    async def send_request(self, method: str, params: Params) -> Answer:
        try:
            return await self._outbound.send_raw_request(method, params)
        except MCPError as error:
            raise JsonRpcError(error.code, error.message, error.data) from None

    async def notify(self, method: str, params: Params) -> None:
        await self._outbound.notify(method, params)


def connection_of(ctx: RequestContext) -> Connection:
    """Give the connection that a request came on; for 2026 it is this request's alone."""
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage] - there is no public way


def _request(ctx: RequestContext) -> ClientRequest:
    outbound = ctx.session._request_outbound  # pyright: ignore[reportPrivateUsage]
    principal, session = _principal(ctx), None
    if not is_modern(ctx.protocol_version):
        state = connection_of(ctx).state
        session = state.setdefault(_STATE, ClientSession("http:", principal))
    return ClientRequest(
        cast(str | int, ctx.request_id),
        ctx.method,
        ctx.params or {},
        _Channel(outbound),
        session,
        principal,
        f"principal:{principal or ''}",
        _bound_projects(ctx),
    )


def _check(ctx: RequestContext) -> None:
    """Refuse what this version of the protocol does not have, or not in this form, or not yet."""
    try:
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
    except KeyError:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method) from None
    if not connection_of(ctx).initialize_accepted:
        raise MCPError(types.INVALID_PARAMS, "Invalid request parameters", "")


def _bound_projects(ctx: RequestContext) -> frozenset[str] | None:
    """Name the memories that a token is bound to; None where it is bound to none."""
    return None if ctx.request is None else ctx.request.scope["remit.bound_projects"]


def _principal(ctx: RequestContext) -> str | None:
    """Name whose token a request came with."""
    return None if ctx.request is None else ctx.request.scope.get("remit.principal")
