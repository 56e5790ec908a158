"""A raw client that costs the same whomever it asks: it writes one request, and reads bytes until its answer.

Nothing is parsed while the clock runs. In the older era a session is opened first; in the new one every
request says what it has to.
"""

import http.client
import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

OLD, NEW = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
ME = {"name": "bench", "version": "1"}
NOTIFICATION = re.compile(rb'"method":\s*"')


class Wire(Protocol):
    """A way to one server: bytes out, bytes of the answer back."""

    def ask(self, message: Mapping[str, Any]) -> bytes: ...

    def tell(self, message: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class Pipes:
    """A server at the other end of its standard streams."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            bufsize=2**20,
        )

    def ask(self, message: Mapping[str, Any]) -> bytes:
        self.tell(message)
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise ConnectionError(f"{self.process.args} is gone")
            if not NOTIFICATION.search(line, 0, 100):
                return line

    def tell(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Web:
    """A server at a URL of the loopback, over one connection that is kept."""

    def __init__(self, port: int, path: str = "/mcp") -> None:
        self.path = path
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.session: dict[str, str] = {}

    def ask(self, message: Mapping[str, Any]) -> bytes:
        response = self._post(message)
        body = response.read()
        if response.status >= 400:
            raise ConnectionError(f"{response.status}: {body[:500]!r}")
        if given := response.getheader("mcp-session-id"):
            self.session = {"Mcp-Session-Id": given, "MCP-Protocol-Version": OLD}
        if (response.getheader("content-type") or "").startswith("text/event-stream"):
            body = body.rpartition(b"data: ")[2]
        return body

    def tell(self, message: Mapping[str, Any]) -> None:
        self._post(message).read()

    def _post(self, message: Mapping[str, Any]) -> http.client.HTTPResponse:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self.session,
        }
        params = message.get("params", {})
        if f"{META}protocolVersion" in params.get("_meta", {}):
            headers |= {"MCP-Protocol-Version": NEW, "Mcp-Method": message["method"]}
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        try:
            return self._sent(message, headers)
        except (ConnectionError, http.client.HTTPException):  # idle for too long: the server has hung up
            self.connection.close()
            return self._sent(message, headers)

    def _sent(self, message: Mapping[str, Any], headers: Mapping[str, str]) -> http.client.HTTPResponse:
        self.connection.request("POST", self.path, json.dumps(message).encode(), headers)
        return self.connection.getresponse()

    def close(self) -> None:
        if self.session:
            with suppress(OSError, http.client.HTTPException):
                self.connection.request("DELETE", self.path, headers=self.session)
                self.connection.getresponse().read()
        self.connection.close()


class Client:
    """A client of one era, on a wire."""

    def __init__(self, wire: Wire, era: str) -> None:
        self.wire, self.number = wire, 0
        seen = {"protocolVersion": NEW, "clientInfo": ME, "clientCapabilities": {}}
        self.meta = {f"{META}{key}": value for key, value in seen.items()} if era == NEW else None
        if self.meta is None:
            self.result("initialize", {"protocolVersion": OLD, "capabilities": {}, "clientInfo": ME})
            wire.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> bytes:
        """Ask, and give the bytes of the answer."""
        self.number += 1
        sent = {**(params or {}), **({"_meta": self.meta} if self.meta else {})}
        return self.wire.ask({"jsonrpc": "2.0", "id": self.number, "method": method, "params": sent})

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Ask, and read the answer."""
        message = json.loads(self.request(method, params))
        if "result" not in message:
            raise ConnectionError(f"{method}: {json.dumps(message)[:500]}")
        return message["result"]

    def tools(self) -> list[dict[str, Any]]:
        """All tools, page by page."""
        found: list[dict[str, Any]] = []
        page = self.result("tools/list")
        found += page["tools"]
        while cursor := page.get("nextCursor"):
            page = self.result("tools/list", {"cursor": cursor})
            found += page["tools"]
        return found


def machine() -> dict[str, Any]:
    return {"cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
