"""Signing in to a real server, as a browser would, and being known to it from then on."""

import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from remit.decision import Launch, OAuthClient, Transport, VariableSyntax
from remit.errors import SignInError
from remit.upstream import Upstream, oauth
from remit.upstream.oauth import (
    AddressGuard,
    Registration,
    SignInState,
    is_local,
    sign_in,
    sign_in_state,
    sign_out,
)
from remit.upstream.tokens import StoredToken, TokenStore
from support.upstreams import SERVERS, launcher, running_pool, text_of, tool, upstream
from support.wires import RecordingCaller


@contextmanager
def serving(*arguments: str) -> Generator[Upstream]:
    command = [sys.executable, str(SERVERS / "oauth_server.py"), *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield at(f"http://127.0.0.1:{int(server.stdout.readline())}/mcp")
    finally:
        server.kill()
        server.communicate()


def at(url: str, **fields: Any) -> Upstream:
    return upstream(Launch(transport=Transport.HTTP, url=url, **fields), "closed")


class Browser:
    """Follows where a server leads, in a thread of its own; before that it strays on the way back."""

    def __init__(self, *detours: str) -> None:
        self._detours = detours
        self._threads: list[threading.Thread] = []
        self.statuses: list[int] = []
        self.asked: dict[str, list[str]] = {}

    def __call__(self, url: str) -> None:
        self.asked = parse_qs(urlsplit(url).query)
        self._threads.append(threading.Thread(target=self._browse, args=(url,)))
        self._threads[0].start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _browse(self, url: str) -> None:
        back = self.asked["redirect_uri"][0]
        for target in (*(f"{back}{detour}" for detour in self._detours), url):
            try:
                with urllib.request.urlopen(target) as response:  # noqa: S310 - our own
                    self.statuses.append(response.status)
            except urllib.error.HTTPError as error:
                self.statuses.append(error.code)
                error.close()


def signed_in(
    server: Upstream, tokens: TokenStore, browser: Browser | None = None, **fields: Any
) -> StoredToken:
    browser = browser or Browser()
    try:
        sign_in(server, launcher(), tokens, on_url=lambda _: None, open_browser=browser, **fields)
    finally:
        browser.join()
    token = tokens.load(server.launch.url)
    assert token is not None
    return token


@pytest.mark.long
def test_a_sign_in_is_used_renewed_and_ended(tmp_path: Path) -> None:
    tokens, browser = TokenStore(str(tmp_path)), Browser("?code=x&state=wrong", "/other")

    async def call(server: Upstream) -> str:
        async with running_pool(data=str(tmp_path)) as pool:
            return text_of(await pool.request(server, "tools/call", tool("echo", x="hi"), RecordingCaller()))

    with serving("5") as server:  # its tokens last so short that each request comes too late
        first = signed_in(server, tokens, browser)
        assert anyio.run(call, server) == "hi"
        second = tokens.load(server.launch.url)
        states = [sign_in_state(server, launcher(), tokens, 0)]
        assert sign_out(server, launcher(), tokens)
        states.append(sign_in_state(server, launcher(), tokens, 0))
    assert browser.statuses == [400, 404, 200]  # a callback with the wrong state is not taken
    assert browser.asked["resource"] == [server.launch.url] == [first.resource]
    assert browser.asked["code_challenge_method"] == ["S256"]
    assert second is not None
    assert second.access_token != first.access_token
    assert states == [SignInState.SIGNED_IN, SignInState.SIGNED_OUT]


@pytest.mark.long
def test_a_refused_sign_in_and_one_that_nobody_completes_are_reported(tmp_path: Path) -> None:
    tokens = TokenStore(str(tmp_path))
    with serving("3600", "access_denied") as server:
        with pytest.raises(SignInError) as refused:
            signed_in(server, tokens)
        with pytest.raises(SignInError, match=r"sign-in to `closed` timed out after 0\.5 s"):
            sign_in(
                server, launcher(), tokens, on_url=lambda _: None, open_browser=lambda _: None, time_limit=0.5
            )
    assert str(refused.value) == "signing in to `closed` failed: access_denied"


@pytest.mark.long
def test_a_client_of_the_entry_comes_back_to_localhost_and_a_scope_is_added(tmp_path: Path) -> None:
    tokens, browser = TokenStore(str(tmp_path)), Browser()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving("3600") as server:
        back = f"http://localhost:{port}/callback"
        wanted = {"redirect_uris": [back], "token_endpoint_auth_method": "none", "client_name": "by hand"}
        request = urllib.request.Request(  # noqa: S310 - our own
            server.launch.url.replace("/mcp", "/register"),
            json.dumps(wanted).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:  # noqa: S310 - our own
            client_id = json.loads(response.read())["client_id"]
        own = at(server.launch.url, registered=OAuthClient(client_id, port))
        token = signed_in(own, tokens, browser)
        assert browser.asked["client_id"] == [client_id] == [token.client_id]
        assert browser.asked["redirect_uri"] == [back]
        again = Browser()
        signed_in(
            server, tokens, again, registration=Registration(scope="files:write files:read files:write")
        )
    assert again.asked["scope"] == ["files:write files:read"]


def test_the_users_client_wins_over_the_entrys() -> None:
    launch = Launch(transport=Transport.HTTP, url="https://x/", registered=OAuthClient("entry", 8080))
    mine = Registration(client_id="mine", port=9)
    assert oauth.registration_for(launch, mine) == mine
    assert oauth.registration_for(launch, Registration(port=9)).port == 9
    assert oauth.registration_for(launch._replace(registered=None), Registration()) == Registration()


def test_only_remote_servers_are_signed_in_to_and_their_variables_must_be_set(tmp_path: Path) -> None:
    tokens = TokenStore(str(tmp_path))
    with pytest.raises(SignInError, match="not a remote server"):
        sign_out(upstream(Launch(command="run"), "local"), launcher(), tokens)
    remote = at("https://${HOST_NAME}/mcp", syntaxes=(VariableSyntax.DEFAULTS,))
    with pytest.raises(SignInError, match="`closed` needs `HOST_NAME`"):
        sign_out(remote, launcher(), tokens)
    assert sign_in_state(remote, launcher(), tokens, 0) is None


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.9.9.9", True),
        ("::1", True),
        ("10.0.0.7", True),
        ("169.254.169.254", True),
        ("::ffff:127.0.0.1", True),
        ("fd00::1", True),
        ("8.8.8.8", False),
        ("2606:4700::1111", False),
    ],
)
def test_an_address_that_the_internet_does_not_reach_is_local(address: str, expected: bool) -> None:
    assert is_local(address) is expected


class Names:
    """Looks up names, each time with the next answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answers: list[str]) -> None:
        self._answers = {name.replace("_", "."): answer for name, answer in answers.items()}
        monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", self._resolve)

    async def _resolve(self, host: str, *_: object, **__: object) -> Sequence[Any]:
        answers = self._answers.get(host, [host])
        address = answers.pop(0) if len(answers) > 1 else answers[0]
        if not address:
            raise socket.gaierror
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, 0))]


def test_a_server_on_the_internet_cannot_send_a_sign_in_to_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Names(monkeypatch, mcp_example=["8.8.8.8"], login_example=["8.8.4.4"], inside_example=["192.168.0.9"])
    guard = AddressGuard(httpx2.URL("https://mcp.example/mcp"))
    anyio.run(guard.check, httpx2.URL("https://login.example/register"))
    for url in ("http://127.0.0.1:9200/register", "http://[::1]/", "https://inside.example/register"):
        with pytest.raises(OAuthFlowError, match="an address of this machine or network"):
            anyio.run(guard.check, httpx2.URL(url))


def test_a_server_of_this_network_may_name_another_one_here(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, mcp_corp=["10.1.1.1"], login_corp=["10.1.1.2"])
    anyio.run(
        AddressGuard(httpx2.URL("https://mcp.corp/mcp")).check, httpx2.URL("https://login.corp/register")
    )


def test_a_name_that_changes_its_address_after_the_check_is_connected_to_as_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oauth, "getproxies", dict)
    arrived: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.settimeout(0.2)
        # Checked at an address where nothing answers, looked up again here.
        Names(monkeypatch, login_example=["192.0.2.1", "127.0.0.1"])
        monkeypatch.setattr(oauth, "_SECONDS", 0.2)
        monkeypatch.setattr(oauth, "is_local", "127.0.0.1".__eq__)

        async def post() -> None:
            guard = AddressGuard(httpx2.URL("https://8.8.8.8/mcp"))
            async with guard.client({}, httpx2.Auth()) as client:
                with pytest.raises(httpx2.TransportError):
                    await client.post(f"http://login.example:{port}/register", content=b"{}")
            assert await guard.check(httpx2.URL("http://login.example/")) == ["192.0.2.1"]

        anyio.run(post)
        with pytest.raises(TimeoutError):
            arrived.append(listener.accept()[0].recv(100))
    assert arrived == []


def test_a_name_without_an_address_at_first_is_checked_when_it_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oauth, "getproxies", dict)
    Names(monkeypatch, login_example=["", "127.0.0.1"])

    async def post() -> None:
        guard = AddressGuard(httpx2.URL("https://8.8.8.8/mcp"))
        async with guard.client({}, httpx2.Auth()) as client:
            with pytest.raises(httpx2.ConnectError, match="unknown host"):
                await client.post("http://login.example/register")
            with pytest.raises(OAuthFlowError, match=r"names login\.example for it"):
                await client.post("http://login.example/register")

    anyio.run(post)


def test_a_pinned_address_is_asked_under_the_hosts_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, "getproxies", dict)
    Names(monkeypatch, login_example=["127.0.0.1"])
    heads: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            heads.append(connection.recv(10_000))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async def get(port: int) -> str:
        guard = AddressGuard(httpx2.URL("http://127.0.0.1/mcp"))
        async with guard.client({}, httpx2.Auth()) as client:
            return (await client.get(f"http://login.example:{port}/here")).text

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        assert anyio.run(get, listener.getsockname()[1]) == "ok"
        thread.join()
    assert b"host: login.example:" in heads[0].lower()
