"""Negotiates the era and the version with a server."""

from typing import TYPE_CHECKING

from remit.protocol.era import Era
from remit.protocol.json_rpc import JsonRpcError, Params
from remit.upstream.eras.session_upstream import SessionUpstream, initialize
from remit.upstream.eras.stateless_upstream import StatelessUpstream, common_version, discover
from remit.upstream.eras.upstream_era import UNKNOWN_VERSION, HandshakeResult
from remit.upstream.messaging.messages import ProtocolError

if TYPE_CHECKING:
    from remit.upstream.connection import Connection

UPSTREAM_ERAS = {Era.SESSION: SessionUpstream(), Era.STATELESS: StatelessUpstream()}


async def negotiate(
    requester: "Connection", client: Params, capabilities: Params, *, era: Era | None = None
) -> HandshakeResult:
    """Try the latest era first, and fall back to sessions; start with a session if it is known to be needed.

    Raises:
        JsonRpcError: the server answers with an error.
        ProtocolError: it has no version in common with Remit.
    """
    if era is Era.SESSION:
        return await initialize(requester, client, capabilities)
    version = Era.STATELESS.latest
    for is_first in (True, False):
        found = await discover(requester, client, capabilities, version)
        if isinstance(found, HandshakeResult):
            return found
        if is_first and found:
            version = found
            continue
        try:
            return await initialize(requester, client, capabilities)
        except JsonRpcError as error:  # the server understood `server/discover`, but answered it too late
            common = common_version(error)
            if not is_first or common is None:
                raise
            version = common
    raise ProtocolError(UNKNOWN_VERSION)
