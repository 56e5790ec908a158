"""The process on stdio: its descriptors, what it loads before it answers, what a kill leaves."""

import json
import signal
import subprocess
import time
from typing import Any

import pytest

from remit.gateway import running_gateways
from support.gateways import World
from support.served_processes import COMMAND, environment, on_stdio

OPENING: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
NOT_LOADED = (
    *("numpy", "starlette", "email", "cryptography", "statistics", "html"),
    *("mcp", "pydantic", "httpx2", "uvicorn", "jsonschema", "watchfiles"),
    *("remit.search.searcher", "remit.search.index", "remit.memory.memory", "remit.memory.models"),
    *("remit.upstream.pool", "remit.upstream.model"),
    *(f"remit.gateway.{name}" for name in ("calls", "own_tools", "discovery", "results", "resources")),
    *("remit.gateway.paused_calls", "remit.gateway.http"),
)
# Prints to both streams from inside the process, as a library might.
NOISY = """
import os, sys
os.write(1, b"noise\\n")
print("more noise")
from remit.gateway import session
start = session.Session._initialize
def initialize(self, *given):
    os.write(1, b"noise\\n")
    print("more noise", flush=True)
    answer = start(self, *given)
    return {**answer, "loaded": sorted(sys.modules)}
session.Session._initialize = initialize
"""


@pytest.fixture
def known(world: World) -> World:
    """A server whose tools are known from before."""
    world.server("files", "read")
    with on_stdio(world) as gateway:
        gateway.open()
        gateway.request("tools/call", name="files__read", arguments={})
        assert gateway.process.stdin is not None
        gateway.process.stdin.close()
        assert gateway.process.wait(10) == 0
    return world


def test_nothing_heavy_is_loaded_before_initialize_is_answered_and_no_print_reaches_the_client(
    known: World,
) -> None:
    script = known.write(known.root / "noisy/run.py", f"{NOISY}\nfrom remit.__main__ import main\nmain()\n")
    command = [COMMAND[0], str(script), "serve", "-C", str(known.shop)]
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}
    done = subprocess.run(
        command, input=json.dumps(request) + "\n", capture_output=True, text=True, env=environment(known)
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "noise"  # before the streams were taken over
    (answer,) = [json.loads(line) for line in lines if line.startswith("{")]
    assert "more noise" in done.stderr
    loaded = answer["result"]["loaded"]
    heavy = [name for name in loaded for part in NOT_LOADED if name == part or name.startswith(f"{part}.")]
    assert heavy == []


def test_stdin_may_be_a_file(known: World) -> None:
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    path = known.write(known.root / "input", "".join(json.dumps(line) + "\n" for line in lines))
    with path.open() as file:
        done = subprocess.run(
            [*COMMAND, "-C", str(known.shop)],
            stdin=file,
            capture_output=True,
            text=True,
            env=environment(known),
        )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert "files__read" in done.stdout


def test_a_killed_gateway_loses_no_answered_call(known: World) -> None:
    with on_stdio(known) as gateway:
        gateway.open()
        for number in range(3):
            gateway.request("tools/call", name="files__read", arguments={"n": number})
        gateway.process.send_signal(signal.SIGKILL)
        gateway.process.wait()
    left = len(known.calls())
    with on_stdio(known) as gateway:
        gateway.open()
        gateway.request("tools/call", name="why_tool", arguments={"name": "files__read"})
        deadline = time.monotonic() + 10
        while len(known.calls()) < 5 and time.monotonic() < deadline:
            gateway.request("ping")
    assert left <= 4
    assert [call.tool for call in known.calls()].count("mcp__files__read") == 4


def test_a_signal_ends_it_with_its_servers(known: World) -> None:
    with on_stdio(known) as gateway:
        gateway.open()
        gateway.request("tools/call", name="files__read", arguments={})
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(10) == 128 + signal.SIGTERM
    assert running_gateways(str(known.data)) == []


def test_running_gateways_are_listed_with_their_endpoints_and_servers(known: World) -> None:
    with on_stdio(known) as gateway:
        gateway.open()
        gateway.request("tools/call", name="files__read", arguments={})
        deadline = time.monotonic() + 10
        found: list[object] = []
        while not found and time.monotonic() < deadline:
            gateway.request("ping")
            found = [
                (endpoint["directory"], server["server"], server["calls"])
                for status in running_gateways(str(known.data))
                for endpoint in status["endpoints"]
                for server in status["upstreams"]
            ]
        assert found == [(str(known.shop), "files", 1)]
