"""Lists over HTTP go out as they were written once."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import pytest
from starlette.types import Message

from remit.gateway.ports import PublishedList
from remit.gateway.transports.list_encoding import EncodedList
from remit.gateway.transports.list_splicing import ListSplicer, splice_lists
from support.http_gateway import Gateway, gateway
from support.stub_endpoint import StubEndpoint

ODD = {"name": "odd", "description": "größer\u2028and\x85more\r\n", "inputSchema": {"default": None}}
META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class OddEndpoint(StubEndpoint):
    def __init__(self) -> None:
        super().__init__()
        self._tools = PublishedList([{**ODD, "title": str(number)} for number in range(1000)], "1")


def lists(version: str, count: int) -> list[httpx2.Response]:
    """Ask for the tools as often at once, as a client of a version."""
    answers: list[httpx2.Response] = []

    async def ask(served: Gateway, number: int, headers: Mapping[str, str], params: object) -> None:
        request = {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": params}
        answers.append(await served.post("/mcp", request, **headers))

    async def run() -> None:
        async with gateway(endpoint=OddEndpoint) as served, anyio.create_task_group() as tasks:
            headers, is_newer = {"mcp_protocol_version": version}, version == "2026-07-28"
            if is_newer:
                headers["mcp_method"] = "tools/list"
            else:
                headers["mcp_session_id"] = await greeted(served, version)
            for number in range(count):
                tasks.start_soon(ask, served, number, headers, {"_meta": META} if is_newer else {})

    anyio.run(run)
    return answers


async def greeted(served: Gateway, version: str) -> str:
    me = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": me}
    session = (await served.post("/mcp", hello)).headers["mcp-session-id"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    await served.post("/mcp", ready, mcp_session_id=session, mcp_protocol_version=version)
    return session


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_concurrent_requests_get_every_tool_unchanged(version: str) -> None:
    answers = lists(version, 5)
    assert len(answers) == 5
    for answer in answers:
        (line,) = [line for line in answer.text.splitlines() if '"jsonrpc"' in line]
        message = json.loads(line.removeprefix("data:"))
        assert answer.status_code == 200
        assert message["result"]["tools"] == [{**ODD, "title": str(number)} for number in range(1000)]


def sent_of(*messages: Message, answer: Mapping[str, Any] | None = None) -> tuple[list[Message], Any]:
    """Send the parts of a response; gives what went out, and what the SDK was given to write."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> Any:
        scope: dict[str, Any] = {}
        splicing = ListSplicer(scope, send)
        written = None if answer is None else splice_lists(dict(answer), scope)
        for message in messages:
            body = message.get("body", b"").replace(b"WRITTEN", json.dumps(written).encode())
            await splicing({**message, "body": body} if "body" in message else message)
        return written

    return sent, anyio.run(run)


def test_the_content_length_includes_the_inserted_list() -> None:
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]}
    body = {"type": "http.response.body", "body": b"WRITTEN"}
    sent, _ = sent_of(start, body, answer={"tools": EncodedList([ODD]), "ttlMs": 0})
    assert json.loads(sent[1]["body"]) == {"tools": [ODD], "ttlMs": 0}
    assert sent[0]["headers"] == [(b"content-length", str(len(sent[1]["body"])).encode())]


def test_a_stream_starts_at_once_and_its_other_events_are_left_alone() -> None:
    start: Message = {"type": "http.response.start", "status": 200, "headers": []}
    assert sent_of(start)[0] == [start]
    event = {"type": "http.response.body", "body": b'data: "list:0123"\r\n\r\n', "more_body": True}
    last = {"type": "http.response.body", "body": b"data: WRITTEN\r\n\r\n"}
    sent, written = sent_of(start, event, last, answer={"tools": EncodedList([])})
    assert sent[:2] == [start, event]
    assert written != {"tools": []}
    assert sent[2]["body"] == b'data: {"tools": []}\r\n\r\n'
