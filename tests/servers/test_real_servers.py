"""Real servers of npm and PyPI, listed with `remit scan --connect`: every tool that a server lists is there.

Run by `make test-servers`, which installs them. What a server lists is counted by hand, in the words of the
protocol's first era, and compared with what Remit stored.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from remit.upstream.ports import RELAYED
from support.real_servers import entries
from support.sandbox import Sandbox

SECONDS = 60

pytestmark = pytest.mark.skipif(
    not os.environ.get("REMIT_TEST_SERVERS"), reason="`make test-servers` installs the servers and runs this"
)


def counted_by_hand(entry: dict[str, Any], environment: Mapping[str, str], cwd: Path) -> int:
    """Ask a server for its tools, page by page, and count the lines of its answer."""
    words, env = [entry["command"], *entry["args"]], {**environment, **entry["env"]}
    with subprocess.Popen(
        words,
        env=env,
        cwd=cwd,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        watchdog = Timer(SECONDS, server.kill)
        watchdog.start()
        try:
            hello = {
                "protocolVersion": "2024-11-05",
                "capabilities": dict(RELAYED),  # a server may list more to a capable client
                "clientInfo": {"name": "x", "version": "0"},
            }
            request(server, 1, "initialize", hello)
            send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            total, cursor, number = 0, None, 2
            while True:
                page = request(server, number, "tools/list", {} if cursor is None else {"cursor": cursor})
                total, cursor, number = total + len(page["tools"]), page.get("nextCursor"), number + 1
                if cursor is None:
                    return total
        finally:
            watchdog.cancel()
            server.kill()


def request(
    server: subprocess.Popen[str], number: int, method: str, params: Mapping[str, object]
) -> dict[str, Any]:
    send(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith("{") and (message := json.loads(line)).get("id") == number:
            return message["result"]
    raise AssertionError(f"no answer to {method}")


def send(server: subprocess.Popen[str], message: Mapping[str, object]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def test_every_tool_that_a_real_server_lists_is_known_afterwards(sandbox: Sandbox, capsys: Any) -> None:
    known = entries(sandbox.home)
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": known})
    shop = sandbox.project("shop")
    ran = subprocess.run(
        [sys.executable, "-m", "remit", "scan", "--connect", "--timeout", str(SECONDS), "--json"],
        cwd=shop,
        env=sandbox.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {server["server"]: server for server in json.loads(ran.stdout)["servers"]}
    failed = {label: server["reason"] for label, server in found.items() if server["status"] != "listed"}
    assert failed == {}
    counted = {
        label: counted_by_hand(entry, sandbox.environment, sandbox.home) for label, entry in known.items()
    }
    with capsys.disabled():
        print(table(found, counted))  # noqa: T201 - the figures are what this is run for
    assert {label: server["tools"] + len(server["quarantined"]) for label, server in found.items()} == counted
    listed = json.loads(sandbox.remit("tools", "--json", cwd=shop).stdout)["tools"]
    stored = [tool["server"] for tool in listed if tool["kind"] == "mcp_tool"]
    assert {label: stored.count(label) for label in known} == {
        label: server["tools"] for label, server in found.items()
    }


def table(found: Mapping[str, dict[str, Any]], counted: Mapping[str, int]) -> str:
    head = f"\n{'server':32} {'protocol':11} {'says':>5} {'listed':>6} {'bad':>4} {'seconds':>7}"
    lines = [
        f"{label:32} {server['protocol_version']:11} {counted[label]:5} {server['tools']:6} "
        f"{len(server['quarantined']):4} {server['seconds']:7.2f}"
        for label, server in sorted(found.items())
    ]
    return "\n".join([head, *lines, f"{len(found)} servers, {sum(counted.values())} tools"])
