"""Passes requests on in the way of the server's era: what one of them has no word for is put into its own."""

from typing import Any

import httpx2
from mcp_types import HEADER_MISMATCH, METHOD_NOT_FOUND

from remit.adapters.upstream.connection import Connection
from remit.adapters.upstream.messages import LostError, ProtocolError, RefusedError
from remit.adapters.upstream.sessions import Session
from remit.exchange import Answer, AnsweredError, Caller, Params, Stock

FAULTS = (LostError, ProtocolError, RefusedError, TimeoutError, httpx2.TransportError, httpx2.InvalidURL)

_SUBSCRIBE, _UNSUBSCRIBE, _SET_LEVEL = "resources/subscribe", "resources/unsubscribe", "logging/setLevel"
_LISTS = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}


async def passed(session: Session, method: str, params: Params, caller: Caller, patience: float) -> Answer:
    """Pass a request on through an open session; errors are as those of `Connection.request`."""
    connection = session.connection
    assert connection is not None  # noqa: S101 - it is open
    if connection.agreement.is_modern:
        if method in (_SUBSCRIBE, _UNSUBSCRIBE):
            return await _watched(session, method, params)
        if method == _SET_LEVEL:  # each request says it for itself
            return {}
        return await _repeated(connection, method, params, caller, patience)
    if caller.log_level not in (None, session.level) and method != _SET_LEVEL:
        await _set_level(session, connection, caller)
    answer = await connection.request(method, params, caller=caller, patience=patience)
    _remember(session, method, params)
    return answer


async def listed(connection: Connection, parts: frozenset[str]) -> Stock:
    """Ask for all that a server lists; errors are as those of `Connection.pages`."""
    lists = {part: await _list(connection, part) for part in _LISTS if part in parts}
    connection.learn(lists.get("tools", []))
    agreement = connection.agreement
    version = agreement.server.get("version")
    return Stock(
        **lists,
        capabilities=agreement.capabilities,
        instructions=agreement.instructions,
        protocol_version=agreement.version,
        server_version=version if isinstance(version, str) else None,
    )


async def _list(connection: Connection, part: str) -> list[Any]:
    """List one part; what a server does not speak of is not asked for, but for tools, which some forget.

    A server whose database cannot be reached may have no list of its resources: it still has its tools.
    """
    capability = "resources" if part == "templates" else part
    if part != "tools" and capability not in connection.agreement.capabilities:
        return []
    try:
        return await connection.pages(*_LISTS[part])
    except AnsweredError as error:
        if part != "tools" or error.code == METHOD_NOT_FOUND:
            return []
        raise


async def _repeated(
    connection: Connection, method: str, params: Params, caller: Caller, patience: float
) -> Answer:
    """Ask a server of the new era; where it misses headers that repeat arguments, look them up first."""
    try:
        return await connection.request(method, params, caller=caller, patience=patience)
    except AnsweredError as error:
        if error.code != HEADER_MISMATCH or params.get("name") in connection.header_maps:
            raise
    connection.learn(await connection.pages("tools/list", "tools"))
    return await connection.request(method, params, caller=caller, patience=patience)


async def _watched(session: Session, method: str, params: Params) -> Answer:
    assert session.listening is not None  # noqa: S101 - it is of the new era
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise AnsweredError(-32602, "Invalid params: `uri` is missing")
    if method == _SUBSCRIBE:
        await session.listening.watch(uri)
    else:
        session.listening.ignore(uri)
    return {}


async def _set_level(session: Session, connection: Connection, caller: Caller) -> None:
    session.level = caller.log_level
    if "logging" in connection.agreement.capabilities:
        try:
            await connection.request(_SET_LEVEL, {"level": caller.log_level}, patience=5.0)
        except (AnsweredError, TimeoutError):
            return


def _remember(session: Session, method: str, params: Params) -> None:
    if method == _SUBSCRIBE:
        session.subscriptions.add(str(params.get("uri")))
    elif method == _UNSUBSCRIBE:
        session.subscriptions.discard(str(params.get("uri")))
    elif method == _SET_LEVEL:
        session.level = params.get("level")
