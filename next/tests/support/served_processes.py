"""The command `remit serve` as a process, on stdio and over HTTP."""

import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx2

import remit
from support.gateways import World

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
COMMAND = [sys.executable, "-m", "remit", "serve"]


def environment(world: World) -> dict[str, str]:
    source = str(Path(remit.__file__).parents[1])
    return {
        **world.machine.variables,
        "HOME": str(world.home),
        "PYTHONPATH": source,
    }


class Process:
    """A gateway on stdio, asked one thing after the other."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._number = 0

    def write(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, **params: Any) -> Any:
        self._number += 1
        self.write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number:
                return message.get("result", message.get("error"))
        raise AssertionError("the gateway closed its output")

    def open(self) -> None:
        self.request("initialize", protocolVersion="2025-11-25", capabilities={})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})


@contextmanager
def on_stdio(world: World, *words: str, python: tuple[str, ...] = ()) -> Generator[Process]:
    """Serve the project of a world on stdio."""
    command = [*COMMAND[:1], *python, *COMMAND[1:], "-C", str(world.shop), *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(world)
    ) as process:
        try:
            yield Process(process)
        finally:
            process.kill()


class Site:
    """A gateway on HTTP, and what it printed at the start."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.tokens: dict[str, str] = {}
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.match(r"token to (.*): (\S+)$", line):
                self.tokens[found[1]] = found[2]
            if found := re.search(r" on (http://\S+?)(/mcp)$", line.rstrip()):
                self.url = found[1]
                return
        raise AssertionError("the gateway did not start")

    def post(self, path: str, content: Any, **headers: str) -> httpx2.Response:
        accept = {"accept": "application/json, text/event-stream"}
        return httpx2.post(self.url + path, json=content, headers={**accept, **headers}, timeout=20)

    def listen(self) -> AbstractContextManager[httpx2.Response]:
        """Open a change stream."""
        params = {"notifications": {"toolsListChanged": True}, "_meta": META}
        content = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "subscriptions/listen",
        }
        return httpx2.stream("POST", f"{self.url}/mcp", json=content, headers=headers, timeout=20)

    def call(self, path: str, name: str, *, token: str | None = None, **arguments: Any) -> httpx2.Response:
        """Call a tool without a session."""
        params = {"name": name, "arguments": arguments, "_meta": META}
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name}
        headers |= {} if token is None else {"authorization": f"Bearer {token}"}
        content = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self.post(path, content, **headers)


@contextmanager
def on_http(world: World, *words: str) -> Generator[Site]:
    """Serve the project of a world on a free port."""
    command = [*COMMAND, "-C", str(world.shop), "--http", "127.0.0.1:0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(world)) as process:
        try:
            yield Site(process)
        finally:
            process.terminate()
            process.wait(25)
            assert process.stderr is not None
            process.stderr.close()
