"""Forwards requests through an open session, and reads a server's lists."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import anyio

from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.upstream.connection import Connection
from remit.upstream.eras.upstream_era import SUBSCRIBE, UNSUBSCRIBE
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.messaging.messages import LostError, ProtocolError, RefusedError, UnreachableError
from remit.upstream.ports import RequestContext, ServerLists
from remit.upstream.upstream_session import UpstreamSession

FAULTS = (LostError, ProtocolError, RefusedError, TimeoutError, UnreachableError)

_NOTHING = ServerLists()
EXTRAS_SECONDS = 10.0  # for each list other than the tools
_LISTS = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}


async def forward(
    session: UpstreamSession, method: str, params: Params, caller: RequestContext, time_limit: float
) -> Answer:
    """Forward a request through an open session; raises what `Connection.request` raises."""
    if method in (SUBSCRIBE, UNSUBSCRIBE):
        return await _set_subscription(session, method, params)
    return await session.opened.era.forward(session, method, params, caller, time_limit)


async def resubscribe(session: UpstreamSession, uris: Iterable[str], on_notification: OnNotification) -> None:
    """Restore the subscriptions of a lost session, and report each resource as updated."""
    for uri in uris:
        with suppress(JsonRpcError, *FAULTS):
            await _set_subscription(session, SUBSCRIBE, {"uri": uri})
            on_notification("notifications/resources/updated", {"uri": uri})


async def list_parts(
    connection: Connection, parts: frozenset[str], time_limit: float, known: ServerLists = _NOTHING
) -> ServerLists:
    """Read lists of a server besides known ones; raises what `Connection.pages` raises, for its tools only.

    Other lists may fail or hang, for example when a server's database is down: the tools still count.
    """
    lists: dict[str, list[Any]] = {}

    async def list_extra(part: str) -> None:
        with anyio.move_on_after(min(time_limit, EXTRAS_SECONDS)), suppress(JsonRpcError, *FAULTS):
            lists[part] = await _list(connection, part)

    if "tools" in parts:
        with anyio.fail_after(time_limit):
            lists["tools"] = await _list(connection, "tools")
        connection.learn(lists["tools"])
    async with anyio.create_task_group() as tasks:
        for part in parts - {"tools"}:
            tasks.start_soon(list_extra, part)
    handshake = connection.handshake
    version = handshake.server.get("version")
    return ServerLists(
        tools=lists.get("tools", known.tools),
        resources=lists.get("resources", known.resources),
        templates=lists.get("templates", known.templates),
        prompts=lists.get("prompts", known.prompts),
        capabilities=handshake.capabilities,
        instructions=handshake.instructions,
        protocol_version=handshake.version,
        server_version=version if isinstance(version, str) else None,
    )


async def _list(connection: Connection, part: str) -> list[Any]:
    """List one part if the server declares it; always list tools, which some servers forget to declare."""
    capability = "resources" if part == "templates" else part
    if part != "tools" and capability not in connection.handshake.capabilities:
        return []
    try:
        return await connection.pages(*_LISTS[part])
    except JsonRpcError as error:
        if error.code == ErrorCode.METHOD_NOT_FOUND:
            return []
        raise


async def _set_subscription(session: UpstreamSession, method: str, params: Params) -> Answer:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise JsonRpcError(ErrorCode.INVALID_PARAMS, "Invalid params: `uri` is missing")
    answer = await session.opened.era.set_subscription(session, method, params)
    (session.subscriptions.add if method == SUBSCRIBE else session.subscriptions.discard)(uri)
    return answer
