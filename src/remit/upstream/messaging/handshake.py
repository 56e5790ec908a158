"""The two eras of the protocol: how a server is greeted in each, and what goes with each request."""

from typing import Any, Protocol

import anyio

from remit.protocol.constants import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    NEWER,
    OLDER,
    SERVER_KEY,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
)
from remit.upstream.messaging.agreement import HandshakeResult
from remit.upstream.messaging.messages import ProtocolError, RefusedError, fields
from remit.upstream.ports import Answer, JsonRpcError, Params, RequestContext

PROBE_SECONDS = 10.0  # for a server that does not answer what it does not know
UNKNOWN_VERSION = "speaks no version of the protocol that Remit knows"
_OURS = (VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY, LOG_LEVEL_KEY)


class Requester(Protocol):
    """What a server is greeted through."""

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask a server, before anything is agreed on."""
        ...

    async def notify(self, method: str) -> None:
        """Tell a server something."""
        ...


async def negotiate(
    asking: Requester, client: Params, capabilities: Params, *, is_modern: bool | None = None
) -> HandshakeResult:
    """Greet a server in its era: the new one is tried first, unless it is known to be of the old.

    Raises:
        JsonRpcError: it answers with an error.
        ProtocolError: no version is common to both.
    """
    if is_modern is False:
        return await _greet(asking, client, capabilities)
    version = NEWER[-1]
    for is_first in (True, False):
        found = await _probe(asking, client, capabilities, version)
        if isinstance(found, HandshakeResult):
            return found
        if is_first and found:  # it names the versions that it knows
            version = found
            continue
        try:
            return await _greet(asking, client, capabilities)
        except JsonRpcError as error:  # it did hear the probe, but answered too late
            common = _common(error)
            if not is_first or common is None:
                raise
            version = common
    raise ProtocolError(UNKNOWN_VERSION)


async def _probe(
    asking: Requester, client: Params, capabilities: Params, version: str
) -> HandshakeResult | str | None:
    """Ask what a server of the new era is; else the version that it wants, or nothing."""
    params = {"_meta": envelope(version, client, capabilities)}
    try:
        with anyio.fail_after(PROBE_SECONDS):
            answer = await asking.send_request("server/discover", params)
    except JsonRpcError as error:
        common = _common(error)
        if error.code == UNSUPPORTED_VERSION and common is None and not _knows_old(error):
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
    meta = fields(answer.get("_meta"))
    return HandshakeResult(
        version=version,
        capabilities=fields(answer.get("capabilities")),
        server=fields(meta.get(SERVER_KEY)),
        instructions=_text(answer.get("instructions")),
    )


async def _greet(asking: Requester, client: Params, capabilities: Params) -> HandshakeResult:
    offered = {
        "protocolVersion": OLDER[-1],
        "capabilities": dict(capabilities),
        "clientInfo": dict(client),
    }
    answer = await asking.send_request("initialize", offered)
    version = answer.get("protocolVersion")
    if version not in OLDER:
        raise ProtocolError(UNKNOWN_VERSION)
    return HandshakeResult(
        version=version,
        capabilities=fields(answer.get("capabilities")),
        server=fields(answer.get("serverInfo")),
        instructions=_text(answer.get("instructions")),
    )


def envelope(version: str, client: Params, capabilities: Params) -> dict[str, Any]:
    """Make what every request of the new era carries."""
    return {
        VERSION_KEY: version,
        CLIENT_KEY: client,
        CAPABILITIES_KEY: capabilities,
    }


def mark_request(
    meta: dict[str, Any], agreement: HandshakeResult, client: Params, caller: RequestContext | None
) -> None:
    """Put into a request's `_meta` what its server's era asks for, and nothing of another's."""
    for name in _OURS:
        meta.pop(name, None)
    if agreement.is_modern:
        meta.update(envelope(agreement.version, client, {} if caller is None else dict(caller.capabilities)))
        if caller is not None and caller.log_level is not None:
            meta[LOG_LEVEL_KEY] = caller.log_level


def _common(error: JsonRpcError) -> str | None:
    if error.code != UNSUPPORTED_VERSION:
        return None
    known = fields(error.data).get("supported")
    common = [version for version in NEWER if isinstance(known, list) and version in known]
    return common[-1] if common else None


def _knows_old(error: JsonRpcError) -> bool:
    known = fields(error.data).get("supported")
    return not isinstance(known, list) or any(version in known for version in OLDER)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
