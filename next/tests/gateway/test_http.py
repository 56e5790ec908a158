"""The door of many clients: what a URL names, who may come in, and what is refused before it is read."""

import asyncio
import json
import socket
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remit.gateway import Address, bind, http, serve_app
from support.gateways import World
from support.served_processes import Site, on_http


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("shop"))
    world.server("files", "read", "drop")
    world.mine(
        '[states.open]\npush = true\n\n[tools."mcp__files__drop"]\nstates = ["open"]\n\n'
        '[rooms.work]\ndescription = "Work"\ntools = ["mcp__files__read"]\n'
    )
    return world


@pytest.fixture(scope="module")
def site(shop: World) -> Generator[Site]:
    with on_http(shop) as opened:
        yield opened


def text(answer: httpx2.Response) -> str:
    data = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        data = next(line.removeprefix("data: ") for line in data.splitlines() if line.startswith("data: "))
    result = json.loads(data)
    return result["result"]["content"][0]["text"] if "result" in result else result["error"]["message"]


def test_a_call_reaches_the_server_through_every_url_of_the_project(site: Site, shop: World) -> None:
    with shop.registry() as registry:
        project = registry.at(str(shop.shop)).workspace.project
    for path in ("/mcp", f"/p/{project.hash}/mcp", f"/p/{project.short_name}/mcp", "/rooms/work/mcp"):
        assert text(site.call(path, "files__read", a=1)) == '["read", {"a": 1}]'


def test_unknown_projects_rooms_and_paths_are_not_found(site: Site) -> None:
    for path in ("/p/nowhere/mcp", "/other", "/rooms/work/state"):
        answer = site.post(path, {})
        assert (answer.status_code, answer.json()["error"]["message"]) == (404, "there is no such endpoint")
    assert site.call("/rooms/nope/mcp", "files__read").status_code == 404


def test_states_are_pushed_with_a_grant_of_their_own_and_never_with_an_agents(site: Site) -> None:
    agents = site.tokens["call tools"]
    owner = next(token for permitted, token in site.tokens.items() if "push" in permitted)
    assert "not available" in text(site.call("/mcp", "files__drop"))
    without: dict[str, str] = {}
    for headers in (without, {"authorization": f"Bearer {agents}"}):
        assert site.post("/state", {"open": True}, **headers).status_code == 403
    assert site.post("/state", {"open": True}, authorization="Bearer wrong").status_code == 401
    allowed = {"authorization": f"Bearer {owner}"}
    assert site.post("/state", {"open": True}, **allowed).json() == {"pushed": ["open"]}
    assert text(site.call("/mcp", "files__drop")) == '["drop", {}]'
    assert site.post("/state", [1], **allowed).status_code == 400
    assert site.post("/state", {"unknown": True}, **allowed).status_code == 400
    assert site.post("/state", {"open": "x" * 300_000}, **allowed).status_code == 413


def test_another_host_or_origin_is_refused(site: Site) -> None:
    port = site.url.rpartition(":")[2]
    assert site.post("/mcp", {}, host="evil.example").status_code == 421
    for origin in ("https://evil.example", f"http://localhost:{int(port) + 1}", "null"):
        assert site.post("/mcp", {}, origin=origin).status_code == 403
    assert site.post("/mcp", {}, origin=f"http://localhost:{port}").status_code not in (403, 421)


def raw(site: Site, request: bytes) -> bytes:
    """Send bytes, and return what comes back until the connection ends."""
    host, port = site.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=25) as connection:
        connection.sendall(request)
        received = b""
        while data := connection.recv(65_536):
            received += data
        return received


def test_ambiguous_requests_are_refused(site: Site) -> None:
    host = site.url.removeprefix("http://").encode()
    start = b"POST /mcp HTTP/1.1\r\nHost: " + host + b"\r\n"
    two = start + b"Origin: http://a\r\nOrigin: http://b\r\nContent-Length: 2\r\n\r\n{}"
    both = start + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    for request in (two, both):
        assert b" 400 " in raw(site, request).split(b"\r\n")[0]


@pytest.mark.anyio
async def test_connections_that_do_not_send_headers_or_bodies_in_time_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(http, "BODY_SECONDS", 0.2)
    received: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        with pytest.raises(TimeoutError):
            await http.guarded(read, http.HostCheck("127.0.0.1"))(scope, receive, send)

    async def read(scope: Any, receive: Any, send: Any) -> None:
        del scope, send
        while (await receive())["more_body"]:
            pass

    with bind(Address("127.0.0.1", 0)) as listener:
        serving = asyncio.ensure_future(serve_app(app, listener))
        port = listener.getsockname()[1]
        host = f"Host: 127.0.0.1:{port}".encode()
        for part in (
            b"",
            b"POST / HTTP/1.1\r\n" + host,
            b"POST / HTTP/1.1\r\n" + host + b"\r\nContent-Length: 9\r\n\r\n",
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(part)
            async with asyncio.timeout(5):
                received.append((await reader.read())[:12])
            writer.close()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    assert received == [b"", b"", b"HTTP/1.1 500"]


def test_another_host_name_implies_a_proxy_and_so_a_token(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.server("files", "read")
    with on_http(world, "--allow-host", "gateway.example") as site:
        assert site.call("/mcp", "files__read").status_code == 401
        token = site.tokens["call tools"]
        assert text(site.call("/mcp", "files__read", token=token)) == '["read", {}]'
    stored = (world.data / "http-tokens.json").read_text()
    assert token not in stored
    assert (world.data / "http-tokens.json").stat().st_mode & 0o077 == 0
    with on_http(world, "--allow-host", "gateway.example") as site:
        assert site.tokens == {}
        assert text(site.call("/mcp", "files__read", token=token)) == '["read", {}]'


def test_streams_end_with_complete_when_the_gateway_stops(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.server("files", "read")
    with on_http(world) as site:
        assert text(site.call("/mcp", "files__read")) == '["read", {}]'
        lines: list[str] = []
        with site.listen() as stream:
            for line in stream.iter_lines():
                lines.append(line)
                if "acknowledged" in line:
                    site.process.terminate()
        assert site.process.wait(10) == 128 + 15
    assert '"resultType":"complete"' in next(line for line in reversed(lines) if line.startswith("data: "))
    assert [call.outcome for call in world.calls()] == ["done"]


def test_answers_are_sent_at_once(site: Site) -> None:
    site.call("/mcp", "files__read")
    started = time.perf_counter()
    for _ in range(5):
        site.call("/mcp", "files__read")
    assert (time.perf_counter() - started) / 5 < 0.15


def opening(version: str) -> dict[str, Any]:
    info = {"name": "raw", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def test_a_session_is_told_that_lists_change(site: Site) -> None:
    answer = site.post("/mcp", opening("2025-11-25"))
    data = next(line for line in answer.text.splitlines() if line.startswith("data: {"))
    capabilities = json.loads(data.removeprefix("data: "))["result"]["capabilities"]
    assert [capabilities[name]["listChanged"] for name in ("tools", "resources", "prompts")] == [True] * 3
    assert answer.headers["mcp-session-id"]
