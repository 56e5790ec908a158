"""Requests of the other side: answered side by side, cancelled, and ended with the connection."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import anyio
import pytest

from remit.errors import StoreUnavailableError
from remit.protocol import Answer, Incoming, JsonRpcError, Pending
from support.wires import Wire, serving

pytestmark = pytest.mark.anyio


class Session:
    """A server's role with a few methods."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []
        self.go_on = asyncio.Event()

    def answer(self, request: Incoming) -> Answer | Coroutine[Any, Any, Answer]:
        return {} if request.method == "ping" else self._work(request)

    async def _work(self, request: Incoming) -> Answer:
        if request.method == "listen":
            request.at_end = {"over": True}
        try:
            if request.method == "wait":
                await self.go_on.wait()
            elif request.method == "fail":
                raise StoreUnavailableError("no store", hint="check it")
            elif request.method == "break":
                raise ValueError("secret")
            elif request.method != "quick":
                await anyio.sleep_forever()
        except asyncio.CancelledError:
            self.cancelled.append(request.method)
            raise
        return {"did": request.method}

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:
        pass


def ask(client: Wire, *methods: str) -> None:
    """Send requests, whose ids are their methods."""
    client.write(*({"jsonrpc": "2.0", "id": method, "method": method} for method in methods))


async def test_requests_run_side_by_side_and_the_other_side_is_told_and_asked() -> None:
    session = Session()
    async with serving(session) as (peer, client):
        ask(client, "wait", "ping", "quick")
        assert await client.read() == {"jsonrpc": "2.0", "id": "ping", "result": {}}
        assert await client.read() == {"jsonrpc": "2.0", "id": "quick", "result": {"did": "quick"}}
        peer.notify("notifications/tools/list_changed")
        assert await client.read() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        asked = asyncio.create_task(peer.request("roots/list"))
        question = await client.read()
        client.write({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
        assert await asked == {"roots": []}
        session.go_on.set()
        assert (await client.read())["id"] == "wait"


async def test_a_failed_request_is_answered_and_takes_down_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "remit")
    async with serving(Session()) as (_, client):
        ask(client, "fail", "break", "quick")
        answers = [await client.read() for _ in range(3)]
    outcomes = {answer["id"]: answer.get("result", answer.get("error")) for answer in answers}
    assert outcomes == {
        "fail": {"code": -32603, "message": "no store (check it)"},
        "break": {"code": -32603, "message": "Internal error"},
        "quick": {"did": "quick"},
    }


async def test_two_requests_of_one_id_are_not_mixed_up() -> None:
    session = Session()
    async with serving(session) as (_, client):
        ask(client, "wait", "wait")
        assert (await client.read())["error"]["message"] == "a request with this id is in progress"
        session.go_on.set()
        assert (await client.read())["result"] == {"did": "wait"}


async def test_a_cancelled_request_gets_no_answer_whether_it_has_begun_or_not() -> None:
    session = Session()

    def cancel(number: object) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}

    async with serving(session) as (_, client):
        ask(client, "begun", "quick")
        assert (await client.read())["id"] == "quick"
        client.write(cancel("begun"), {"jsonrpc": "2.0", "id": "unbegun", "method": "x"}, cancel("unbegun"))
        client.write(cancel("unknown"), cancel([]))
        ask(client, "ping")
        assert (await client.read())["id"] == "ping"
        ask(client, "quick")
        assert (await client.read())["id"] == "quick"
    assert session.cancelled == ["begun"]


async def test_a_question_that_is_given_up_is_cancelled_there() -> None:
    async with serving(Session()) as (peer, client):
        with pytest.raises(TimeoutError):
            with anyio.fail_after(0.01):
                await peer.request("elicitation/create")
        asked, cancelled = await client.read(), await client.read()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == asked["id"]


async def test_at_the_end_open_answers_are_waited_for_and_streams_end_at_once() -> None:
    session = Session()
    async with serving(session) as (peer, client):
        ask(client, "listen", "wait", "ping")
        assert (await client.read())["id"] == "ping"
        client.socket.shutdown(1)
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.05, session.go_on.set)
        waited, listened = await client.read(), await client.read()
        await peer.lost.wait()
    assert (waited["id"], waited["result"]) == ("wait", {"did": "wait"})
    assert (listened["id"], listened["result"]) == ("listen", {"over": True})


async def test_a_listening_client_is_not_waited_for() -> None:
    async with serving(Session()) as (peer, client):
        ask(client, "listen", "ping")
        await client.read()
        began = asyncio.get_running_loop().time()
        client.socket.shutdown(1)
        assert (await client.read())["result"] == {"over": True}
        assert asyncio.get_running_loop().time() - began < peer.limits.drain == 1.5


async def test_what_takes_too_long_at_the_end_is_an_error() -> None:
    session = Session()
    async with serving(session) as (peer, client):
        peer.limits = peer.limits._replace(drain=0.05)
        ask(client, "endless", "ping")
        await client.read()
        client.socket.shutdown(1)
        error = (await client.read())["error"]
    assert error == {"code": -32000, "message": "Connection closed"}
    assert session.cancelled == ["endless"]


async def test_an_error_of_the_client_arrives_with_code_and_data() -> None:
    async with serving(Session()) as (peer, client):
        asked = asyncio.create_task(peer.request("sampling/createMessage", {"messages": []}))
        question = await client.read()
        error = {"code": -1, "message": "User rejected", "data": {"why": "no"}}
        client.write({"jsonrpc": "2.0", "id": str(question["id"]), "error": error})
        with pytest.raises(JsonRpcError, match="User rejected") as caught:
            await asked
    assert (caught.value.code, caught.value.data) == (-1, {"why": "no"})
