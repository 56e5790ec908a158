"""Links to servers of HTTP: one request that fails costs itself alone, and each asks its own caller."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import pytest

from remit.decision.declared_launch import Launch, Transport
from remit.errors import UpstreamError
from remit.protocol.json_rpc import Answer, Params
from remit.upstream.upstream_model import Upstream
from remit.upstream.upstream_pool import UpstreamPool
from support.processes import forked_server_command
from support.upstream_pools import RecordingCaller, open_pool, text_of, tool, upstream

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def serving(kind: str) -> Generator[Upstream]:
    """Run a server on a free port."""
    server = subprocess.Popen(
        forked_server_command("http_server.py", kind),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"
        if kind == "sse":
            yield upstream(Launch(transport=Transport.SSE, url=f"{address}/sse"), "remote")
        else:
            yield upstream(Launch(transport=Transport.HTTP, url=f"{address}/mcp"), "remote")
    finally:
        server.kill()
        server.communicate()


async def failing(made: UpstreamPool, server: Upstream, name: str) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await made.request(server, "tools/call", tool(name), RecordingCaller())
    return caught.value


@pytest.mark.parametrize(
    ("kind", "version"), [("sdk", "2026-07-28"), ("sdk-old", "2025-11-25"), ("sse", "2025-11-25")]
)
async def test_a_remote_server_is_called_in_its_own_era(kind: str, version: str) -> None:
    with serving(kind) as server:
        async with open_pool() as made:
            answer = await made.request(server, "tools/call", tool("echo", x="hello"), RecordingCaller())
            assert made.statuses()[0].protocol_version == version
            stock = await made.list_all(server)
    assert text_of(answer) == "hello"
    assert [item["name"] for item in stock.tools] == ["echo", "steps", "ask"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sdk", "sdk-old", "sse"])
async def test_progress_of_a_remote_server_reaches_the_caller(kind: str) -> None:
    caller = RecordingCaller()
    with serving(kind) as server:
        async with open_pool() as made:
            asked = {**tool("steps"), "_meta": {"progressToken": "mine"}}
            await made.request(server, "tools/call", asked, caller)
    assert [(params["progressToken"], params["progress"]) for _, params in caller.told] == [
        ("mine", 1),
        ("mine", 2),
    ]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "session"), [("sdk-old", "one"), ("sdk-old", ""), ("sse", "")])
async def test_each_of_many_callers_gets_its_own_questions(kind: str, session: str) -> None:
    answers: dict[str, str] = {}

    with serving(kind) as server:
        async with open_pool() as made:

            async def call(name: str) -> None:
                async def choose(_: str, __: Params) -> Answer:
                    return {"action": "accept", "content": {"which": name}}

                capabilities: Params = {"elicitation": {"form": {}}}
                caller = RecordingCaller(session=session or name, capabilities=capabilities, answer=choose)
                answers[name] = text_of(await made.request(server, "tools/call", tool("ask"), caller))

            async with anyio.create_task_group() as tasks:
                for name in ("ada", "bob", "cleo"):
                    tasks.start_soon(call, name)
    assert {name: name in answer for name, answer in answers.items()} == dict.fromkeys(answers, True)
    assert len(answers) == 3


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("drop", "answers 500 Internal Server Error"),
        ("break", "broke off before it answered"),
        ("refuse", "answers 503 Service Unavailable"),
        ("stranger", "answers 401 Unauthorized"),
    ],
)
async def test_a_failed_request_affects_no_other(name: str, reason: str) -> None:
    with serving("odd") as server:
        async with open_pool() as made:
            before = text_of(await made.request(server, "tools/call", tool("echo"), RecordingCaller()))
            error = await failing(made, server, name)
            after = text_of(await made.request(server, "tools/call", tool("echo"), RecordingCaller()))
    assert str(error) == f"`remote` {reason}"
    assert before == after == "s1"
    if name == "stranger":
        assert error.hint == "run `remit login remote`, or add its headers in /files/.mcp.json"


async def test_an_expired_session_is_opened_again() -> None:
    with serving("odd") as server:
        async with open_pool() as made:
            await made.request(server, "tools/call", tool("forget"), RecordingCaller())
            answer = await made.request(server, "tools/call", tool("echo"), RecordingCaller())
            assert made.statuses()[0].errors == 0
    assert text_of(answer) == "s2"


async def test_a_server_that_disappears_is_named_and_found_again() -> None:
    with serving("odd") as server:
        pass
    async with open_pool() as made:
        error = await failing(made, server, "echo")
    assert str(error) == "`remote` cannot be reached: connection refused"
    assert error.hint == "check that it runs, and its `url` in /files/.mcp.json"
