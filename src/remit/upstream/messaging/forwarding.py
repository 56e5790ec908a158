"""Passes requests on in the way of the server's era: what one of them has no word for is put into its own."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import anyio

from remit.protocol.constants import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND
from remit.upstream.connection import Connection
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.messaging.messages import LostError, ProtocolError, RefusedError, UnreachableError
from remit.upstream.ports import Answer, JsonRpcError, Params, RequestContext, ServerLists
from remit.upstream.upstream_session import UpstreamSession

FAULTS = (LostError, ProtocolError, RefusedError, TimeoutError, UnreachableError)

_SUBSCRIBE, _UNSUBSCRIBE, _SET_LEVEL = "resources/subscribe", "resources/unsubscribe", "logging/setLevel"
_PATIENCE = 30.0  # seconds, for what takes no time
_BESIDE = 10.0  # seconds for what a server lists beside its tools
_LISTS = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}


async def forward(
    session: UpstreamSession, method: str, params: Params, caller: RequestContext, patience: float
) -> Answer:
    """Pass a request on through an open session; errors are as those of `Connection.request`."""
    connection = session.connection
    assert connection is not None  # noqa: S101 - it is open
    if method in (_SUBSCRIBE, _UNSUBSCRIBE):
        return await _subscribed(session, connection, method, params)
    if connection.agreement.is_modern:
        if method == _SET_LEVEL:  # each request says it for itself
            return {}
        return await _repeated(connection, method, params, caller, patience)
    if method == _SET_LEVEL:
        session.level = params.get("level")
    elif caller.log_level not in (None, session.level):
        await _set_level(session, connection, caller)
    return await connection.request(method, params, caller=caller, patience=patience)


async def resubscribe(session: UpstreamSession, uris: Iterable[str], heard: OnNotification) -> None:
    """Watch what a session before this one watched; nobody knows what happened meanwhile."""
    connection = session.connection
    assert connection is not None  # noqa: S101 - it is open
    for uri in uris:
        with suppress(JsonRpcError, *FAULTS):
            await _subscribed(session, connection, _SUBSCRIBE, {"uri": uri})
            heard("notifications/resources/updated", {"uri": uri})


async def list_parts(connection: Connection, parts: frozenset[str], patience: float) -> ServerLists:
    """Ask for all that a server lists; errors are as those of `Connection.pages`, for its tools.

    A server whose database cannot be reached may have no list of its resources, or never finish it: it still
    has its tools.
    """
    lists: dict[str, list[Any]] = {}

    async def ask(part: str) -> None:
        with anyio.move_on_after(min(patience, _BESIDE)), suppress(JsonRpcError, *FAULTS):
            lists[part] = await _list(connection, part)

    if "tools" in parts:
        with anyio.fail_after(patience):
            lists["tools"] = await _list(connection, "tools")
        connection.learn(lists["tools"])
    async with anyio.create_task_group() as tasks:
        for part in parts - {"tools"}:
            tasks.start_soon(ask, part)
    agreement = connection.agreement
    version = agreement.server.get("version")
    return ServerLists(
        **lists,
        capabilities=agreement.capabilities,
        instructions=agreement.instructions,
        protocol_version=agreement.version,
        server_version=version if isinstance(version, str) else None,
    )


async def _list(connection: Connection, part: str) -> list[Any]:
    """List one part; what a server does not speak of is not asked for, but for tools, which some forget."""
    capability = "resources" if part == "templates" else part
    if part != "tools" and capability not in connection.agreement.capabilities:
        return []
    try:
        return await connection.pages(*_LISTS[part])
    except JsonRpcError as error:
        if error.code == METHOD_NOT_FOUND:
            return []
        raise


async def _repeated(
    connection: Connection, method: str, params: Params, caller: RequestContext, patience: float
) -> Answer:
    """Ask a server of the new era; where it misses headers that repeat arguments, look them up first."""
    try:
        return await connection.request(method, params, caller=caller, patience=patience)
    except JsonRpcError as error:
        if error.code != HEADER_MISMATCH or method != "tools/call":
            raise
    connection.learn(await connection.pages("tools/list", "tools"))
    return await connection.request(method, params, caller=caller, patience=patience)


async def _subscribed(
    session: UpstreamSession, connection: Connection, method: str, params: Params
) -> Answer:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise JsonRpcError(INVALID_PARAMS, "Invalid params: `uri` is missing")
    answer: Answer = {}
    if session.listening is None:
        answer = await connection.request(method, params, patience=_PATIENCE)
    elif method == _SUBSCRIBE:
        await session.listening.watch(uri)
    else:
        session.listening.ignore(uri)
    (session.subscriptions.add if method == _SUBSCRIBE else session.subscriptions.discard)(uri)
    return answer


async def _set_level(session: UpstreamSession, connection: Connection, caller: RequestContext) -> None:
    session.level = caller.log_level
    if "logging" in connection.agreement.capabilities:
        try:
            await connection.request(_SET_LEVEL, {"level": caller.log_level}, patience=_PATIENCE)
        except (JsonRpcError, TimeoutError):
            return
