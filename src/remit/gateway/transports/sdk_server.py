"""Adapts a dispatcher to an SDK server, whose HTTP transport handles every era.

A middleware answers requests, so the SDK does not validate answers and drop unknown members.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp_types.methods import validate_client_request

from remit.configuration.config_model import Role
from remit.gateway.access.call_limits import CallLimiter
from remit.gateway.access.principals import Principal
from remit.gateway.requests.client_request import ClientRequest, ClientSession
from remit.gateway.requests.dispatcher import Dispatcher
from remit.gateway.requests.downstream_eras import SERVER_INFO
from remit.gateway.transports.list_encoding import encodable
from remit.gateway.transports.list_splicing import splice_lists
from remit.gateway.transports.moved_requests import can_move, send_elsewhere
from remit.memory.memory_scopes import memory_id
from remit.protocol.constants import LIST_METHODS
from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, ElsewhereError, JsonRpcError, Params
from remit.protocol.tracing import TRACE_KEYS, Switch
from remit.text.json_values import as_object

if TYPE_CHECKING:  # it imports this module
    from remit.gateway.transports.portable_sessions import PortableSessions

SdkContext = ServerRequestContext[Any, Any]

SESSION = "remit.session"  # the name of a new session, in the scope of its request
_STATE = "remit"  # our key in the state of the SDK's connection


class SdkServer(Server[Any]):
    """Serves one endpoint through the SDK's transports."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__(
            SERVER_INFO["name"],
            version=SERVER_INFO["version"],
            title=SERVER_INFO["title"],
            get_tool_input_schema=dispatcher.endpoint.input_schema,
        )
        self.middleware = [self._answer]  # without the SDK's tracing, which nothing collects here
        self._dispatcher = dispatcher
        self.sessions: PortableSessions | None = None  # those that can move to another node

    def create_initialization_options(self, *_: Any, **__: Any) -> Any:
        """Create the answer to `initialize`."""
        self.instructions = self._dispatcher.endpoint.instructions
        return super().create_initialization_options()

    def get_capabilities(self, *_: Any, **__: Any) -> types.ServerCapabilities:
        """Return the capabilities for clients with a session."""
        return types.ServerCapabilities.model_validate(self._dispatcher.capabilities(Era.SESSION))

    async def _answer(self, ctx: SdkContext, call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None:
            return await self._take_notification(ctx, call_next)
        if ctx.method == "initialize":
            return await self._initialize(ctx, call_next)
        if not self._dispatcher.serves(ctx.method):
            return await call_next(ctx)
        _check(ctx)
        try:
            request = _request(ctx)
            answer = await self._dispatcher.answer(request)
            await self._note_bound(request, connection_of(ctx).session_id)
        except ElsewhereError as error:
            send_elsewhere(cast(Any, ctx.request).scope)
            raise MCPError(error.code, encodable(str(error))) from None
        except JsonRpcError as error:
            raise MCPError(error.code, encodable(str(error)), encodable(error.data)) from None
        if ctx.method not in LIST_METHODS:
            return encodable(answer)  # the SDK fails on values that JSON cannot represent
        return answer if ctx.request is None else splice_lists(answer, ctx.request.scope)

    async def _initialize(self, ctx: SdkContext, call_next: CallNext) -> HandlerResult:
        answer = await call_next(ctx)
        connection = connection_of(ctx)
        capabilities = as_object((ctx.params or {}).get("capabilities"))
        name = None if ctx.request is None else ctx.request.scope.get(SESSION)
        session = ClientSession(f"http:{name or connection.session_id}", _name(_principal(ctx)), capabilities)
        if _STATE not in connection.state:
            self._dispatcher.open_session()
            connection.exit_stack.push_async_callback(self._close_session, connection)
        connection.state[_STATE] = session
        return answer

    async def _take_notification(self, ctx: SdkContext, call_next: CallNext) -> HandlerResult:
        answer = await call_next(ctx)
        connection = connection_of(ctx)
        if ctx.method == "notifications/initialized" and _STATE in connection.state:

            async def notify(method: str, params: Params) -> None:
                await connection.notify(method, params or None)

            self._dispatcher.start_notifying(connection.state[_STATE], notify)
        return answer

    async def _close_session(self, connection: Connection) -> None:
        if self.sessions is not None and connection.session_id is not None:
            self.sessions.forget(connection.session_id)
        await self._dispatcher.close_session(connection.state[_STATE])

    async def _note_bound(self, request: ClientRequest, id: str | None) -> None:
        """Note a session that has more than its state at this node."""
        session, sessions = request.session, self.sessions
        if sessions is None or session is None or id is None or not self._dispatcher.is_bound(session):
            return
        await sessions.bind(id)


class _Channel:
    """Sends messages about one request through the SDK."""

    def __init__(self, outbound: DispatchContext[Any]) -> None:
        self._outbound = outbound

    async def send_request(self, method: str, params: Params) -> Answer:
        try:
            return await self._outbound.send_raw_request(method, params)
        except MCPError as error:
            raise JsonRpcError(error.code, error.message, error.data) from None

    async def notify(self, method: str, params: Params) -> None:
        await self._outbound.notify(method, params)


def connection_of(ctx: SdkContext) -> Connection:
    """Return the connection of a request; a stateless request has its own."""
    # The SDK has no public access to the connection, which holds the session's state and cleanup.
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage]


def _request(ctx: SdkContext) -> ClientRequest:
    # The SDK's public methods validate what they send; raw messages need its dispatch context.
    outbound = ctx.session._request_outbound  # pyright: ignore[reportPrivateUsage]
    principal, session = _principal(ctx), None
    era = Era.of(ctx.protocol_version) or Era.SESSION
    if era is Era.SESSION:
        state = connection_of(ctx).state
        session = state.setdefault(_STATE, ClientSession("http:", _name(principal)))
    return ClientRequest(
        cast(str | int, ctx.request_id),
        ctx.method,
        ctx.params or {},
        _Channel(outbound),
        era,
        session,
        _name(principal),
        f"principal:{_name(principal) or ''}",
        _bound_projects(principal),
        *_rights(ctx),
        {} if Switch.active is None or ctx.request is None else _trace_headers(ctx.request.headers),
        ctx.request is not None and can_move(ctx.request.scope),
    )


def _trace_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {key: headers[key] for key in TRACE_KEYS if key in headers}


def _check(ctx: SdkContext) -> None:
    """Reject invalid requests, and requests before `initialize`."""
    try:
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
    except KeyError:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method) from None
    if not connection_of(ctx).initialize_accepted:
        raise MCPError(types.INVALID_PARAMS, "Invalid request parameters", "")


def _principal(ctx: SdkContext) -> Principal | None:
    return None if ctx.request is None else ctx.request.scope.get("remit.principal")


def _rights(ctx: SdkContext) -> tuple[Role, CallLimiter | None, bool]:
    """Return the role, the limiter, and whether the person at the client may approve calls.

    The bearer of a token may, because whoever made it runs the gateway. Of an issuer's people, approvers may.
    Without a token, any program on the machine could be the client, also an agent's.
    """
    if ctx.request is None:
        return Role.ADMIN, None, True
    role, principal = ctx.request.scope["remit.role"], _principal(ctx)
    is_asked = principal is not None and (principal.issuer is None or role.includes(Role.APPROVER))
    return role, ctx.request.scope["remit.limiter"], is_asked


def _name(principal: Principal | None) -> str | None:
    return None if principal is None else principal.name


def _bound_projects(principal: Principal | None) -> frozenset[str] | None:
    """Return the projects whose memory the principal may read; None: any."""
    projects = None if principal is None else principal.projects
    return None if projects is None else frozenset(map(memory_id, projects))
