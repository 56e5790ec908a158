"""A client of either era on HTTP, written by hand: many of them can be open at once."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

OLD, NEW = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
ACCEPT = {"Accept": "application/json, text/event-stream"}
ME = {"name": "by-hand", "version": "1"}
PATIENCE = 120  # seconds for what takes milliseconds


class Downstream:
    """One client, with connections of its own."""

    def __init__(
        self, http: httpx2.AsyncClient, era: str, path: str, capabilities: Mapping[str, Any]
    ) -> None:
        self.http, self.era, self.path, self.capabilities = http, era, path, capabilities
        self.headers, self.number = dict(ACCEPT), 0

    async def open(self) -> None:
        """Begin a session, as the older era has it."""
        hello = {"protocolVersion": OLD, "capabilities": self.capabilities, "clientInfo": ME}
        answer = await self._post({"id": 0, "method": "initialize", "params": hello})
        self.headers |= {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": OLD}
        await self._post({"method": "notifications/initialized"})

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; gives the whole message that answers it."""
        self.number += 1
        named: dict[str, str] = {}
        if self.era == NEW:
            seen = {"protocolVersion": NEW, "clientInfo": ME, "clientCapabilities": self.capabilities}
            params["_meta"] = {f"{META}{key}": value for key, value in seen.items()}
            named = {"MCP-Protocol-Version": NEW, "Mcp-Method": method}
            target = params.get("name", params.get("uri"))
            named |= {"Mcp-Name": target} if target is not None else {}
        answer = await self._post({"id": self.number, "method": method, "params": params}, named)
        body = answer.text
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            body = body.rpartition("data: ")[2]
        return json.loads(body)

    async def call(self, name: str, **arguments: Any) -> str:
        """Call a tool; gives the text that it answers with."""
        answer = await self.ask("tools/call", name=name, arguments=arguments)
        assert "result" in answer, answer
        return answer["result"]["content"][0]["text"]

    async def tools(self) -> list[str]:
        return [tool["name"] for tool in (await self.ask("tools/list"))["result"]["tools"]]

    async def _post(
        self, message: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        body = {"jsonrpc": "2.0", **message}
        return await self.http.post(self.path, json=body, headers={**self.headers, **(headers or {})})


@asynccontextmanager
async def downstream(
    url: str, era: str, path: str = "/mcp", capabilities: Mapping[str, Any] | None = None
) -> AsyncGenerator[Downstream]:
    """Connect; in the older era a session is ended as it was begun."""
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as http:
        made = Downstream(http, era, path, capabilities or {})
        if era == OLD:
            await made.open()
        yield made
        if era == OLD:
            await http.delete(path, headers=made.headers)
