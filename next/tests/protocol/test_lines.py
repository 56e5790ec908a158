"""Messages on descriptors: nothing is lost, and nobody can keep the others from their turn."""

import asyncio
import json
import os
import socket
from collections.abc import Coroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from remit.protocol import (
    CLIENT_LIMITS,
    Answer,
    Incoming,
    LineTransport,
    LostError,
    Peer,
    Pending,
    ProtocolError,
    Tasks,
)
from support.wires import serving, talking

pytestmark = pytest.mark.anyio

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}


class Echo:
    """Answers each request with its parameters."""

    def __init__(self) -> None:
        self.heard = 0

    def answer(self, request: Incoming) -> Answer | Coroutine[Any, Any, Answer]:
        self.heard += 1
        return request.params

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:  # noqa: ARG002
        self.heard += 1


@pytest.mark.parametrize("kind", ["strict", "lenient"])
async def test_a_talkative_side_lets_other_tasks_run_after_16_messages(kind: str) -> None:
    handler = Echo()
    turns: list[int] = []
    async with serving(handler) as (peer, client):
        if kind == "lenient":
            peer.limits = CLIENT_LIMITS._replace(is_strict=False)
        client.write((json.dumps(NOTE).encode() + b"\n") * 200)
        while handler.heard < 200:
            turns.append(handler.heard)
            await asyncio.sleep(0)
    assert max(after - before for before, after in pairwise(turns)) <= 16
    assert len(turns) >= 200 / 16


async def test_output_that_is_not_mcp_is_tolerated_up_to_a_megabyte_in_a_row() -> None:
    async with talking() as (connection, server):
        for _ in range(3):
            await server.flood((b"[INFO] " + b"x" * 1000 + b"\n") * 500)
            asked = asyncio.create_task(connection.request("tools/call", {"name": "x"}))
            number = (await server.read())["id"]
            server.write(b"\n", b"  {oops\n", {"jsonrpc": "2.0", "id": number, "result": {"fine": True}})
            assert await asked == {"fine": True}
        for _ in range(11):
            await server.flood(b"x" * 100_000 + b"\n")
        with anyio.fail_after(30):
            await connection.lost.wait()
        assert str(connection.fault) == "writes output that is not MCP"


async def test_an_unreadable_answer_fails_its_own_call_only() -> None:
    async with talking() as (connection, server):
        first = asyncio.create_task(connection.request("tools/call", {"name": "first"}))
        one = (await server.read())["id"]
        second = asyncio.create_task(connection.request("tools/call", {"name": "second"}))
        two = (await server.read())["id"]
        server.write(b'{"jsonrpc":"2.0","id":%d,"result":{"a":}}\n' % one)
        with pytest.raises(ProtocolError, match="cannot be read"):
            await first
        server.write(b'{"jsonrpc":"2.0","id":%d,"result":{"text":"\xff!"}}\n' % two)
        assert await second == {"text": "\ufffd!"}
        third = asyncio.create_task(connection.request("tools/call", {"name": "third"}))
        await server.read()
        server.write(b'{"jsonrpc":"2.0","result":{"a":}}\n')
        with pytest.raises(ProtocolError, match="cannot be read"):
            await third
        assert connection.fault is not None


async def test_a_message_over_16_mb_ends_the_connection_to_a_server() -> None:
    async with talking() as (connection, server):
        asked = asyncio.create_task(connection.request("tools/call", {"name": "x"}))
        await server.read()
        writing = asyncio.create_task(server.flood(b'"' + b"x" * 17 * 2**20))
        with pytest.raises(ProtocolError, match="more than 16 MB at once"):
            await asked
        server.socket.shutdown(socket.SHUT_RDWR)
        with pytest.raises(BrokenPipeError):
            await writing


async def test_what_a_client_sends_wrongly_is_refused_and_the_rest_is_heard() -> None:
    async with serving(Echo()) as (_, client):
        client.write(
            *(b"{not json\n", [PING], {**PING, "params": [1]}, {**PING, "jsonrpc": "1.0", "id": None}),
            *({**PING, "id": 1.5}, b"\n", b"7\n", {**PING, "params": {"a": "b"}}),
        )
        answers = [await client.read() for _ in range(7)]
        writing = asyncio.create_task(client.flood(b"x" * 17 * 2**20 + b"\n", PING))
        too_long, last = await client.read(), await client.read()
        await writing
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, *[-32600] * 5, None]
    assert [answer["id"] for answer in answers] == [None, None, 1, None, None, None, 1]
    assert answers[-1]["result"] == {"a": "b"}
    assert "bytes" in too_long["error"]["message"]
    assert last["result"] == {}


async def test_a_client_that_does_not_read_is_not_read_from() -> None:
    handler = Echo()
    line = json.dumps({**PING, "params": {"text": "x" * 2**20}}).encode() + b"\n"
    async with serving(handler) as (_, client):
        writing = asyncio.create_task(client.flood(line * 40))
        while handler.heard < 5:
            await anyio.sleep(0.001)
        for _ in range(200):
            await asyncio.sleep(0)
        assert handler.heard <= 8
        assert not writing.done()
        answers = [await client.read() for _ in range(40)]
        assert all(len(answer["result"]["text"]) == 2**20 for answer in answers)
        await writing
    assert handler.heard == 40


async def test_a_message_is_written_whole_though_its_sender_gives_up() -> None:
    async with talking() as (connection, server):
        large = {"name": "x", "arguments": {"text": "x" * 2**21}}
        with pytest.raises(TimeoutError):
            await connection.request("tools/call", large, time_limit=0.01)
        assert (await server.read())["params"] == large
        assert (await server.read())["method"] == "notifications/cancelled"


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_who_writes_learns_that_nobody_reads(kind: str) -> None:
    answers, _ = os.pipe()
    if kind == "pipe":
        reader, writer = os.pipe()
    else:
        ends = socket.socketpair()
        reader, writer = ends[0].detach(), ends[1].detach()
    async with Tasks() as tasks:
        transport = LineTransport(answers, writer)
        peer = Peer(transport, tasks, Echo(), CLIENT_LIMITS._replace(is_strict=False))
        tasks.start(peer.run())
        waiting = asyncio.create_task(peer.request("tools/call", {"text": "x" * 2**21}))
        await asyncio.sleep(0)
        os.close(reader)
        with anyio.fail_after(30), pytest.raises(LostError):
            await waiting
        with pytest.raises(LostError):
            await peer.request("tools/call")
        await transport.close()


async def test_requests_come_from_a_file_and_answers_go_into_a_file(tmp_path: Path) -> None:
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    asked.write_text("".join(json.dumps({**PING, "id": number}) + "\n" for number in range(50)), "utf-8")
    with asked.open("rb") as source, answered.open("wb") as target:
        async with Tasks() as tasks:
            transport = LineTransport(source.fileno(), target.fileno())
            with anyio.fail_after(30):
                await Peer(transport, tasks, Echo(), CLIENT_LIMITS).run()
            await transport.close()
    answers = [json.loads(line) for line in answered.read_text("utf-8").splitlines()]
    assert [answer["id"] for answer in answers] == list(range(50))


async def test_a_terminal_is_read_without_blocking_the_loop() -> None:
    leader, follower = os.openpty()
    handler = Echo()
    async with Tasks() as tasks:
        reads, writes = os.pipe()
        transport = LineTransport(follower, writes)
        running = tasks.start(Peer(transport, tasks, handler, CLIENT_LIMITS).run())
        os.write(leader, json.dumps(PING).encode() + b"\n")
        with anyio.fail_after(30):
            await anyio.wait_readable(reads)
            assert json.loads(os.read(reads, 1000)) == {"jsonrpc": "2.0", "id": 1, "result": {}}
            os.write(leader, b"\x04")  # the end of the input
            await running
        await transport.close()
    for descriptor in (leader, follower, reads, writes):
        os.close(descriptor)


async def test_descriptors_block_again_once_the_transport_is_closed() -> None:
    reads, writes = os.pipe()
    transport = LineTransport(reads, writes)
    assert not os.get_blocking(reads)
    await transport.close()
    assert os.get_blocking(reads)
    assert os.get_blocking(writes)
    os.close(reads)
    os.close(writes)


async def test_a_server_that_reads_none_of_its_requests_is_given_up() -> None:
    async with talking() as (connection, _):
        large = {"name": "x", "arguments": {"text": "x" * 2**23}}
        calling = [asyncio.create_task(connection.request("tools/call", large)) for _ in range(9)]
        with anyio.fail_after(30):
            faults = await asyncio.gather(*calling, return_exceptions=True)
    assert {str(fault) for fault in faults} == {"does not read what Remit sends"}
