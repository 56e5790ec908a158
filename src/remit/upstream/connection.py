"""A connection to one server, over any transport and in both eras of the protocol, with answers as they came.

The SDK's client is not used for this: its answers are typed, so that one bad tool spoils a whole list, and
one dropped request of HTTP ends all others with it.
"""

from contextlib import suppress
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from remit.upstream.messaging.agreement import HandshakeResult
from remit.upstream.messaging.demultiplexer import Demultiplexer, OnNotification
from remit.upstream.messaging.handshake import mark_request, negotiate
from remit.upstream.messaging.messages import Message, ProtocolError, fields
from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.ports import Answer, Params, RequestContext
from remit.upstream.transports.message_transport import MessageTransport

MAX_ITEMS = 10_000  # of one list
MAX_LISTED = 64 * 2**20  # bytes of one list; all the tools of a large server are about one megabyte

_COURTESY = 2.0  # seconds, to tell a server that nobody waits any more


class Connection:
    """A server that answers."""

    def __init__(self, tasks: TaskGroup, client: Params, heard: OnNotification = lambda _, __: None) -> None:
        self._client = client
        self.tasks = tasks  # end with the connection
        self._number = 0
        self._wire: MessageTransport | None = None
        self.hearing = Demultiplexer(tasks, heard)
        self.agreement = HandshakeResult(version="")

    @property
    def in_flight(self) -> int:
        """How many requests wait for their answer."""
        return len(self.hearing.calls)

    @property
    def keeps_state(self) -> bool:
        """Whether the server may remember something between requests."""
        return not self.agreement.is_modern and self._wired.keeps_state

    async def open(
        self, wire: MessageTransport, capabilities: Params, *, is_modern: bool | None = None
    ) -> None:
        """Greet the server.

        Raises:
            JsonRpcError: it answers with an error.
            ProtocolError: no version is common to both.
        """
        self._wire = self.hearing.wire = wire
        is_new = False if wire.is_old else is_modern
        self.agreement = await negotiate(self, self._client, capabilities, is_modern=is_new)
        wire.agreed(self.agreement)
        if not self.agreement.is_modern:
            await self.notify("notifications/initialized")

    async def send_request(self, method: str, params: Params) -> Answer:
        """Ask the server, before anything is agreed on."""
        call = self.new_call()
        message: Message = {"jsonrpc": "2.0", "id": call.id, "method": method, "params": dict(params)}
        await self._exchange(call, message)
        return call.result()

    async def notify(self, method: str, params: Params | None = None) -> None:
        """Tell the server something."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = dict(params)
        await self._wired.send(message)

    def new_call(self, caller: RequestContext | None = None) -> PendingRequest:
        """Make ready for a request."""
        self._number += 1
        return PendingRequest(self._number, caller)

    async def request(
        self,
        method: str,
        params: Params | None = None,
        *,
        caller: RequestContext | None = None,
        patience: float | None = None,
        call: PendingRequest | None = None,
    ) -> Answer:
        """Pass a request on, and give the answer as it came.

        Raises:
            JsonRpcError: the server answers with an error.
            LostError: it is gone.
            ProtocolError: what comes is no answer.
            RefusedError: HTTP has it refused.
            TimeoutError: it does not answer in time.
            UnreachableError: it cannot be reached.
        """
        call = call or self.new_call(caller)
        message = self._prepared(call, method, dict(params or {}))
        try:
            with call.within(patience):
                await self._exchange(call, message)
            if call.is_telling:
                await call.settle()
            if not call.is_over:
                await self._abandon(call)
                raise TimeoutError
        except anyio.get_cancelled_exc_class():
            await self._abandon(call)
            raise
        finally:
            call.close()
        return call.result()

    async def pages(self, method: str, field: str) -> list[Any]:
        """List all pages of something, as they came; errors are as those of `request`.

        Raises:
            ProtocolError: the list is too long or has no end, or is none.
        """
        found: list[Any] = []
        cursors: set[str] = set()
        cursor: object = None
        size = 0
        while True:
            call = self.new_call()
            page = await self.request(method, {} if cursor is None else {"cursor": cursor}, call=call)
            items, cursor = page.get(field), page.get("nextCursor")
            size += call.size
            if not isinstance(items, list):
                raise ProtocolError(f"answers with something that is no list of {field}")
            found.extend(cast("list[Any]", items))
            if len(found) > MAX_ITEMS:
                raise ProtocolError(f"lists more than {MAX_ITEMS:,} {field}")
            if size > MAX_LISTED:
                raise ProtocolError(f"sends more than {MAX_LISTED // 2**20} MB")
            if not cursor or not isinstance(cursor, str):
                return found
            if cursor in cursors:
                raise ProtocolError(f"its list of {field} has no end: {len(found):,} so far")
            cursors.add(cursor)

    def learn(self, tools: list[Any]) -> None:
        """Take note of tools that were listed."""
        self._wired.learn(tools)

    def _prepared(self, call: PendingRequest, method: str, params: dict[str, Any]) -> Message:
        meta = dict(fields(params.get("_meta")))
        call.token = meta.pop("progressToken", None)
        if call.token is not None:
            meta["progressToken"] = call.id
        mark_request(meta, self.agreement, self._client, call.caller)
        if meta:
            params["_meta"] = meta
        else:
            params.pop("_meta", None)
        message: Message = {"jsonrpc": "2.0", "id": call.id, "method": method}
        if params:
            message["params"] = params
        return message

    async def _exchange(self, call: PendingRequest, message: Message) -> None:
        if self.hearing.fault is not None:
            raise self.hearing.fault
        self.hearing.calls[call.id] = call
        try:
            await self._wired.exchange(call, message)
        finally:
            del self.hearing.calls[call.id]

    @property
    def _wired(self) -> MessageTransport:
        assert self._wire is not None  # noqa: S101 - it is opened first
        return self._wire

    async def _abandon(self, call: PendingRequest) -> None:
        """Tell the server that nobody waits any more; over HTTP of today, hanging up says it."""
        if call.is_over or (self.agreement.is_modern and self._wired.hangs_up):
            return
        params = {"requestId": call.id, "reason": "nobody waits for it any more"}
        with anyio.move_on_after(_COURTESY, shield=True):
            with suppress(Exception):  # it is gone, too
                await self.notify("notifications/cancelled", params)
