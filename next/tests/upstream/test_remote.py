"""Servers of HTTP: sessions that expire, headers of commands, tokens, and what refusals tell."""

import asyncio
import json
import os
import sys
import time
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from remit.decision import Launch, Transport
from remit.errors import UpstreamError
from remit.files import try_lock
from remit.protocol import RefusedError
from remit.upstream import Upstream, UpstreamPool
from remit.upstream.failures import Remains, explain
from remit.upstream.tokens import StoredToken, TokenStore, open_token_store
from support.http_wires import HttpRequest, McpServer, Reply, http_server
from support.upstreams import running_pool, text_of, tool, upstream
from support.wires import RecordingCaller

pytestmark = pytest.mark.anyio


class Guarded(McpServer):
    """A server that answers whoever has the right word, and hands out tokens."""

    def __init__(self, word: str | None = None) -> None:
        super().__init__({"tools/list": self._list, "tools/call": self._call})
        self.word = word
        self.has_rejected = anyio.Event()

    async def __call__(self, request: HttpRequest, reply: Reply) -> None:
        if self.word is not None and request.headers.get("authorization") != f"Bearer {self.word}":
            self.has_rejected.set()
            await reply.start(401)
        else:
            await super().__call__(request, reply)

    async def _list(self, request: HttpRequest, reply: Reply) -> None:
        await reply.json({"jsonrpc": "2.0", "id": request.message["id"], "result": {"tools": []}})

    async def _call(self, request: HttpRequest, reply: Reply) -> None:
        name = request.message["params"]["name"]
        if name == "forget" and request.headers["mcp-session-id"] == "s1":
            self.session = "s2"
            await reply.start(404)
        elif name == "refuse":
            await reply.start(503)
        else:
            content = [{"type": "text", "text": request.headers["mcp-session-id"]}]
            await reply.json({"jsonrpc": "2.0", "id": request.message["id"], "result": {"content": content}})


def at(url: str, **fields: Any) -> Upstream:
    return upstream(Launch(transport=Transport.HTTP, url=url, **fields), "remote")


async def failing(pool: UpstreamPool, server: Upstream, name: str = "echo") -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await pool.request(server, "tools/call", tool(name), RecordingCaller())
    return caught.value


async def test_an_expired_session_is_opened_again_once_and_listed_and_admitted_again() -> None:
    served, admitted = Guarded(), 0

    async def admit() -> None:
        nonlocal admitted
        admitted += 1

    async with http_server(served) as url, running_pool() as pool:
        answer = await pool.request(at(url), "tools/call", tool("forget"), RecordingCaller(), admit=admit)
        assert pool.statuses()[0].failure is None
    lists = [message for message in served.messages if message["method"] == "tools/list"]
    assert (text_of(answer), admitted, len(lists)) == ("s2", 2, 2)


async def test_a_refusal_fails_its_request_alone_and_says_what_helps() -> None:
    async with http_server(Guarded()) as url, running_pool() as pool:
        refused = await failing(pool, at(url), "refuse")
        answer = await pool.request(at(url), "tools/call", tool("echo"), RecordingCaller())
    async with http_server(Guarded("word")) as url, running_pool() as pool:
        closed = await failing(pool, at(url))
    async with running_pool() as pool:
        gone = await failing(pool, at(url))
    assert (str(refused), text_of(answer)) == ("`remote` answers 503 Status", "s1")
    assert str(closed) == "`remote` answers 401 Status"
    assert closed.hint == "run `remit login remote`, or add its headers in /files/.mcp.json"
    assert closed.next_step == "ask the user to sign in with `remit login remote`, then call it again"
    assert str(gone) == "`remote` cannot be reached: connection refused"


def test_a_scope_that_is_missing_is_named_with_the_command_that_asks_for_it() -> None:
    told = explain(RefusedError(403, "Forbidden", "files:read files:write"), at("https://x/"), Remains(), ())
    assert told.reason.endswith("it wants the scope `files:read files:write`")
    assert told.hint == "run `remit login remote --scope 'files:read files:write'`"


@pytest.mark.skipif(sys.platform == "win32", reason="runs a shell")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo hello", "its `headersHelper` does not print headers"),
        (
            'printf "{\\"X\\": \\""; head -c 100000 /dev/zero | tr "\\0" a; printf "\\"}"',
            "its `headersHelper` does not print headers",
        ),
        ("exit 3", "its `headersHelper` failed (exit code 3)"),
        ('printf "{\\"Authorization\\": \\"Bearer $CLAUDE_CODE_MCP_SERVER_NAME-word\\"}"', None),
    ],
)
async def test_headers_are_printed_by_the_command_of_an_entry(command: str, reason: str | None) -> None:
    async with http_server(Guarded("remote-word")) as url, running_pool() as pool:
        server = at(url, headers_helper=command)
        if reason is None:
            await pool.request(server, "tools/call", tool("echo"), RecordingCaller())
        else:
            assert str(await failing(pool, server)) == f"`remote` {reason}"


@asynccontextmanager
async def token_endpoint(
    answer: Mapping[str, Any], seen: list[dict[str, str]], data: Path
) -> AsyncGenerator[str]:
    """Serve an endpoint that refreshes tokens; its requests are forms."""

    async def serve(reader: Any, writer: Any) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = (await reader.readexactly(int(headers["content-length"]))).decode()
        locks = [try_lock(str(path)) for path in data.glob("sign-ins/*.lock")]
        locked = "by its file" if locks == [None] else "not"
        seen.append({"authorization": headers.get("authorization", ""), "body": body, "locked": locked})
        text = json.dumps(answer)
        writer.write(
            f"HTTP/1.1 200 OK\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n{text}".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/token"


OLD = {"access_token": "old", "refresh_token": "again"}
NEW = {"access_token": "new"}
SECRET = {"client_secret": "p w", "client_method": "client_secret_basic"}
TOKEN = StoredToken(token_endpoint="", expires_at=None, **OLD, client_id="me/1", resource="https://r/")


async def test_a_rejected_token_is_refreshed_stored_and_used_and_keeps_its_refresh_token(
    tmp_path: Path,
) -> None:
    tokens, seen = TokenStore(str(tmp_path)), list[dict[str, str]]()
    answer = {"access_token": "new", "expires_in": 3600}
    async with token_endpoint(answer, seen, tmp_path) as endpoint, http_server(Guarded("new")) as url:
        tokens.save(url, replace(TOKEN, token_endpoint=endpoint, **SECRET))
        async with running_pool(data=str(tmp_path)) as pool:
            await pool.request(at(url), "tools/call", tool("echo"), RecordingCaller())
    stored = tokens.load(url)
    assert stored is not None
    assert (stored.access_token, stored.refresh_token) == ("new", "again")
    assert (stored.expires_at or 0) > time.time() + 3_000
    (request,) = seen
    assert b64decode(request["authorization"].partition(" ")[2]) == b"me%2F1:p%20w"
    assert request["locked"] == "by its file"
    assert "resource=https%3A%2F%2Fr%2F" in request["body"]


async def test_a_token_that_another_process_refreshed_is_used_without_another_refresh(tmp_path: Path) -> None:
    tokens, seen = TokenStore(str(tmp_path)), list[dict[str, str]]()
    served = Guarded("old")
    async with token_endpoint({}, seen, tmp_path) as endpoint, http_server(served) as url:
        tokens.save(url, replace(TOKEN, token_endpoint=endpoint))
        async with running_pool(data=str(tmp_path)) as pool:
            await pool.request(at(url), "tools/call", tool("echo"), RecordingCaller())
            served.word = "new"
            held = tokens.lock(url)  # by the other process
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.request, at(url), "tools/call", tool("echo"), RecordingCaller())
                with anyio.fail_after(30):
                    await served.has_rejected.wait()
                tokens.save(url, replace(TOKEN, token_endpoint=endpoint, **NEW))
                held.close()
    assert seen == []


async def test_an_authorization_in_the_entry_wins_over_a_stored_token(tmp_path: Path) -> None:
    async with http_server(Guarded("mine")) as url:
        TokenStore(str(tmp_path)).save(url, TOKEN)
        async with running_pool(data=str(tmp_path)) as pool:
            server = at(url, headers={"authorization": "Bearer mine"})
            await pool.request(server, "tools/call", tool("echo"), RecordingCaller())


URL = "https://x/mcp?key=secret"


def test_a_token_is_in_a_private_file_whose_name_does_not_tell_the_url(tmp_path: Path) -> None:
    tokens = TokenStore(str(tmp_path))
    tokens.save(URL, TOKEN)
    assert tokens.load(URL) == TOKEN
    (file,) = (tmp_path / "sign-ins").iterdir()
    assert "secret" not in file.name
    assert os.name != "posix" or file.stat().st_mode & 0o777 == 0o600
    assert repr(TOKEN) == "StoredToken()"
    file.write_text("[]")
    assert tokens.load(URL) is None
    assert (tokens.forget(URL), tokens.forget(URL)) == (True, False)


class Ring:
    """A keyring in memory, which may be locked."""

    def __init__(self) -> None:
        self.words: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, name: str) -> str | None:
        self._require()
        return self.words.get((service, name))

    def set_password(self, service: str, name: str, value: str) -> None:
        self._require()
        self.words[service, name] = value

    def delete_password(self, service: str, name: str) -> None:
        self._require()
        del self.words[service, name]

    def _require(self) -> None:
        if self.is_locked:
            raise RuntimeError("locked")


def test_a_keyring_is_used_where_it_works_and_files_where_it_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ring = Ring()
    tokens, files = TokenStore(str(tmp_path), ring), TokenStore(str(tmp_path))
    ring.is_locked = True
    tokens.save(URL, TOKEN)
    assert tokens.load(URL) == TOKEN == files.load(URL)
    ring.is_locked = False
    tokens.save(URL, TOKEN)
    assert (files.load(URL), tokens.load(URL)) == (None, TOKEN)
    assert (tokens.forget(URL), tokens.load(URL)) == (True, None)
    weak = SimpleNamespace(get_keyring=lambda: SimpleNamespace(priority=0))
    monkeypatch.setitem(sys.modules, "keyring", weak)
    open_token_store(str(tmp_path)).save(URL, TOKEN)
    assert files.load(URL) == TOKEN
