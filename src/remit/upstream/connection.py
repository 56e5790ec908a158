"""A connection to one server, over any transport and in any era, with answers as raw JSON.

It does not use the SDK's client, which validates answers, so one bad tool would spoil a whole list, and in
which one dropped HTTP request ends all others.
"""

from contextlib import suppress
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from remit.protocol.constants import ENVELOPE_KEYS
from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, Params
from remit.protocol.tracing import Switch, TracedRequest, with_trace
from remit.text.json_values import as_object
from remit.upstream.eras.negotiation import UPSTREAM_ERAS, negotiate
from remit.upstream.eras.upstream_era import HandshakeResult
from remit.upstream.messaging.demultiplexer import Demultiplexer, OnNotification
from remit.upstream.messaging.messages import Message, ProtocolError
from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.ports import RequestContext
from remit.upstream.transports.message_transport import MessageTransport

MAX_ITEMS = 10_000  # per list
MAX_LIST_BYTES = 64 * 2**20  # all the tools of a large server take about one megabyte

_CANCEL_SECONDS = 2.0  # to tell a server that a request is cancelled


class Connection:
    """An open connection to one server."""

    def __init__(
        self, tasks: TaskGroup, client: Params, on_notification: OnNotification = lambda _, __: None
    ) -> None:
        self._client = client
        self.tasks = tasks  # end with the connection
        self._last_id = 0
        self._transport: MessageTransport | None = None
        self.demultiplexer = Demultiplexer(tasks, on_notification)
        self.handshake = HandshakeResult(era=Era.SESSION, version="")  # until it is open
        self.era = UPSTREAM_ERAS[Era.SESSION]

    @property
    def keeps_state(self) -> bool:
        """Whether the server may keep state between requests."""
        return self.era.keeps_state and self._attached.keeps_state

    async def open(
        self, transport: MessageTransport, capabilities: Params, *, era: Era | None = None
    ) -> None:
        """Perform the handshake.

        Raises:
            JsonRpcError: the server answers with an error.
            ProtocolError: it has no version in common with Remit.
        """
        self._transport = self.demultiplexer.transport = transport
        self.handshake = await negotiate(self, self._client, capabilities, era=transport.only_era or era)
        self.era = UPSTREAM_ERAS[self.handshake.era]
        transport.use_handshake(self.handshake)
        await self.era.opened(self)

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send a request of the handshake, without an envelope."""
        pending = self.new_request()
        message: Message = {"jsonrpc": "2.0", "id": pending.id, "method": method, "params": dict(params)}
        await self._exchange(pending, message)
        return pending.result()

    async def notify(self, method: str, params: Params | None = None) -> None:
        """Send a notification."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = dict(params)
        await self._attached.send(message)

    def new_request(self, caller: RequestContext | None = None) -> PendingRequest:
        """Number the next request."""
        self._last_id += 1
        return PendingRequest(self._last_id, caller)

    async def request(
        self,
        method: str,
        params: Params | None = None,
        *,
        caller: RequestContext | None = None,
        time_limit: float | None = None,
        pending: PendingRequest | None = None,
    ) -> Answer:
        """Send a request, and return the raw answer.

        Raises:
            JsonRpcError: the server answers with an error.
            LostError: the connection is gone.
            ProtocolError: the response is not a valid answer.
            RefusedError: the server refuses with an HTTP status.
            TimeoutError: it does not answer in time.
            UnreachableError: it cannot be reached.
        """
        pending = pending or self.new_request(caller)
        if Switch.active is None:
            return await self._request(pending, method, params, time_limit)
        traced = TracedRequest(method, params or {}, pending.id, version=self.handshake.version)
        with Switch.active.calling(traced) as span:
            answer = await self._request(pending, method, params, time_limit)
            span.answered(answer)
        return answer

    async def _request(
        self, pending: PendingRequest, method: str, params: Params | None, time_limit: float | None
    ) -> Answer:
        message = self._message(pending, method, dict(params or {}))
        pending.time_limit = time_limit
        try:
            await self._exchange(pending, message)
            if pending.is_notifying:
                await pending.flush()
            if not pending.is_over:
                await self._cancel(pending)
                raise TimeoutError
        except anyio.get_cancelled_exc_class():
            await self._cancel(pending)
            raise
        finally:
            pending.close()
        return pending.result()

    async def pages(self, method: str, field: str) -> list[Any]:
        """List the items of all pages as raw JSON; raises what `request` raises.

        Raises:
            ProtocolError: the answer is not a list, or the list is too long or endless.
        """
        found: list[Any] = []
        cursors: set[str] = set()
        cursor: object = None
        size = 0
        while True:
            pending = self.new_request()
            page = await self.request(method, {} if cursor is None else {"cursor": cursor}, pending=pending)
            items, cursor = page.get(field), page.get("nextCursor")
            size += pending.size
            if not isinstance(items, list):
                raise ProtocolError(f"answers with something other than a list of {field}")
            found.extend(cast("list[Any]", items))
            if len(found) > MAX_ITEMS:
                raise ProtocolError(f"lists more than {MAX_ITEMS:,} {field}")
            if size > MAX_LIST_BYTES:
                raise ProtocolError(f"sends more than {MAX_LIST_BYTES // 2**20} MB")
            if not cursor or not isinstance(cursor, str):
                return found
            if cursor in cursors:
                raise ProtocolError(f"its list of {field} has no end: {len(found):,} so far")
            cursors.add(cursor)

    def learn(self, tools: list[Any]) -> None:
        """Remember listed tools, whose arguments may have to be repeated in headers."""
        self._attached.learn(tools)

    def _message(self, pending: PendingRequest, method: str, params: dict[str, Any]) -> Message:
        meta = {
            name: value for name, value in as_object(params.get("_meta")).items() if name not in ENVELOPE_KEYS
        }
        pending.progress_token = meta.pop("progressToken", None)
        if pending.progress_token is not None:
            meta["progressToken"] = pending.id
        with_trace(meta)
        meta.update(self.era.envelope(self.handshake, self._client, pending.caller))
        if meta:
            params["_meta"] = meta
        else:
            params.pop("_meta", None)
        message: Message = {"jsonrpc": "2.0", "id": pending.id, "method": method}
        if params:
            message["params"] = params
        return message

    async def _exchange(self, pending: PendingRequest, message: Message) -> None:
        if self.demultiplexer.fault is not None:
            raise self.demultiplexer.fault
        self.demultiplexer.pending[pending.id] = pending
        try:
            await self._attached.exchange(pending, message)
        finally:
            del self.demultiplexer.pending[pending.id]

    @property
    def _attached(self) -> MessageTransport:
        assert self._transport is not None  # noqa: S101 - `open` comes first
        return self._transport

    async def _cancel(self, pending: PendingRequest) -> None:
        """Notify the server that a request is cancelled, unless disconnecting does that."""
        if pending.is_over or (self.era.cancels_by_disconnecting and self._attached.disconnects):
            return
        params = {"requestId": pending.id, "reason": "no longer needed"}
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
            with suppress(Exception):  # the server may be gone
                await self.notify("notifications/cancelled", params)
