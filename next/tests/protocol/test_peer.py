"""A peer in a server's role, over a wire."""

from collections.abc import Coroutine
from typing import Any

import anyio
import pytest

from remit.protocol import Answer, Incoming, Pending
from support.wires import serving

pytestmark = pytest.mark.anyio


class Session:
    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def answer(self, request: Incoming) -> Answer | Coroutine[Any, Any, Answer]:
        return {} if request.method == "ping" else self._work(request)

    async def _work(self, request: Incoming) -> Answer:
        if request.method == "listen":
            request.at_end = {"over": True}
        if request.method != "quick":
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                self.cancelled.append(request.method)
                raise
        return {"did": request.method}

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:
        pass


async def test_a_client_is_answered_asked_and_told() -> None:
    async with serving(Session()) as (peer, client):
        client.write(
            {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": "b", "method": "quick"}
        )
        assert await client.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert await client.read() == {"jsonrpc": "2.0", "id": "b", "result": {"did": "quick"}}
        peer.notify("notifications/tools/list_changed")
        assert await client.read() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def test_a_cancelled_request_gets_no_answer() -> None:
    session = Session()
    async with serving(session) as (_, client):
        client.write({"jsonrpc": "2.0", "id": 1, "method": "slow"})
        client.write({"jsonrpc": "2.0", "id": 2, "method": "quick"})
        assert (await client.read())["id"] == 2
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        client.write({"jsonrpc": "2.0", "id": 3, "method": "ping"})
        assert (await client.read())["id"] == 3
        client.write({"jsonrpc": "2.0", "id": 4, "method": "slow"})
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}})
        client.write({"jsonrpc": "2.0", "id": 5, "method": "quick"})
        assert await client.read() == {"jsonrpc": "2.0", "id": 5, "result": {"did": "quick"}}
    assert session.cancelled == ["slow"]
