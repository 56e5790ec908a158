"""Calls servers up to 2025-11-25: `initialize` opens a session and fixes the capabilities."""

from typing import TYPE_CHECKING

from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.eras.upstream_era import (
    QUICK_SECONDS,
    SET_LEVEL,
    UNKNOWN_VERSION,
    HandshakeResult,
    text_or_none,
)
from remit.upstream.messaging.messages import ProtocolError
from remit.upstream.ports import RequestContext

if TYPE_CHECKING:
    from remit.upstream.connection import Connection
    from remit.upstream.messaging.demultiplexer import OnNotification
    from remit.upstream.upstream_session import UpstreamSession


async def initialize(requester: "Connection", client: Params, capabilities: Params) -> HandshakeResult:
    """Open a session.

    Raises:
        JsonRpcError: the server answers with an error.
        ProtocolError: it has no version in common with Remit.
    """
    offered = {
        "protocolVersion": Era.SESSION.latest,
        "capabilities": dict(capabilities),
        "clientInfo": dict(client),
    }
    answer = await requester.send_request("initialize", offered)
    version = answer.get("protocolVersion")
    if version not in Era.SESSION.versions:
        raise ProtocolError(UNKNOWN_VERSION)
    return HandshakeResult(
        era=Era.SESSION,
        version=version,
        capabilities=as_object(answer.get("capabilities")),
        server=as_object(answer.get("serverInfo")),
        instructions=text_or_none(answer.get("instructions")),
    )


class SessionUpstream:
    """Calls servers that keep a session."""

    keeps_state = True  # between two requests of a connection
    binds_capabilities = True  # the handshake declares the client's for the whole session
    cancels_by_disconnecting = False  # by closing the response stream of a request

    async def opened(self, requester: "Connection") -> None:
        """Send `notifications/initialized`."""
        await requester.notify("notifications/initialized")

    def envelope(self, handshake: HandshakeResult, client: Params, caller: RequestContext | None) -> Answer:  # noqa: ARG002
        """Return nothing: requests belong to the session."""
        return {}

    def follow_changes(self, connection: "Connection", on_notification: "OnNotification") -> None:
        """Do nothing: the server sends changes on its own."""

    async def forward(
        self,
        session: "UpstreamSession",
        method: str,
        params: Params,
        caller: RequestContext,
        time_limit: float,
    ) -> Answer:
        """Forward a request; first set the log level if the caller wants another one."""
        if method == SET_LEVEL:
            session.log_level = params.get("level")
        elif caller.log_level not in (None, session.log_level):
            await _set_level(session, caller)
        return await session.opened.request(method, params, caller=caller, time_limit=time_limit)

    async def set_subscription(self, session: "UpstreamSession", method: str, params: Params) -> Answer:
        """Forward the request."""
        return await session.opened.request(method, params, time_limit=QUICK_SECONDS)


async def _set_level(session: "UpstreamSession", caller: RequestContext) -> None:
    session.log_level = caller.log_level
    if "logging" in session.opened.handshake.capabilities:
        try:
            await session.opened.request(SET_LEVEL, {"level": caller.log_level}, time_limit=QUICK_SECONDS)
        except (JsonRpcError, TimeoutError):
            return
