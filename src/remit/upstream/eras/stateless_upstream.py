"""Calls servers of 2026-07-28: each request is self-contained, and servers keep no state."""

from typing import TYPE_CHECKING, Any

import anyio

from remit.protocol.constants import CAPABILITIES_KEY, CLIENT_KEY, LOG_LEVEL_KEY, SERVER_KEY, VERSION_KEY
from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.text.json_values import as_object
from remit.upstream.eras.upstream_era import (
    SET_LEVEL,
    SUBSCRIBE,
    UNKNOWN_VERSION,
    HandshakeResult,
    text_or_none,
)
from remit.upstream.messaging.change_streams import ChangeStreams
from remit.upstream.messaging.messages import ProtocolError, RefusedError
from remit.upstream.ports import RELAYED, RequestContext

if TYPE_CHECKING:
    from remit.upstream.connection import Connection
    from remit.upstream.messaging.demultiplexer import OnNotification
    from remit.upstream.upstream_session import UpstreamSession

PROBE_SECONDS = 10.0  # for a server that ignores methods it does not know


async def discover(
    requester: "Connection", client: Params, capabilities: Params, version: str
) -> HandshakeResult | str | None:
    """Ask a server for its description.

    Returns the version to try next if the server names one, and None if it belongs to another era.

    Raises:
        ProtocolError: the server names its versions, and Remit knows none of them.
        RefusedError: the server requires a sign-in.
    """
    params = {"_meta": _envelope(version, client, capabilities)}
    try:
        with anyio.fail_after(PROBE_SECONDS):
            answer = await requester.send_request("server/discover", params)
    except JsonRpcError as error:
        common = common_version(error)
        is_unsupported = error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION
        if is_unsupported and common is None and not _names_session_version(error):
            raise ProtocolError(UNKNOWN_VERSION) from None
        return common
    except RefusedError as error:
        if error.status in (401, 403):
            raise
        return None
    except (ProtocolError, TimeoutError):
        return None
    known = answer.get("supportedVersions")
    if not isinstance(known, list) or version not in known:
        return None
    return HandshakeResult(
        era=Era.STATELESS,
        version=version,
        capabilities=as_object(answer.get("capabilities")),
        server=as_object(as_object(answer.get("_meta")).get(SERVER_KEY)),
        instructions=text_or_none(answer.get("instructions")),
    )


def common_version(error: JsonRpcError) -> str | None:
    """Choose one of the supported versions that an error names."""
    if error.code != ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
        return None
    return Era.STATELESS.common(as_object(error.data).get("supported"))


class StatelessUpstream:
    """Calls servers that keep no state between requests."""

    keeps_state = False
    binds_capabilities = False
    cancels_by_disconnecting = True

    async def opened(self, requester: "Connection") -> None:
        """Do nothing: there is no session to confirm."""

    def envelope(self, handshake: HandshakeResult, client: Params, caller: RequestContext | None) -> Answer:
        """Return the version, the client, and the caller's capabilities and log level.

        Lists are asked for without a caller: they are for all clients, whatever each can answer.
        """
        capabilities = dict(RELAYED if caller is None else caller.capabilities)
        envelope = _envelope(handshake.version, client, capabilities)
        if caller is not None and caller.log_level is not None:
            envelope[LOG_LEVEL_KEY] = caller.log_level
        return envelope

    def follow_changes(self, connection: "Connection", on_notification: "OnNotification") -> ChangeStreams:
        """Listen for changes of the lists."""
        streams = ChangeStreams(connection, connection.tasks, on_notification)
        streams.follow_lists()
        return streams

    async def forward(
        self,
        session: "UpstreamSession",
        method: str,
        params: Params,
        caller: RequestContext,
        time_limit: float,
    ) -> Answer:
        """Forward a request; if it lacks headers for its arguments, list the tools and try again."""
        if method == SET_LEVEL:  # each request carries its own level
            return {}
        connection = session.opened
        try:
            return await connection.request(method, params, caller=caller, time_limit=time_limit)
        except JsonRpcError as error:
            if error.code != ErrorCode.HEADER_MISMATCH or method != "tools/call":
                raise
        connection.learn(await connection.pages("tools/list", "tools"))
        return await connection.request(method, params, caller=caller, time_limit=time_limit)

    async def set_subscription(self, session: "UpstreamSession", method: str, params: Params) -> Answer:
        """Open or close the change stream of a resource."""
        assert session.change_streams is not None  # noqa: S101 - it was opened with the session
        if method == SUBSCRIBE:
            await session.change_streams.follow_resource(params["uri"])
        else:
            session.change_streams.ignore_resource(params["uri"])
        return {}


def _envelope(version: str, client: Params, capabilities: Params) -> dict[str, Any]:
    return {VERSION_KEY: version, CLIENT_KEY: client, CAPABILITIES_KEY: capabilities}


def _names_session_version(error: JsonRpcError) -> bool:
    known: object = as_object(error.data).get("supported")
    return Era.SESSION.common(known) is not None or not isinstance(known, list)
