"""Signing in to a real server, as a browser would, and being known to it from then on."""

import json
import shlex
import socket
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from anyio.to_thread import run_sync
from mcp.client.auth import OAuthFlowError

from remit.decision.declared_launch import Launch, OAuthClient, Transport, VariableSyntax
from remit.errors import SignInError, UpstreamError
from remit.upstream.failures import explain
from remit.upstream.launch.ready_server import ReadyServer
from remit.upstream.oauth.sign_in import (
    ClientRegistration,
    DiscoveryGuard,
    is_local,
    ready_remote,
    registration_for,
    sign_in,
)
from remit.upstream.oauth.token_store import FileTokenStore, KeyringTokenStore, StoredToken, open_token_store
from remit.upstream.transports.http_client import refused_error
from remit.upstream.transports.process import ProcessRecord
from remit.upstream.upstream_model import Upstream
from support.processes import forked_server_command
from support.upstream_pools import RecordingCaller, open_pool, text_of, tool, upstream

LOCAL = (
    *("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "10.0.0.7"),
    *("192.168.1.1", "169.254.169.254", "::ffff:127.0.0.1", "fe80::1", "fd00::1"),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def serving(seconds: int, *arguments: str) -> Generator[Upstream]:
    command = forked_server_command("oauth_server.py", str(seconds), *arguments)
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        yield upstream(Launch(transport=Transport.HTTP, url=url), "closed")
    finally:
        server.kill()
        server.communicate()


class Browser:
    """Follows where a server leads, in a thread of its own; before that it strays on the way back."""

    def __init__(self, *detours: str) -> None:
        self._detours = detours
        self._threads: list[threading.Thread] = []
        self.statuses: list[int] = []

    def __call__(self, url: str) -> None:
        self._threads.append(threading.Thread(target=self._browse, args=(url,)))
        self._threads[0].start()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()

    def _browse(self, url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        for target in (*(f"{back}{detour}" for detour in self._detours), url):
            try:
                with urllib.request.urlopen(target) as response:  # noqa: S310 - it is our own
                    self.statuses.append(response.status)
            except urllib.error.HTTPError as error:
                self.statuses.append(error.code)
                error.close()


def ready(server: Upstream) -> ReadyServer:
    return ready_remote(server, {}, "/")


def signed_in(server: Upstream) -> StoredToken:
    shown: list[str] = []
    browser = Browser()
    with browser:
        made = sign_in(ready(server), ClientRegistration(), on_url=shown.append, open_browser=browser)
    assert "code_challenge_method=S256" in shown[0]
    return made


@pytest.mark.anyio
async def test_a_server_without_sign_in_suggests_remit_login() -> None:
    with serving(3_600) as server:
        async with open_pool() as made:
            with pytest.raises(UpstreamError, match="answers 401") as caught:
                await made.request(server, "tools/call", tool("echo", x="hi"), RecordingCaller())
    assert str(caught.value.hint).startswith("run `remit login closed`")


@pytest.mark.anyio
async def test_a_sign_in_is_used_from_then_on(tmp_path: Path) -> None:
    kept = FileTokenStore(str(tmp_path))
    with serving(3_600) as server:
        kept.save(server.launch.url, await run_sync(signed_in, server))
        async with open_pool(tokens=kept) as made:
            answers = [
                text_of(await made.request(server, "tools/call", tool("echo", x=word), RecordingCaller()))
                for word in ("one", "two")
            ]
    assert answers == ["one", "two"]


@pytest.mark.anyio
async def test_an_expired_token_is_refreshed_and_stored(tmp_path: Path) -> None:
    kept = FileTokenStore(str(tmp_path))
    with serving(5) as server:  # so short that each request comes too late
        first = await run_sync(signed_in, server)
        kept.save(server.launch.url, first)
        async with open_pool(tokens=kept) as made:
            await made.request(server, "tools/call", tool("echo", x="hi"), RecordingCaller())
        second = kept.load(server.launch.url)
    assert second is not None
    assert second.access_token != first.access_token
    assert second.refresh_token != first.refresh_token


@pytest.mark.anyio
async def test_a_rejected_token_requires_a_new_sign_in(tmp_path: Path) -> None:
    kept = FileTokenStore(str(tmp_path))
    with serving(3_600) as other:
        old = await run_sync(signed_in, other)
    with serving(3_600) as server:
        endpoint = server.launch.url.replace("/mcp", "/token")
        kept.save(server.launch.url, replace(old, token_endpoint=endpoint))
        async with open_pool(tokens=kept) as made:
            with pytest.raises(UpstreamError, match="answers 401") as caught:
                await made.request(server, "tools/call", tool("echo", x="hi"), RecordingCaller())
    assert str(caught.value.hint).startswith("run `remit login closed`")
    assert old.access_token not in str(caught.value)


def test_a_token_is_requested_for_its_server_alone() -> None:
    shown: list[str] = []
    browser = Browser()
    with serving(3_600) as server, browser:
        made = sign_in(ready(server), ClientRegistration(), on_url=shown.append, open_browser=browser)
    assert parse_qs(urlsplit(shown[0]).query)["resource"] == [server.launch.url]
    assert made.resource == server.launch.url


def test_a_refused_sign_in_is_reported() -> None:
    with serving(3_600, "access_denied") as server, pytest.raises(SignInError) as caught:
        signed_in(server)
    assert str(caught.value) == "signing in to `closed` failed: access_denied"


def test_a_callback_with_the_wrong_state_is_ignored() -> None:
    browser = Browser("?code=x&state=wrong", "/other")
    with serving(3_600) as server, browser:
        made = sign_in(ready(server), ClientRegistration(), on_url=lambda _: None, open_browser=browser)
    assert browser.statuses == [400, 404, 200]
    assert made.access_token.startswith("access-")


def registered(server: Upstream, back: str) -> str:
    """Have a server know a client that comes back to an address, and give its ID."""
    wanted = {"redirect_uris": [back], "token_endpoint_auth_method": "none", "client_name": "by hand"}
    request = urllib.request.Request(  # noqa: S310 - it is our own
        server.launch.url.replace("/mcp", "/register"),
        json.dumps(wanted).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:  # noqa: S310 - the same
        return json.loads(response.read())["client_id"]


def test_a_client_that_the_entry_names_signs_in_as_that_and_comes_back_to_localhost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shown: list[str] = []
    browser = Browser()
    with serving(3_600) as server, browser:
        client_id = registered(server, f"http://localhost:{port}/callback")
        launch = replace(server.launch, registered=OAuthClient(client_id, port))
        identity = registration_for(launch, ClientRegistration())
        made = sign_in(ready(upstream(launch, "closed")), identity, on_url=shown.append, open_browser=browser)
    asked = parse_qs(urlsplit(shown[0]).query)
    assert asked["client_id"] == [client_id] == [made.client_id]
    assert asked["redirect_uri"] == [f"http://localhost:{port}/callback"]


def test_the_users_client_id_wins_over_the_entrys() -> None:
    launch = Launch(transport=Transport.HTTP, url="https://x/", registered=OAuthClient("entry", 8080))
    assert registration_for(launch, ClientRegistration(client_id="mine", port=9)) == ClientRegistration(
        client_id="mine", port=9
    )
    assert registration_for(launch, ClientRegistration(port=9)).port == 9
    assert registration_for(replace(launch, registered=None), ClientRegistration()) == ClientRegistration()


def test_a_scope_is_requested_in_addition_to_the_required_ones() -> None:
    shown: list[str] = []
    browser = Browser()
    with serving(3_600) as server, browser:
        asking = ClientRegistration(scope="files:write files:read files:write")
        sign_in(ready(server), asking, on_url=shown.append, open_browser=browser)
    assert parse_qs(urlsplit(shown[0]).query)["scope"] == ["files:write files:read"]


@pytest.mark.parametrize(
    ("status", "challenge", "scope"),
    [
        (403, 'Bearer error="insufficient_scope", scope="files:read files:write"', "files:read files:write"),
        (403, "Bearer scope=files, error=insufficient_scope", "files"),
        (403, 'Bearer error="invalid_token", scope="files"', None),
        (403, 'Bearer error="insufficient_scope", scope="$(rm) x"', None),
        (401, 'Bearer error="insufficient_scope", scope="files"', None),
        (403, "", None),
    ],
)
def test_a_scope_that_is_missing_is_named_with_the_way_to_get_it(
    status: int, challenge: str, scope: str | None
) -> None:
    refused = refused_error(httpx2.Response(status, headers={"WWW-Authenticate": challenge}))
    assert refused.scope == scope
    files = upstream(Launch(transport=Transport.HTTP, url="https://x/"), "files")
    told = explain(refused, ProcessRecord(), files, ())
    command = f"`remit login files --scope {shlex.quote(scope or '')}`"
    assert (command in (told.hint or "")) == (scope is not None)
    assert (f"it wants the scope `{scope}`" in told.reason) == (scope is not None)


@pytest.mark.long
def test_a_sign_in_times_out() -> None:
    with (
        serving(3_600) as server,
        pytest.raises(SignInError, match="sign-in to `closed` timed out after 1 s"),
    ):
        sign_in(
            ready(server),
            ClientRegistration(),
            on_url=lambda _: None,
            open_browser=lambda _: None,
            time_limit=1,
        )


def test_only_remote_servers_are_signed_in_to_and_their_variables_must_be_set() -> None:
    with pytest.raises(SignInError, match="not a remote server"):
        ready_remote(upstream(Launch(command="run"), "local"), {}, "/")
    written = Launch(
        transport=Transport.HTTP, url="https://${HOST_NAME}/mcp", syntaxes=(VariableSyntax.DEFAULTS,)
    )
    with pytest.raises(SignInError, match="needs `HOST_NAME`"):
        ready_remote(upstream(written, "remote"), {}, "/")
    assert ready_remote(upstream(written, "remote"), {"HOST_NAME": "x"}, "/").launch.url == "https://x/mcp"


KEPT = StoredToken(
    **dict.fromkeys(("token_endpoint", "access_token", "refresh_token", "client_id"), "made up")
)
URL = "https://x/mcp?key=secret"


def test_a_token_is_stored_in_a_private_file(tmp_path: Path) -> None:
    files = FileTokenStore(str(tmp_path))
    assert files.load(URL) is None
    files.save(URL, KEPT)
    assert files.load(URL) == KEPT
    (file,) = (tmp_path / "sign-ins").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "secret" not in file.name
    assert repr(KEPT) == "StoredToken()"
    assert (files.forget(URL), files.forget(URL), files.load(URL)) == (True, False, None)


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"token_endpoint": 1, "access_token": "x"}'])
def test_a_damaged_file_counts_as_missing(text: str, tmp_path: Path) -> None:
    files = FileTokenStore(str(tmp_path))
    files.save(URL, KEPT)
    (file,) = (tmp_path / "sign-ins").iterdir()
    file.write_text(text)
    assert files.load(URL) is None


class Ring:
    """A keyring in memory, which may be locked."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, name: str) -> str | None:
        self._require()
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, value: str) -> None:
        self._require()
        self.kept[service, name] = value

    def delete_password(self, service: str, name: str) -> None:
        self._require()
        del self.kept[service, name]

    def _require(self) -> None:
        if self.is_locked:
            raise RuntimeError("locked")


def test_a_token_is_stored_in_the_keyring_where_there_is_one(tmp_path: Path) -> None:
    ring = Ring()
    kept = KeyringTokenStore(ring, FileTokenStore(str(tmp_path)))
    kept.save(URL, KEPT)
    assert (kept.load(URL), len(ring.kept), (tmp_path / "sign-ins").exists()) == (KEPT, 1, False)
    assert (kept.forget(URL), kept.forget(URL), kept.load(URL)) == (True, False, None)


def test_a_keyring_that_fails_is_replaced_by_files(tmp_path: Path) -> None:
    ring = Ring()
    ring.is_locked = True
    kept = KeyringTokenStore(ring, FileTokenStore(str(tmp_path)))
    kept.save(URL, KEPT)
    assert kept.load(URL) == KEPT == FileTokenStore(str(tmp_path)).load(URL)
    ring.is_locked = False
    kept.save(URL, KEPT)
    assert FileTokenStore(str(tmp_path)).load(URL) is None
    assert kept.load(URL) == KEPT


@pytest.mark.parametrize(("priority", "kind"), [(5, KeyringTokenStore), (0, FileTokenStore)])
def test_a_keyring_is_used_only_where_it_works(
    priority: float, kind: type, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ring = SimpleNamespace(priority=priority)
    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_keyring=lambda: ring))
    assert isinstance(open_token_store(str(tmp_path)), kind)


@pytest.mark.anyio
async def test_headers_are_made_by_the_command_of_an_entry() -> None:
    printed = json.dumps({"Authorization": "Bearer ${CLAUDE_CODE_MCP_SERVER_NAME}-word"}).replace('"', '\\"')
    with serving(3_600) as server:
        for command, reason in (
            (f'printf "%s" "{printed}"', "answers 401 Unauthorized"),  # it was sent, and is wrong
            ("echo hello", "its `headersHelper` does not print headers"),
            ("exit 3", "its `headersHelper` failed (exit code 3)"),
        ):
            launch = replace(server.launch, headers_helper=command)
            async with open_pool() as made:
                with pytest.raises(UpstreamError) as caught:
                    await made.request(
                        upstream(launch, "closed"), "tools/call", tool("echo"), RecordingCaller()
                    )
            assert str(caught.value) == f"`closed` {reason}"


def test_a_sign_in_is_not_sent_to_this_machine_by_a_server_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, False, False, False])  # the server is elsewhere, and all that follows is here

    def answer(_host: str) -> bool:
        return next(answers, True)

    monkeypatch.setattr("remit.upstream.oauth.sign_in.is_local", answer)
    with serving(3_600) as server, pytest.raises(SignInError, match="an address of this machine or network"):
        signed_in(server)


@pytest.mark.parametrize("host", LOCAL)
def test_an_address_that_the_internet_does_not_reach_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["example.com", "localhost.example", "8.8.8.8", "2606:4700::1111", ""])
def test_any_other_host_is_not(host: str) -> None:
    assert not is_local(host)


def test_a_server_on_the_internet_cannot_send_a_sign_in_to_this_machine() -> None:
    check = DiscoveryGuard(httpx2.URL("https://mcp.example/mcp")).check_request
    anyio.run(check, httpx2.Request("GET", "https://login.example/.well-known/oauth-authorization-server"))
    with pytest.raises(OAuthFlowError, match=r"names 127\.0\.0\.1 for it"):
        anyio.run(check, httpx2.Request("POST", "http://127.0.0.1:9200/register"))


def test_a_server_on_this_machine_may_name_another_one_here() -> None:
    check = DiscoveryGuard(httpx2.URL("http://127.0.0.1:3000/mcp")).check_request
    anyio.run(check, httpx2.Request("POST", "http://localhost:8080/register"))
