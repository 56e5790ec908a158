"""The wire on stdio: a real process, spoken to line by line."""

import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from remit.gateway.transports.list_encoding import encode_json
from support import stub_endpoint
from support.forked_commands import fork_server
from support.processes import forked_script

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
ENVELOPE: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Spoken:
    """A process that serves on its standard streams."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._from = process.stdin, process.stdout

    def write(self, *messages: object) -> None:
        for message in messages:
            self._to.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self._to.flush()

    def read(self) -> dict[str, Any]:
        return json.loads(self._from.readline())

    def ask(self, method: str, params: object, number: int = 1) -> dict[str, Any]:
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.read()

    def start(self) -> dict[str, Any]:
        hello = self.ask("initialize", HELLO)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return hello["result"]

    def end(self) -> tuple[bytes, int]:
        self._to.close()
        return self._from.read(), self.process.wait(timeout=60)


@contextmanager
def spoken(tmp_path: Path, tools: int = 0) -> Generator[Spoken]:
    command = fork_server().command(stub_endpoint.__file__, str(tmp_path / "notes"), str(tools))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Spoken(process)
        finally:
            process.kill()


def echo(number: int, **more: object) -> dict[str, object]:
    params = {"name": "echo", "arguments": {"text": f"echo {number}"}, **more}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_what_cannot_be_understood_is_answered_and_the_rest_goes_on(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.start()
        server.write(b"{not json\n")
        assert server.read() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": types.PARSE_ERROR, "message": "this is not JSON"},
        }
        server.write([echo(1), echo(2)])
        assert server.read()["error"]["code"] == types.INVALID_REQUEST
        server.write({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": [1]})
        refused = server.read()
        assert (refused["id"], refused["error"]["code"]) == (7, types.INVALID_REQUEST)
        server.write(b"\n", b"\xff\xfe\n")
        assert server.read()["error"]["code"] == types.PARSE_ERROR
        assert server.ask("no/such", {}, 8)["error"]["code"] == types.METHOD_NOT_FOUND
        assert server.ask("tools/call", {"name": 5}, 9)["error"]["code"] == types.INVALID_PARAMS
        server.write(echo(10))
        assert server.read()["result"]["content"][0]["text"] == "echo 10"
        assert server.end() == (b"", 0)


def test_a_line_without_end_is_refused_and_the_next_is_heard(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.start()
        server.write(b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * (33 * 2**20) + b'"}\n', echo(2))
        assert "bytes" in server.read()["error"]["message"]
        assert server.read()["result"]["content"][0]["text"] == "echo 2"


def test_requests_sent_in_one_go_are_answered_though_nothing_more_comes(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.write(
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            *(echo(number) for number in range(2, 52)),
        )
        said, code = server.end()
    answers = [json.loads(line) for line in said.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(1, 52))
    assert all("result" in answer for answer in answers)
    assert code == 0


def test_a_client_that_reads_nothing_is_not_heard_for_ever(tmp_path: Path) -> None:
    with spoken(tmp_path, tools=1000) as server:
        server.start()
        os.set_blocking(server.process.stdin.fileno(), False)  # pyright: ignore[reportOptionalMemberAccess]
        line = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}).encode() + b"\n"
        lines, sent = line * 10_000, 0  # whose answers would be over a gigabyte
        while sent < len(lines):
            try:
                sent += os.write(server.process.stdin.fileno(), lines[sent:])  # pyright: ignore[reportOptionalMemberAccess]
            except BlockingIOError:
                break  # it takes no more
        assert sent < len(lines)
        server.process.terminate()
        assert server.process.wait(timeout=60) != 0


def test_what_is_printed_by_mistake_does_not_get_between_messages(tmp_path: Path) -> None:
    script = f"""
import os, sys, runpy
sys.argv = [{stub_endpoint.__file__!r}]
sys.path.insert(0, {str(Path(stub_endpoint.__file__).parents[1])!r})
from support import stub_endpoint
async def chatter(self, asked, caller):
    print("printed"); sys.stdout.flush(); os.write(1, b"written")
    return stub_endpoint.text(sys.stdin.read())
stub_endpoint.StubEndpoint._echo = chatter
import anyio
from remit.gateway.transports.stdio_server import serve_stdio
opened = stub_endpoint.opened(stub_endpoint.StubEndpoint())
anyio.run(serve_stdio, opened, stub_endpoint.EndpointSpec("/code"))
"""
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        echo(2),
    ]
    sent = "".join(f"{json.dumps(line)}\n" for line in lines)
    command = forked_script(tmp_path, script)
    done = subprocess.run(command, input=sent, capture_output=True, text=True, check=True, timeout=60)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert "printed" in done.stderr
    assert "written" in done.stderr


def test_a_list_is_raw_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    with spoken(tmp_path, tools=3) as server:
        server.start()
        lists = [server.ask("tools/list", {}, 5) for _ in range(2)]
        assert lists[0] == lists[1]
        assert set(lists[0]["result"]) == {"tools"}
        assert lists[0]["result"]["tools"][-1]["name"] == "tool_2"


def test_a_newer_client_gets_what_its_era_asks_for(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        listed = server.ask("tools/list", {"_meta": ENVELOPE})["result"]
        assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 0, "private")
        found = server.ask("server/discover", {"_meta": ENVELOPE})["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        assert found["capabilities"]["tools"] == {"listChanged": True}
        assert found["capabilities"]["extensions"] == {"remit/scopes": {"names": ["git"]}}
        assert "experimental" not in found["capabilities"]
        assert found["instructions"] == "Use the tools."
        assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "remit"
        called = server.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}, "_meta": ENVELOPE})
        assert called["result"]["resultType"] == "complete"
        assert server.ask("resources/subscribe", {"uri": "note://one", "_meta": ENVELOPE})["error"][
            "code"
        ] == (types.METHOD_NOT_FOUND)
        assert server.ask("initialize", HELLO)["error"]["code"] == types.UNSUPPORTED_PROTOCOL_VERSION


def test_a_client_that_asks_and_loses_patience_may_open_as_an_older_one(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        found = server.ask("server/discover", {"_meta": ENVELOPE})
        assert found["result"]["supportedVersions"] == ["2026-07-28"]
        assert server.start()["protocolVersion"] == "2025-11-25"
        assert "result" in server.ask("tools/list", {})
        assert server.ask("tools/list", {"_meta": ENVELOPE})["error"]["code"] == types.INVALID_REQUEST


def test_a_version_that_nobody_knows_is_answered_with_one_that_is_known(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        unknown = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
        refused = server.ask("tools/list", {"_meta": unknown})["error"]
        assert refused["code"] == types.UNSUPPORTED_PROTOCOL_VERSION
        assert refused["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}
        bare = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        assert server.ask("tools/list", {"_meta": bare})["error"]["code"] == types.INVALID_PARAMS
        hello = server.ask("initialize", {**HELLO, "protocolVersion": "2031-01-01"})
        assert hello["result"]["protocolVersion"] == "2025-11-25"


def test_two_requests_of_one_id_are_not_mixed_up(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.start()
        server.write({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "wait"}}, echo(5))
        assert server.read()["error"]["code"] == types.INVALID_REQUEST


def test_what_comes_from_a_file_is_answered_into_a_file(tmp_path: Path) -> None:
    asked, said = tmp_path / "asked", tmp_path / "said"
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *(echo(number) for number in range(2, 30)),
    ]
    asked.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    with asked.open("rb") as source, said.open("wb") as target:
        command = fork_server().command(stub_endpoint.__file__)
        subprocess.run(command, stdin=source, stdout=target, check=True, timeout=60)
    answers = [json.loads(line) for line in said.read_text("utf-8").splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(1, 30))
    assert all("result" in answer for answer in answers)


def test_numbers_and_texts_that_json_does_not_have_are_written_so_that_everybody_can_read_them() -> None:
    assert json.loads(encode_json({"a": [float("nan"), 1.5], "b": float("inf")})) == {
        "a": [None, 1.5],
        "b": None,
    }
    assert json.loads(encode_json({"half": "\ud83d x"})) == {"half": "? x"}
    assert encode_json({"whole": "größer"}) == '{"whole":"größer"}'.encode()


def test_nothing_is_served_before_the_handshake(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        assert "error" in server.ask("tools/list", {})
        server.start()
        assert "result" in server.ask("tools/list", {})


def test_a_client_that_listens_is_not_waited_for_when_it_goes(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        wish = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
        told = server.ask("subscriptions/listen", wish, 4)
        assert told["params"]["notifications"] == {"toolsListChanged": True}
        said, code = server.end()
        last = json.loads(said)
        assert (last["id"], last["result"]["resultType"]) == (4, "complete")
        assert last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 4
        assert code == 0


def test_a_list_of_a_scope_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        server.start()
        assert server.ask("tools/list", {"scope": "nowhere"})["error"] == {
            "code": types.INVALID_PARAMS,
            "message": "no scope is called `nowhere`",
            "data": {"scopes": ["git"]},
        }


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_sdks_client_is_served_by_a_process(mode: Any, tmp_path: Path) -> None:
    program, *words = fork_server().command(stub_endpoint.__file__, str(tmp_path / "notes"))
    command = StdioServerParameters(command=program, args=words)

    async def elicit(context: object, params: object) -> types.ElicitResult:  # noqa: ARG001 - the SDK's names
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def run() -> None:
        async with Client(command, mode=mode, elicitation_callback=elicit) as client:
            assert len((await client.list_tools()).tools) == len(stub_endpoint.TOOLS)
            asked = await client.call_tool("ask", {})
            assert isinstance(asked, types.CallToolResult)
            assert asked.content == [types.TextContent(type="text", text="accept Ada")]

    anyio.run(run)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_all_that_it_does(number: signal.Signals, tmp_path: Path) -> None:
    script = f"""
import sys; sys.path.insert(0, {str(Path(stub_endpoint.__file__).parents[1])!r})
import anyio, pathlib
from support import stub_endpoint
from remit.gateway.transports.lifecycle import until_signal
from remit.gateway.transports.stdio_server import serve_stdio
endpoint = stub_endpoint.StubEndpoint(pathlib.Path({str(tmp_path / "notes")!r}))
opened, opening = stub_endpoint.opened(endpoint), stub_endpoint.EndpointSpec("/code")
sys.exit(anyio.run(until_signal, lambda: serve_stdio(opened, opening)))
"""
    command = forked_script(tmp_path, script)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        server = Spoken(process)
        server.start()
        server.write({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait"}})
        server.write(echo(3))
        assert server.read()["id"] == 3
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number
    assert (tmp_path / "notes").read_text("utf-8").splitlines() == ["waiting", "cancelled", "left stdio"]
