"""A stream or a call ends with the token that opened it, for clients of both eras and both kinds of token."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from remit.configuration.config_model import AccessRule, Role
from remit.errors import TokenError
from remit.gateway.access import open_requests
from remit.gateway.access.access_settings import AccessSettings, with_projects
from remit.gateway.access.open_requests import OpenRequests
from remit.gateway.access.token_grants import Grant, digest
from support.http_gateway import ACCEPT, BLOG, HELLO, SHOP, Gateway, gateway
from support.local_issuer import LocalIssuer, served_issuer
from support.stub_endpoint import StubEndpoint

pytestmark = pytest.mark.anyio
SECONDS = 60  # a slow day is no failure
RULES = with_projects((AccessRule(Role.ADMIN, ("*",), principal="grace"),), (SHOP, BLOG))
ERAS = ("2025-11-25", "2026-07-28")
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "wait", "arguments": {}},
}


class Watched(StubEndpoint):
    """Tells when a call waits, and when it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting, self.cancelled = anyio.Event(), anyio.Event()

    def _note(self, words: str) -> None:
        if words in ("waiting", "cancelled"):
            getattr(self, words).set()


class Served:
    """A gateway with one endpoint, the tokens that it knows, and an issuer."""

    def __init__(self, at: Gateway, grants: list[Grant], issuer: LocalIssuer, endpoint: Watched) -> None:
        self.at, self.grants, self.issuer, self.endpoint = at, grants, issuer, endpoint

    async def open_session(self, token: str) -> dict[str, str]:
        """Return the headers of a new session."""
        opened = await self.at.post("/mcp", HELLO, authorization=f"Bearer {token}")
        assert opened.status_code == 200
        session = opened.headers["mcp-session-id"]
        return {**ACCEPT, "authorization": f"Bearer {token}", "mcp-session-id": session}


@pytest.fixture
async def served() -> AsyncGenerator[Served]:
    grants = [Grant(name="ci", digest=digest("token_of_ci"))]
    endpoint = Watched()
    async with served_issuer() as issuer:
        settings = AccessSettings(identity=issuer.identity, memberships=RULES)
        async with gateway(access=lambda: settings, grants=grants, endpoint=lambda: endpoint) as at:
            yield Served(at, grants, issuer, endpoint)


@asynccontextmanager
async def calling(at: Gateway, token: str, era: str) -> AsyncGenerator[list[Exception]]:
    """Call the tool that waits forever, until the call fails."""
    failures: list[Exception] = []

    async def call() -> None:
        head = {"authorization": f"Bearer {token}"}
        try:
            async with (
                httpx2.AsyncClient(headers=head) as http,
                Client(streamable_http_client(f"{at.url}/mcp", http_client=http), mode=era) as client,
            ):
                await client.call_tool("wait", {})
        except* (MCPError, httpx2.HTTPError) as group:
            failures.extend(group.exceptions)

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            yield failures


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_ends_when_its_token_is_revoked(served: Served, era: str) -> None:
    async with calling(served.at, "token_of_ci", "legacy" if era == ERAS[0] else era) as failures:
        await served.endpoint.waiting.wait()
        served.grants[:] = []
        await served.endpoint.cancelled.wait()
    assert failures


async def test_a_stream_and_its_session_end_when_their_token_is_revoked(served: Served) -> None:
    headers = await served.open_session("token_of_ci")
    with anyio.fail_after(SECONDS):
        async with (
            httpx2.AsyncClient(timeout=None) as http,
            http.stream("GET", f"{served.at.url}/mcp", headers=headers) as stream,
        ):
            assert stream.status_code == 200
            other = Grant(name="other", digest=digest("token_of_other"))
            revoked, served.grants[:] = [*served.grants], [other]
            async for _ in stream.aiter_bytes():
                pass
    served.grants[:] = revoked  # the same token again: its session is over
    async with httpx2.AsyncClient() as http:
        again = await http.post(f"{served.at.url}/mcp", json=CALL, headers=headers)
    assert again.status_code == 404


async def test_a_stream_goes_on_while_other_tokens_come_and_go(served: Served) -> None:
    headers = await served.open_session("token_of_ci")
    with anyio.fail_after(SECONDS):
        async with (
            httpx2.AsyncClient(timeout=None) as http,
            http.stream("GET", f"{served.at.url}/mcp", headers=headers) as stream,
        ):
            served.grants.append(Grant(name="other", digest=digest("token_of_other")))
            async with calling(served.at, "token_of_other", ERAS[1]):
                await served.endpoint.waiting.wait()
                served.grants.pop()
                await served.endpoint.cancelled.wait()
            assert not stream.is_closed


@pytest.mark.long
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_ends_when_its_access_token_expires(
    served: Served, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = served.issuer.token("grace")
    if era == ERAS[0]:
        headers = await served.open_session(token)
    else:
        headers = {"authorization": f"Bearer {token}"}
    late = SimpleNamespace(time=lambda: time.time() + 328)  # of 300 seconds, and 30 for clocks that differ
    monkeypatch.setattr(open_requests, "time", late)
    if era == ERAS[0]:
        with anyio.fail_after(SECONDS):
            async with httpx2.AsyncClient(timeout=None) as http:
                for method in ("GET", "POST"):
                    body = CALL if method == "POST" else None
                    url = f"{served.at.url}/mcp"
                    async with http.stream(method, url, headers=headers, json=body) as stream:
                        assert stream.status_code in (200, 401)
                        async for _ in stream.aiter_bytes():
                            pass
        monkeypatch.undo()
        renewed = {**headers, "authorization": f"Bearer {served.issuer.token('grace')}"}
        async with httpx2.AsyncClient() as http:
            ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
            assert (await http.post(f"{served.at.url}/mcp", json=ping, headers=renewed)).status_code == 200
    else:
        async with calling(served.at, token, era) as failures:
            pass
        assert failures


async def test_a_call_without_an_answer_yet_is_answered_with_the_reason(served: Served) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": ERAS[1],
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {**CALL, "params": {"name": "wait", "arguments": {}, "_meta": meta}}
    named = {"mcp_protocol_version": ERAS[1], "mcp_method": "tools/call", "mcp_name": "wait"}
    answers: list[httpx2.Response] = []

    async def post() -> None:
        answers.append(await served.at.post("/mcp", body, authorization="Bearer token_of_ci", **named))

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post)
            await served.endpoint.waiting.wait()
            served.grants.clear()
    (answer,) = answers
    assert (answer.status_code, "the token was revoked" in answer.text) == (401, True)
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_tokens_that_cannot_be_read_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_requests, "_STEP", 0)
    grant = Grant(name="ci", digest="d")
    looks: list[list[Grant] | None] = [None, [grant]]

    def grants() -> list[Grant]:
        found = looks.pop(0) if looks else []
        if found is None:
            raise TokenError("unreadable")
        return found

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            requests = OpenRequests(grants, tasks)
            with requests.hold(grant.principal) as request:
                await anyio.sleep_forever()
            assert (request.is_cut_off, request.is_revoked, looks) == (True, True, [])
