"""A connection to a server: handshake, calls, lists, and what the server asks and tells meanwhile."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from remit.protocol import (
    Answer,
    Era,
    JsonRpcError,
    LineTransport,
    LostError,
    Params,
    ProtocolError,
    connect,
    server_connection,
)
from support.wires import CLIENT, RecordingCaller, ScriptedServer, connected, talking

pytestmark = pytest.mark.anyio

ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, params = message["method"], message.get("params", {})
    answer = {"id": message["id"], "jsonrpc": "2.0"}
    if method == "initialize":
        answer["result"] = {"protocolVersion": params["protocolVersion"], "capabilities": {}}
    elif method == "tools/list":
        answer["result"] = {"tools": [{"name": "echo"}]}
    elif method == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": params["arguments"]["x"]}]}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
"""
STATELESS: Answer = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
CALL = {"name": "x"}


def refusing(code: int, message: str, data: object = None) -> Callable[[Params], Answer]:
    def refuse(_: Params) -> Answer:
        raise JsonRpcError(code, message, data)

    return refuse


async def hang(_: Params) -> Answer:
    await anyio.sleep_forever()
    raise AssertionError


def answering(result: Answer) -> Callable[[str, Params], Coroutine[Any, Any, Answer]]:
    async def answer(_: str, __: Params) -> Answer:
        return result

    return answer


async def test_a_process_lists_and_runs_its_tools() -> None:
    with subprocess.Popen([sys.executable, "-c", ECHO], stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        transport = LineTransport(process.stdout.fileno(), process.stdin.fileno())
        async with connect(transport, CLIENT, {}) as connection:
            lists = await connection.lists({"tools"})
            answer = await connection.request("tools/call", {"name": "echo", "arguments": {"x": "hé"}})
    assert lists == {"tools": [{"name": "echo"}]}
    assert answer == {"content": [{"type": "text", "text": "hé"}]}


async def test_an_error_of_the_server_arrives_with_code_and_data() -> None:
    server = ScriptedServer({"resources/read": refusing(-32002, "no such thing", {"uri": "x:y"})})
    async with connected(server) as connection:
        with pytest.raises(JsonRpcError, match="no such thing") as caught:
            await connection.request("resources/read", {"uri": "x:y"})
    assert (caught.value.code, caught.value.data) == (-32002, {"uri": "x:y"})


async def test_a_lost_server_fails_the_calls_in_flight() -> None:
    async def vanish(_: Params) -> Answer:
        server.hang_up()
        return await hang(_)

    server = ScriptedServer({"tools/call": vanish})
    async with connected(server) as connection:
        with pytest.raises(LostError):
            await connection.request("tools/call", CALL)
        await connection.lost.wait()
        with pytest.raises(LostError):
            await connection.request("tools/call", CALL)


async def test_ids_that_come_back_as_text_and_batches_are_understood() -> None:
    async with talking() as (connection, server):
        first = asyncio.create_task(connection.request("tools/call", CALL))
        one = (await server.read())["id"]
        second = asyncio.create_task(connection.request("tools/call", CALL))
        two = (await server.read())["id"]
        batch: list[Any] = [{"id": str(one), "result": {"n": 1}}, {"id": two, "result": {"n": 2}}, [], 7]
        server.write(batch)
        assert (await first, await second) == ({"n": 1}, {"n": 2})


# The handshake.


async def test_a_server_that_ignores_discovery_is_opened_by_initialize(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert server_connection.PROBE_SECONDS == 10
    monkeypatch.setattr(server_connection, "PROBE_SECONDS", 0.02)
    server = ScriptedServer({"server/discover": hang}, instructions="Be kind.")
    async with connected(server) as connection:
        assert connection.handshake.era is Era.SESSION
        assert connection.handshake.instructions == "Be kind."
        assert connection.keeps_state
    methods = [method for method, _ in server.heard]
    assert methods == ["server/discover", "initialize", "notifications/initialized"]


async def test_a_known_era_saves_the_probe() -> None:
    server = ScriptedServer({})
    async with connected(server, era=Era.SESSION):
        pass
    assert [method for method, _ in server.heard][:1] == ["initialize"]


async def test_a_stateless_server_gets_the_callers_envelope_with_each_request() -> None:
    server = ScriptedServer({"server/discover": STATELESS, "tools/call": {}, "logging/setLevel": {}})
    caller = RecordingCaller(capabilities={"roots": {}}, log_level="error")
    async with connected(server, capabilities={"sampling": {}}) as connection:
        assert not connection.keeps_state
        meta = {"progressToken": "t", "io.modelcontextprotocol/clientInfo": "forged", "other": 1}
        await connection.request("tools/call", {**CALL, "_meta": meta}, caller=caller)
        assert await connection.request("logging/setLevel", {"level": "debug"}) == {}
    (_, discovered), (_, called) = server.heard
    assert discovered["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"sampling": {}}
    assert called["_meta"] == {
        "progressToken": called["_meta"]["progressToken"],
        "other": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        "io.modelcontextprotocol/logLevel": "error",
    }
    assert isinstance(called["_meta"]["progressToken"], int)


async def test_a_server_that_discovers_late_names_its_versions_in_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_connection, "PROBE_SECONDS", 0.02)
    is_late = True

    def discover(params: Params) -> Any:
        nonlocal is_late
        was_late, is_late = is_late, False
        return hang(params) if was_late else STATELESS

    unsupported = refusing(-32022, "Unsupported", {"supported": ["2026-07-28"]})
    server = ScriptedServer({"server/discover": discover, "initialize": unsupported})
    async with connected(server) as connection:
        assert connection.handshake.era is Era.STATELESS
    assert [method for method, _ in server.heard] == ["server/discover", "initialize", "server/discover"]


async def test_a_known_era_that_is_wrong_is_corrected_by_the_server() -> None:
    unsupported = refusing(-32022, "Unsupported", {"supported": ["2026-07-28"]})
    server = ScriptedServer({"server/discover": STATELESS, "initialize": unsupported})
    async with connected(server, era=Era.SESSION) as connection:
        assert connection.handshake.era is Era.STATELESS


async def test_a_server_without_a_common_version_is_refused() -> None:
    server = ScriptedServer({"server/discover": refusing(-32022, "no", {"supported": ["2031-01-01"]})})
    with pytest.raises(ProtocolError, match="supports no protocol version"):
        async with connected(server):
            pass
    server = ScriptedServer({}, protocolVersion="2031-01-01")
    with pytest.raises(ProtocolError, match="supports no protocol version"):
        async with connected(server):
            pass


# Lists.


async def test_tools_are_listed_though_undeclared_and_other_lists_may_fail_or_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert server_connection.EXTRAS_SECONDS == 10
    monkeypatch.setattr(server_connection, "EXTRAS_SECONDS", 0.05)
    methods = {
        "tools/list": {"tools": [{"odd": True}, "unread"]},
        "resources/list": hang,
        "resources/templates/list": refusing(-32601, "Method not found"),
        "prompts/list": refusing(-32603, "database is down"),
    }
    async with connected(
        ScriptedServer(methods, capabilities={"resources": {}, "prompts": {}})
    ) as connection:
        lists = await connection.lists()
    assert lists == {"tools": [{"odd": True}, "unread"], "templates": []}


async def test_the_pages_of_a_list_are_read_until_it_ends_repeats_or_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages: dict[Any, Answer] = {
        None: {"tools": [1], "nextCursor": "a"},
        "a": {"tools": [2], "nextCursor": ""},
    }

    def page(params: Params) -> Answer:
        return pages[params.get("cursor")]

    async with connected(ScriptedServer({"tools/list": page})) as connection:
        assert await connection.lists({"tools"}) == {"tools": [1, 2]}
        pages["a"] = {"tools": [2], "nextCursor": "a"}
        with pytest.raises(ProtocolError, match="its list of tools has no end: 2 so far"):
            await connection.lists({"tools"})
        pages["a"] = {"tools": {}}
        with pytest.raises(ProtocolError, match="something other than a list"):
            await connection.lists({"tools"})
        pages[None] = {"tools": [0] * 10_001}
        with pytest.raises(ProtocolError, match="more than 10,000 tools"):
            await connection.lists({"tools"})
        assert server_connection.MAX_LIST_BYTES == 64 * 2**20
        monkeypatch.setattr(server_connection, "MAX_LIST_BYTES", 2**20)
        pages[None] = {"tools": ["x" * 2**19], "nextCursor": "a"}
        pages["a"] = {"tools": ["x" * 2**19]}
        with pytest.raises(ProtocolError, match="sends more than 1 MB"):
            await connection.lists({"tools"})


# Time, progress and cancellation.


async def test_the_time_limit_restarts_with_progress_and_pauses_while_the_caller_is_asked() -> None:
    async def think(_: str, __: Params) -> Answer:
        await anyio.sleep(0.4)
        return {"action": "accept"}

    async def call(params: Params) -> Answer:
        token = params["_meta"]["progressToken"]
        for step in range(4):
            await anyio.sleep(0.1)
            server.peer.notify("notifications/progress", {"progressToken": token, "progress": step})
        answer = await server.peer.request("elicitation/create", {"message": "Sure?"})
        if params["name"] == "slow":
            await anyio.sleep_forever()
        return answer

    server = ScriptedServer({"tools/call": call})
    caller = RecordingCaller(answer=think)
    meta = {"_meta": {"progressToken": "mine"}}
    async with connected(server) as connection:
        answer = await connection.request("tools/call", {**CALL, **meta}, caller=caller, time_limit=0.3)
        assert answer == {"action": "accept"}
        with pytest.raises(TimeoutError):
            await connection.request("tools/call", {"name": "slow", **meta}, caller=caller, time_limit=0.3)


async def test_progress_returns_under_the_callers_token_in_order_and_before_the_answer() -> None:
    class SlowCaller(RecordingCaller):
        async def notify(self, method: str, params: Params) -> None:
            await anyio.sleep(0.005)
            await super().notify(method, params)

    def call(params: Params) -> Answer:
        for step in range(5):
            progress = {"progressToken": params["_meta"]["progressToken"], "progress": step}
            server.peer.notify("notifications/progress", progress)
        return {}

    server, caller = ScriptedServer({"tools/call": call}), SlowCaller()
    async with connected(server) as connection:
        await connection.request("tools/call", {**CALL, "_meta": {"progressToken": "mine"}}, caller=caller)
        told = [*caller.told]
    expected = [{"progressToken": "mine", "progress": step} for step in range(5)]
    assert told == [("notifications/progress", params) for params in expected]


async def test_a_request_that_is_given_up_is_cancelled_there_with_its_open_question() -> None:
    is_asked, is_dropped = asyncio.Event(), asyncio.Event()

    async def think(_: str, __: Params) -> Answer:
        is_asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            is_dropped.set()
        return {}

    async def call(_: Params) -> Answer:
        return await server.peer.request("elicitation/create")

    server = ScriptedServer({"tools/call": call})
    async with connected(server) as connection:
        asking = connection.request("tools/call", CALL, caller=RecordingCaller(answer=think))
        calling = asyncio.create_task(asking)
        await is_asked.wait()
        calling.cancel()
        with anyio.fail_after(30):
            await is_dropped.wait()
            while server.heard[-1][0] != "notifications/cancelled":
                await asyncio.sleep(0)
    assert server.heard[-1][1]["reason"] == "no longer needed"


# Questions and messages of the server.


async def test_a_question_without_a_stream_goes_to_the_only_caller_else_to_nobody() -> None:
    async with talking() as (connection, server):
        grace, eve = (RecordingCaller(name, answer=answering({"by": name})) for name in ("grace", "eve"))
        question = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "?"}}
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "grace wipes"}}
        server.write(log, question)
        assert (await server.read())["error"]["code"] == -32601
        first = asyncio.create_task(connection.request("tools/call", CALL, caller=grace))
        one = (await server.read())["id"]
        server.write(log, question)
        assert (await server.read())["result"] == {"by": "grace"}
        second = asyncio.create_task(connection.request("tools/call", CALL, caller=eve))
        two = (await server.read())["id"]
        server.write(log, question)
        assert (await server.read())["error"]["code"] == -32601
        server.write({"id": one, "result": {}}, {"id": two, "result": {}})
        await asyncio.gather(first, second)
    assert (len(grace.told), len(grace.asked), eve.told, eve.asked) == (1, 1, [], [])


async def test_16_questions_may_be_open() -> None:
    async def think(_: str, __: Params) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError

    async with talking() as (connection, server):
        asking = connection.request("tools/call", CALL, caller=RecordingCaller(answer=think))
        calling = asyncio.create_task(asking)
        number = (await server.read())["id"]
        server.write(*({"jsonrpc": "2.0", "id": f"q{at}", "method": "roots/list"} for at in range(17)))
        refused = await server.read()
        server.write({"id": number, "result": {}})
        await calling
    assert (refused["id"], refused["error"]["message"]) == ("q16", "Too many questions at once")


@pytest.mark.parametrize(
    "message", [{"id": 999, "result": {}}, [], {"method": "notifications/message"}], ids=str
)
async def test_unsolicited_messages_are_a_flood_after_5000(message: object) -> None:
    line = json.dumps(message).encode() + b"\n"
    async with talking() as (connection, server):
        await server.flood(line * 4_900)
        server.write({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        assert (await server.read())["id"] == "p"
        assert connection.fault is None
        await server.flood(line * 5_000)
        with anyio.fail_after(30):
            await connection.lost.wait()
        assert str(connection.fault) == "floods Remit with messages"


async def test_each_message_of_a_batch_counts() -> None:
    async with talking() as (connection, server):
        await server.flood([{"jsonrpc": "2.0", "method": "notifications/message"}] * 10_000)
        with anyio.fail_after(30):
            await connection.lost.wait()
        assert str(connection.fault) == "floods Remit with messages"


async def test_a_server_that_does_not_read_1000_replies_is_given_up() -> None:
    async with talking() as (connection, server):
        caller = RecordingCaller(answer=answering({"text": "x" * 10_000}))
        calling = asyncio.create_task(connection.request("tools/call", CALL, caller=caller))
        await server.read()
        for start in range(0, 1_100, 10):
            numbers = range(start, start + 10)
            server.write(*({"jsonrpc": "2.0", "id": f"q{at}", "method": "roots/list"} for at in numbers))
            await anyio.sleep(0)
            while connection.fault is None and len(caller.asked) < start + 10:
                await anyio.sleep(0)
        with anyio.fail_after(30), pytest.raises(ProtocolError, match="floods"):
            await calling
        assert len(caller.asked) >= 1_000


async def test_only_the_caller_who_was_sent_to_a_page_hears_that_it_is_done() -> None:
    grace, eve = RecordingCaller("grace", answer=answering({"action": "accept"})), RecordingCaller("eve")
    needed = {"elicitations": [{"mode": "url", "elicitationId": "second"}, "odd"]}

    async def call(_: Params) -> Answer:
        for mode, number in (("url", "first"), ("form", "third")):
            await server.peer.request("elicitation/create", {"mode": mode, "elicitationId": number})
        return {}

    server = ScriptedServer({"tools/call": call, "prompts/get": refusing(-32042, "visit", needed)})
    async with connected(server) as connection:
        await connection.request("tools/call", CALL, caller=grace)
        with pytest.raises(JsonRpcError):
            await connection.request("prompts/get", CALL, caller=eve)
        for number in ("first", "first", "third", "second"):
            server.peer.notify("notifications/elicitation/complete", {"elicitationId": number})
        with anyio.fail_after(30):
            while not eve.told:
                await asyncio.sleep(0)
    assert [params["elicitationId"] for _, params in grace.told] == ["first"]
    assert [params["elicitationId"] for _, params in eve.told] == ["second"]


async def test_changes_reach_the_listener_without_meta() -> None:
    changes: list[tuple[str, Params]] = []

    def note(method: str, params: Params) -> None:
        changes.append((method, params))

    server = ScriptedServer({"resources/subscribe": {}, "resources/unsubscribe": {}})
    async with connected(server, on_change=note) as connection:
        await connection.follow("x:y")
        server.peer.notify("notifications/resources/updated", {"uri": "x:y", "_meta": {"a": 1}})
        with anyio.fail_after(30):
            while not changes:
                await asyncio.sleep(0)
        connection.ignore("x:y")
        with anyio.fail_after(30):
            while server.heard[-1][0] != "resources/unsubscribe":
                await asyncio.sleep(0)
    assert changes == [("notifications/resources/updated", {"uri": "x:y"})]


async def test_a_log_level_is_set_for_the_session_of_a_caller() -> None:
    server = ScriptedServer({"logging/setLevel": {}, "tools/call": {}}, capabilities={"logging": {}})
    async with connected(server) as connection:
        for level in (None, "error", "error", "debug"):
            await connection.request("tools/call", CALL, caller=RecordingCaller(log_level=level))
    levels = [params["level"] for method, params in server.heard if method == "logging/setLevel"]
    assert levels == ["error", "debug"]


# Input that a stateless server requires.

REQUIRED: Answer = {
    "resultType": "input_required",
    "inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "?"}}},
    "requestState": "s",
}


def requiring(params: Params) -> Answer:
    return {"said": params["inputResponses"]} if params.get("requestState") == "s" else REQUIRED


async def test_required_input_is_asked_of_a_client_with_a_session_and_passed_to_one_without() -> None:
    server = ScriptedServer({"server/discover": STATELESS, "tools/call": requiring})
    asked = RecordingCaller(answer=answering({"action": "accept"}))
    async with connected(server) as connection:
        answer = await connection.request("tools/call", CALL, caller=asked)
        assert answer == {"said": {"a": {"action": "accept"}}}
        stateless = RecordingCaller(takes_input_required=True)
        assert await connection.request("tools/call", CALL, caller=stateless) == REQUIRED
        with pytest.raises(JsonRpcError, match="nobody answers"):
            await connection.request("tools/call", CALL, caller=RecordingCaller())
    assert asked.asked == [("elicitation/create", {"message": "?"})]


async def test_a_server_may_not_ask_for_ever_nor_more_than_16_questions() -> None:
    question = {"method": "elicitation/create"}
    answers = {
        "endless": {**REQUIRED, "requestState": "again"},
        "many": {**REQUIRED, "inputRequests": {str(number): question for number in range(17)}},
        "odd": {**REQUIRED, "inputRequests": {"a": 7}},
    }

    def call(params: Params) -> Answer:
        return answers[params["name"]]

    server = ScriptedServer({"server/discover": STATELESS, "tools/call": call})
    caller = RecordingCaller(answer=answering({"action": "accept"}))
    async with connected(server) as connection:
        for name, words in (("endless", "stop asking"), ("many", "16 questions"), ("odd", "cannot be read")):
            with pytest.raises(ProtocolError, match=words):
                await connection.request("tools/call", {"name": name}, caller=caller)
    assert len(caller.asked) == 10
