"""Remote servers: each request stands alone, and nothing that carries secrets goes elsewhere."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from remit.protocol import (
    Answer,
    Era,
    JsonRpcError,
    LostError,
    Params,
    PeerError,
    ProtocolError,
    RefusedError,
    ServerConnection,
    SessionExpiredError,
    UnreachableError,
    connect,
    http_client,
    open_http,
    open_sse,
)
from support.http_wires import HttpRequest, McpServer, Reply, http_server
from support.wires import CLIENT, RecordingCaller

pytestmark = pytest.mark.anyio


def result_of(request: HttpRequest, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.message["id"], "result": result}


def name_of(request: HttpRequest) -> str:
    return request.message["params"]["name"]


@asynccontextmanager
async def opened(server: McpServer, **options: Any) -> AsyncGenerator[ServerConnection]:
    era = Era.SESSION if server.era == "session" else None
    async with (
        http_server(server) as url,
        open_http(f"{url}/mcp", **options) as transport,
        connect(transport, CLIENT, {}, era=era) as connection,
    ):
        yield connection


async def call(connection: ServerConnection, name: str, **more: Any) -> Answer:
    return await connection.request("tools/call", {"name": name}, **more)


async def test_one_failed_post_costs_one_call() -> None:
    go_on = asyncio.Event()

    async def answer(request: HttpRequest, reply: Reply) -> None:
        if name_of(request) == "slow":
            await go_on.wait()
        elif name_of(request) == "torn":
            await reply.start(kind="text/event-stream")
            await reply.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        if name_of(request) not in ("dropped", "torn"):
            await reply.json(result_of(request, did=name_of(request)))

    async with opened(McpServer({"tools/call": answer})) as connection:
        slow = asyncio.create_task(call(connection, "slow"))
        for name in ("dropped", "torn"):
            with pytest.raises(LostError, match="broke off before it answered"):
                await call(connection, name)
        go_on.set()
        assert await slow == {"did": "slow"}
        assert connection.fault is None


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_belongs_to_its_stream_whatever_its_id(kind: str) -> None:
    async def answer(request: HttpRequest, reply: Reply) -> None:
        message = {**result_of(request, did=name_of(request)), "id": 4711}
        await reply.start(kind=kind)
        await (
            reply.event(message)
            if "event" in kind
            else reply.write(httpx2.Response(200, json=message).content)
        )

    async with opened(McpServer({"tools/call": answer})) as connection:
        answers = await asyncio.gather(*(call(connection, name) for name in "abc"))
    assert answers == [{"did": name} for name in "abc"]


async def test_statuses_are_refusals_and_only_some_carry_json_rpc_errors() -> None:
    async def answer(request: HttpRequest, reply: Reply) -> None:
        status = int(name_of(request))
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32099, "message": "told"}}
        challenge = 'Bearer error="insufficient_scope", scope="files:read files:write"'
        await reply.json(error, status, www_authenticate=challenge)

    async with opened(McpServer({"tools/call": answer})) as connection:
        with pytest.raises(JsonRpcError, match="told"):
            await call(connection, "400")
        with pytest.raises(RefusedError) as unauthorized:
            await call(connection, "401")
        with pytest.raises(RefusedError, match="wants the scope `files:read files:write`") as forbidden:
            await call(connection, "403")
        with pytest.raises(SessionExpiredError):
            await call(connection, "404")
        with pytest.raises(JsonRpcError, match="told"):
            await call(connection, "503")
    assert (unauthorized.value.status, unauthorized.value.scope) == (401, None)
    assert (forbidden.value.status, forbidden.value.scope) == (403, "files:read files:write")


async def test_a_404_without_a_session_may_carry_an_error() -> None:
    async def answer(request: HttpRequest, reply: Reply) -> None:
        error = {"jsonrpc": "2.0", "id": request.message["id"], "error": {"code": -32601, "message": "no"}}
        await reply.json(error, 404)

    async with opened(McpServer({"tools/call": answer}, session=None)) as connection:
        with pytest.raises(JsonRpcError, match="no"):
            await call(connection, "x")


async def test_a_torn_stream_is_resumed_twice_from_its_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "LONGEST_PAUSE", 0.01)
    note: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
    resumed: list[str] = []

    async def begin(request: HttpRequest, reply: Reply) -> None:
        await reply.start(kind="text/event-stream")
        await reply.event(note, id=f"{name_of(request)}-{request.message['id']}", retry=3_600_000)

    async def resume(request: HttpRequest, reply: Reply) -> None:
        if (last := request.headers.get("last-event-id")) is None:
            await reply.start(405)
            return
        resumed.append(last)
        name, _, number = last.partition("-")
        await reply.start(kind="text/event-stream")
        if resumed.count(last) == 2 and name == "good":
            await reply.event({"jsonrpc": "2.0", "id": int(number), "result": {"did": "it"}})

    with anyio.fail_after(30):
        async with opened(McpServer({"tools/call": begin, "GET": resume})) as connection:
            assert await call(connection, "good") == {"did": "it"}
            with pytest.raises(LostError):
                await call(connection, "bad")
    assert [last.partition("-")[0] for last in resumed] == ["good", "good", "bad", "bad"]
    assert len(set(resumed)) == 2


async def test_the_end_of_a_session_is_told_and_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "_CLOSE_SECONDS", 0.05)

    async def hang(_: HttpRequest, __: Reply) -> None:
        await anyio.sleep_forever()

    server = McpServer({"DELETE": hang})
    with anyio.fail_after(30):
        async with opened(server):
            pass
    assert server.requests[-1].method == "DELETE"
    assert server.requests[-1].headers["mcp-session-id"] == "s1"
    assert server.requests[-1].headers["mcp-protocol-version"] == "2025-11-25"


async def test_redirects_stay_within_origin_and_method() -> None:
    elsewhere: list[HttpRequest] = []

    async def other(request: HttpRequest, reply: Reply) -> None:
        elsewhere.append(request)
        await reply.json({})

    async with http_server(other) as other_url:

        async def answer(request: HttpRequest, reply: Reply) -> None:
            if request.path == "/new":
                await reply.json(result_of(request, at="/new"))
            elif name_of(request) == "near":
                await reply.start(307, location="/new")
            elif name_of(request) == "get":
                await reply.start(303, location="/new")
            else:
                await reply.start(307, location=f"{other_url}/mcp")

        async with opened(
            McpServer({"tools/call": answer}), headers={"authorization": "s3cret"}
        ) as connection:
            assert await call(connection, "near") == {"at": "/new"}
            for name, status in (("get", 303), ("far", 307)):
                with pytest.raises(RefusedError) as caught:
                    await call(connection, name)
                assert caught.value.status == status
    assert elsewhere == []


async def test_errors_do_not_contain_the_url() -> None:
    urls = ["http://user:s3cret@127.0.0.1:1/s3cret", "ftp://s3cret.test/"]
    texts: list[str] = []
    for url in urls:
        async with open_http(url) as transport:
            with pytest.raises(UnreachableError) as caught:
                async with connect(transport, CLIENT, {}):
                    pass
            texts.append(str(caught.value))
    with pytest.raises(ProtocolError, match="its URL cannot be read"):
        async with open_http("http://s3cret:port/"):
            pass
    assert texts == ["connection refused", "its URL must begin with http:// or https://"]
    assert not any("s3cret" in text for text in texts)


async def test_compressed_and_endless_answers_are_refused() -> None:
    async def answer(request: HttpRequest, reply: Reply) -> None:
        if name_of(request) == "zipped":
            await reply.json(result_of(request), content_encoding="gzip")
            return
        await reply.start()
        await reply.write(b'"')
        while True:
            await reply.write(b"x" * 2**20)

    async with opened(McpServer({"tools/call": answer})) as connection:
        with pytest.raises(ProtocolError, match="compresses its answers"):
            await call(connection, "zipped")
        with pytest.raises(ProtocolError, match="more than 16 MB"):
            await call(connection, "endless")


async def test_all_clients_share_one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    http_client._tls_context.cache_clear()  # pyright: ignore[reportPrivateUsage]
    made: list[ssl.SSLContext] = []

    def create() -> ssl.SSLContext:
        made.append(ssl.create_default_context())
        return made[-1]

    monkeypatch.setattr(httpx2, "create_ssl_context", create)
    for _ in range(3):
        async with open_http("https://127.0.0.1:1/"):
            pass
    assert len(made) == 1


async def test_a_talkative_stream_lets_other_tasks_run() -> None:
    counted = 0
    is_over = False

    async def answer(request: HttpRequest, reply: Reply) -> None:
        note = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
        await reply.start(kind="text/event-stream")
        await reply.write(note.encode() * 500)
        await reply.event(result_of(request))

    async def count() -> None:
        nonlocal counted
        while not is_over:
            counted += 1
            await asyncio.sleep(0)

    async with opened(McpServer({"tools/call": answer})) as connection:
        counting = asyncio.create_task(count())
        await call(connection, "x")
        is_over = True
        await counting
    assert counted > 400


async def test_a_session_request_that_is_given_up_is_cancelled_by_notification() -> None:
    async def hang(_: HttpRequest, __: Reply) -> None:
        await anyio.sleep_forever()

    async def hear(_: HttpRequest, reply: Reply) -> None:
        await reply.start(202)
        told.set()

    told = asyncio.Event()
    server = McpServer({"tools/call": hang, "notifications/cancelled": hear})
    async with opened(server) as connection:
        with pytest.raises(TimeoutError):
            await call(connection, "x", time_limit=0.05)
        with anyio.fail_after(30):
            await told.wait()
    asked, cancelled = server.messages[-2:]
    assert cancelled["params"]["requestId"] == asked["id"]


async def test_a_stateless_request_that_is_given_up_closes_its_stream() -> None:
    closed = asyncio.Event()

    async def hang(_: HttpRequest, reply: Reply) -> None:
        await reply.start(kind="text/event-stream")
        try:
            while True:
                await reply.write(b": still here\n\n")
                await asyncio.sleep(0.001)
        finally:
            closed.set()

    server = McpServer({"tools/call": hang}, session=None, era="stateless")
    async with opened(server) as connection:
        with pytest.raises(TimeoutError):
            await call(connection, "x", time_limit=0.05)
        with anyio.fail_after(30):
            await closed.wait()
    methods = [message["method"] for message in server.messages]
    assert methods == ["server/discover", "tools/call"]


async def test_a_question_on_the_stream_of_a_request_goes_to_its_caller() -> None:
    replies: dict[str, asyncio.Future[Any]] = {}

    async def ask(request: HttpRequest, reply: Reply) -> None:
        name = name_of(request)
        replies[name] = asyncio.get_running_loop().create_future()
        await reply.start(kind="text/event-stream")
        await reply.event({"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": {}})
        await reply.event(result_of(request, **await replies[name]))

    async def take(request: HttpRequest, reply: Reply) -> None:
        replies[request.message["id"]].set_result(request.message["result"])
        await reply.start(202)

    def caller(name: str) -> RecordingCaller:
        async def answer(_: str, __: Params) -> Answer:
            return {"by": name}

        return RecordingCaller(name, answer=answer)

    server = McpServer({"tools/call": ask, "POST": take})
    async with opened(server) as connection:
        answers = await asyncio.gather(*(call(connection, name, caller=caller(name)) for name in "ab"))
    assert answers == [{"by": "a"}, {"by": "b"}]


async def test_marked_arguments_are_repeated_in_headers_once_the_server_misses_them() -> None:
    schema = {"properties": {"place": {"type": "string", "x-mcp-header": "Place"}}}

    async def answer(request: HttpRequest, reply: Reply) -> None:
        if "mcp-param-place" in request.headers:
            await reply.json(result_of(request, at=request.headers["mcp-param-place"]))
        else:
            error = {"code": -32020, "message": "HeaderMismatch"}
            await reply.json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, 400)

    async def tools(request: HttpRequest, reply: Reply) -> None:
        await reply.json(result_of(request, tools=[{"name": "go", "inputSchema": schema}]))

    server = McpServer({"tools/call": answer, "tools/list": tools}, session=None, era="stateless")
    async with opened(server) as connection:
        params = {"name": "go", "arguments": {"place": "Köln"}}
        assert await connection.request("tools/call", params) == {"at": "=?base64?S8O2bG4=?="}
        with pytest.raises(JsonRpcError, match="HeaderMismatch"):
            await connection.request("tools/call", {"name": "go", "arguments": {}})
    methods = [message["method"] for message in server.messages]
    assert methods == ["server/discover", *["tools/call", "tools/list", "tools/call"] * 2]
    asked = server.requests[1].headers
    assert (asked["mcp-method"], asked["mcp-name"], asked["mcp-protocol-version"]) == (
        *("tools/call", "go", "2026-07-28"),
    )


async def test_a_server_of_the_event_stream_is_called_and_may_not_send_us_elsewhere() -> None:
    streams: list[Reply] = []

    async def answer(request: HttpRequest, reply: Reply) -> None:
        if request.method == "GET":
            streams.append(reply)
            await reply.start(kind="text/event-stream")
            target = "http://127.0.0.2/post" if request.path == "/far" else "/post"
            await reply.event(target, event="endpoint")
            await anyio.sleep_forever()
        assert request.path == "/post"
        await reply.start(202)
        if request.message.get("method") == "initialize":
            result: dict[str, Any] = {"protocolVersion": "2024-11-05", "capabilities": {}}
            await streams[-1].event(result_of(request, **result))
        elif "id" in request.message:
            await streams[-1].event(result_of(request, did=request.message["method"]))

    async with http_server(answer) as url:
        async with open_sse(f"{url}/sse") as transport, connect(transport, CLIENT, {}) as connection:
            assert await connection.request("tools/call", {"name": "x"}) == {"did": "tools/call"}
            assert connection.handshake.version == "2024-11-05"
            assert connection.keeps_state
        async with open_sse(f"{url}/far") as transport:
            with pytest.raises(ProtocolError, match="sends Remit to another host"):
                async with connect(transport, CLIENT, {}):
                    pass


async def test_a_check_may_refuse_each_request() -> None:
    async def refuse(request: httpx2.Request) -> None:
        if request.url.path == "/mcp":
            raise PeerError("is not allowed")

    with pytest.raises(PeerError, match="is not allowed"):
        async with opened(McpServer({}), check=refuse):
            pass
