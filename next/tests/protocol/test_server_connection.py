"""A connection to a server: handshake, calls, lists, and the server's questions."""

import subprocess
import sys

import anyio
import pytest

from remit.protocol import Answer, JsonRpcError, LineTransport, LostError, Params, connect
from support.wires import CLIENT, RecordingCaller, ScriptedServer, connected

pytestmark = pytest.mark.anyio

_ECHO = """
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


async def test_a_process_lists_and_runs_its_tools() -> None:
    with subprocess.Popen([sys.executable, "-c", _ECHO], stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        transport = LineTransport(process.stdout.fileno(), process.stdin.fileno())
        async with connect(transport, CLIENT, {}) as connection:
            lists = await connection.lists({"tools"})
            answer = await connection.request("tools/call", {"name": "echo", "arguments": {"x": "hé"}})
    assert lists == {"tools": [{"name": "echo"}]}
    assert answer == {"content": [{"type": "text", "text": "hé"}]}


async def test_an_error_of_the_server_arrives_with_code_and_data() -> None:
    def refuse(_: Params) -> Answer:
        raise JsonRpcError(-32002, "no such thing", {"uri": "x:y"})

    async with connected(ScriptedServer({"resources/read": refuse})) as connection:
        with pytest.raises(JsonRpcError, match="no such thing") as caught:
            await connection.request("resources/read", {"uri": "x:y"})
    assert (caught.value.code, caught.value.data) == (-32002, {"uri": "x:y"})


async def test_a_question_goes_to_the_caller_and_its_answer_to_the_server() -> None:
    async def agree(_: str, params: Params) -> Answer:
        return {"action": "accept", "content": {"said": params["message"]}}

    async def call(_: Params) -> Answer:
        return await server.peer.request("elicitation/create", {"message": "Sure?"})

    server = ScriptedServer({"tools/call": call})
    async with connected(server) as connection:
        answer = await connection.request("tools/call", {"name": "x"}, caller=RecordingCaller(answer=agree))
    assert answer == {"action": "accept", "content": {"said": "Sure?"}}


async def test_a_lost_server_fails_the_calls_in_flight() -> None:
    async def vanish(_: Params) -> Answer:
        server.hang_up()
        await anyio.sleep_forever()
        raise AssertionError

    server = ScriptedServer({"tools/call": vanish})
    async with connected(server) as connection:
        with pytest.raises(LostError):
            await connection.request("tools/call", {"name": "x"})
        await connection.lost.wait()
