"""Signs in to remote servers and out of them: OAuth 2.1 with PKCE, through the user's browser."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import cast
from urllib.parse import parse_qs, urlsplit
from urllib.request import getproxies

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, PrivateAttr

from remit.decision import Launch, Transport
from remit.errors import NotReadyError, SignInError
from remit.protocol import RULES, Era, ProtocolError, UnreachableError, encode, parse_url, send_within_origin
from remit.upstream.launch import LocalLauncher, ReadyServer
from remit.upstream.model import Upstream
from remit.upstream.tokens import StoredToken, TokenStore

TIME_LIMIT = 300.0  # seconds for a person to sign in
_PATH = "/callback"
_LOOPBACK = "127.0.0.1"
_SECONDS = 30.0  # for one request
_PAGE_SECONDS = 10.0  # for a browser that connects early

OpenPage = Callable[[str], Awaitable[None]]
WaitForCode = Callable[[], Awaitable[Mapping[str, str]]]  # the parameters of the callback

logging.getLogger("mcp").addHandler(logging.NullHandler())  # it would report errors twice


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Registration:
    """Remit's OAuth client for a server, if it is registered by hand."""

    client_id: str | None = None  # None: register dynamically
    client_secret: str | None = None
    port: int = 0  # of the callback page; 0: any free one
    scope: str | None = None  # in addition to the scopes that the server requires
    host: str = _LOOPBACK  # of the callback page; some servers accept only `localhost`


class SignInState(StrEnum):
    """Whether there is a token for a remote server."""

    SIGNED_IN = "signed in"
    EXPIRED = "expired"  # and nothing to renew it with
    SIGNED_OUT = "signed out"  # or it needs no sign-in


_UNREGISTERED = Registration()


def sign_in(
    upstream: Upstream,
    launcher: LocalLauncher,
    tokens: TokenStore,
    *,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
    registration: Registration = _UNREGISTERED,
    time_limit: float = TIME_LIMIT,
) -> None:
    """Sign in to a remote server in the browser, and store the token.

    A scope is requested in addition to those that the server requires and those granted before.

    Raises:
        SignInError: the sign-in failed.
    """
    server = _ready(upstream, launcher)
    before = tokens.load(server.launch.url)
    if registration.scope is not None and before is not None:
        registration = replace(registration, scope=f"{before.scope or ''} {registration.scope}")
    registration = registration_for(server.launch, registration)

    async def flow() -> StoredToken:
        with anyio.fail_after(time_limit):
            return await _sign_in(server, registration, on_url, open_browser)

    try:
        token = anyio.run(flow)
    except TimeoutError:
        reason = f"sign-in to `{upstream.label}` timed out after {time_limit:g} s"
        raise SignInError(reason, hint="try again") from None
    except OSError as error:
        raise SignInError(
            f"port {registration.port} cannot be used: {(error.strerror or 'it is taken').lower()}",
            hint="choose another with `--port`",
        ) from None
    tokens.save(server.launch.url, token)


def sign_out(upstream: Upstream, launcher: LocalLauncher, tokens: TokenStore) -> bool:
    """Delete the stored token of a server; return False if there is none.

    Raises:
        SignInError: the server is not remote.
    """
    return tokens.forget(_ready(upstream, launcher).launch.url)


def sign_in_state(
    upstream: Upstream, launcher: LocalLauncher, tokens: TokenStore, now: float
) -> SignInState | None:
    """Tell whether there is a token for a server; None if it is not remote, or cannot be reached now."""
    try:
        token = tokens.load(_ready(upstream, launcher).launch.url)
    except SignInError:
        return None
    if token is None:
        return SignInState.SIGNED_OUT
    is_over = token.is_expired(now) and token.refresh_token is None
    return SignInState.EXPIRED if is_over else SignInState.SIGNED_IN


def registration_for(launch: Launch, registration: Registration) -> Registration:
    """Return the user's own registration, else the one in the entry."""
    known = launch.registered
    if registration.client_id is not None or known is None:
        return registration
    port = registration.port or known.port
    return replace(registration, client_id=known.client_id, port=port, host="localhost")


async def authorize(
    url: str,
    redirect_uri: str,
    open_page: OpenPage,
    wait_for_code: WaitForCode,
    registration: Registration = _UNREGISTERED,
    *,
    headers: Mapping[str, str] | None = None,
    transport: Transport = Transport.HTTP,
) -> StoredToken:
    """Sign in to the server at a URL: a person opens a page, which leads back to the redirect URI.

    Raises:
        SignInError: the sign-in failed, or the server needs none.
    """
    server = parse_url(url)
    guard = AddressGuard(server)

    async def open_checked(target: str) -> None:
        with suppress(OSError):  # a browser may know it
            await guard.check(parse_url(target))
        await open_page(target)

    async def wait() -> AuthorizationCodeResult:
        params = await wait_for_code()
        if "error" in params:
            raise OAuthFlowError(params.get("error_description") or params["error"])
        return AuthorizationCodeResult(
            code=params.get("code", ""), state=params.get("state"), iss=params.get("iss")
        )

    metadata = _WiderMetadata(client_name="Remit", redirect_uris=[AnyUrl(redirect_uri)])
    metadata._extra_scope = registration.scope or ""  # pyright: ignore[reportPrivateUsage] - our own class
    known = _KnownClient(registration, redirect_uri)
    provider = OAuthClientProvider(url, metadata, known, open_checked, wait)
    ping = encode({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    method, content = ("GET", None) if transport is Transport.SSE else ("POST", ping)
    sent = {
        "mcp-protocol-version": RULES[Era.SESSION].latest,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    refusal = None
    try:
        async with (
            guard.client(headers or {}, provider) as client,
            send_within_origin(client, method, server, content, sent) as response,
        ):
            if response.status_code in (401, 403):
                refusal = f"it still answers {response.status_code} {response.reason_phrase}"
    except OAuthFlowError as error:
        refusal = _short(str(error))
    except (UnreachableError, ProtocolError) as error:
        refusal = f"it cannot be reached: {error}"
    if refusal is not None:
        raise SignInError(refusal)
    return _stored_token(provider)


def _ready(upstream: Upstream, launcher: LocalLauncher) -> ReadyServer:
    """Spend the permit of a remote server.

    Raises:
        SignInError: a variable is missing, or the server is not remote.
    """
    if upstream.launch.transport not in (Transport.HTTP, Transport.SSE):
        raise SignInError(
            f"`{upstream.label}` is not a remote server, so it needs no sign-in",
            hint=f"add its credentials to its entry in {upstream.source}",
        )
    try:
        return launcher.make_ready(upstream)
    except NotReadyError as error:
        raise SignInError(f"`{upstream.label}` {error.reason}", hint=error.hint) from None


async def _sign_in(
    server: ReadyServer,
    registration: Registration,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
) -> StoredToken:
    launch, label = server.launch, server.upstream.label
    async with _serve_page(registration.port) as page:

        async def open_page(target: str) -> None:
            page.state = parse_qs(urlsplit(target).query)["state"][0]
            on_url(target)
            open_browser(target)

        async def wait_for_code() -> Mapping[str, str]:
            return await page.params

        back = f"http://{registration.host}:{page.server_port}{_PATH}"
        try:
            return await authorize(
                launch.url,
                back,
                open_page,
                wait_for_code,
                registration,
                headers=launch.headers,
                transport=launch.transport,
            )
        except SignInError as error:
            raise SignInError(f"signing in to `{label}` failed: {error}", hint=error.hint) from None


def _stored_token(provider: OAuthClientProvider) -> StoredToken:
    context = provider.context
    token, client, metadata = context.current_tokens, context.client_info, context.oauth_metadata
    if token is None or client is None:
        raise SignInError("it needs no sign-in", hint="use it as it is")
    endpoint = None if metadata is None else str(metadata.token_endpoint)
    return StoredToken(
        token_endpoint=endpoint or f"{context.get_authorization_base_url(context.server_url)}/token",
        access_token=token.access_token,
        refresh_token=token.refresh_token,
        expires_at=None if token.expires_in is None else time.time() + token.expires_in,
        client_id=client.client_id,
        client_secret=client.client_secret,
        client_method=client.token_endpoint_auth_method,
        scope=token.scope,
        resource=context.get_resource_url() if context.should_include_resource_param() else None,
    )


class AddressGuard:
    """Keeps the sign-in of a server on the internet from being sent to this machine or its network.

    A server says where its sign-in is, and could name a service that only this machine reaches. Each name is
    looked up once, and connected to at the addresses that were checked: later it may have others. A server
    of this machine or network may name others here, which the process that answers reaches anyway.
    """

    def __init__(self, server: httpx2.URL) -> None:
        self._server = server
        self._known: dict[str, Sequence[str]] = {}

    def client(self, headers: Mapping[str, str], auth: httpx2.Auth) -> httpx2.AsyncClient:
        """Create a client that connects only to checked addresses; behind a proxy, that looks up names."""
        return httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers},
            timeout=_SECONDS,
            event_hooks={"request": [self._check_request] if getproxies() else []},
            auth=auth,
            transport=None if getproxies() else _PinnedTransport(self.check),
        )

    async def check(self, url: httpx2.URL) -> Sequence[str]:
        """Return the addresses of a URL's host, always the same.

        Raises:
            OAuthFlowError: it is on this machine or network, and the server is elsewhere.
            OSError: it has no address.
        """
        addresses = await self._addresses(url.host)
        if any(map(is_local, addresses)) and not any(map(is_local, await self._addresses(self._server.host))):
            raise OAuthFlowError(f"it names {url.host} for it, an address of this machine or network")
        return addresses

    async def _check_request(self, request: httpx2.Request) -> None:
        with suppress(OSError):  # the proxy may know it
            await self.check(request.url)

    async def _addresses(self, host: str) -> Sequence[str]:
        if host not in self._known:
            resolved = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
            self._known[host] = list(dict.fromkeys(str(address[0]) for *_, address in resolved))
        return self._known[host]


class _PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects to the addresses that it is given, under the host's own name."""

    def __init__(self, check: Callable[[httpx2.URL], Awaitable[Sequence[str]]]) -> None:
        self._check = check
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            addresses = await self._check(request.url)
        except OSError as error:
            raise httpx2.ConnectError("unknown host") from error
        failure: httpx2.TransportError = httpx2.ConnectError("no address")
        for address in addresses:
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": request.url.host},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def aclose(self) -> None:
        await self._inner.aclose()


def is_local(address: str) -> bool:
    """Tell whether an address is of this machine, or one that the internet does not reach."""
    ip = ip_address(address)
    return not (getattr(ip, "ipv4_mapped", None) or ip).is_global


class _WiderMetadata(OAuthClientMetadata):
    """Adds a scope to those that the SDK finds, for registration and consent."""

    _extra_scope: str = PrivateAttr(default="")

    def __setattr__(self, name: str, value: object) -> None:
        if name == "scope" and self._extra_scope:
            value = " ".join(dict.fromkeys(f"{value or ''} {self._extra_scope}".split()))
        super().__setattr__(name, value)


class _KnownClient:
    """Gives the SDK a client that is already registered; tokens are stored elsewhere."""

    def __init__(self, registration: Registration, url: str) -> None:
        self._known = None
        if registration.client_id is not None:
            self._known = OAuthClientInformationFull(
                client_id=registration.client_id,
                client_secret=registration.client_secret,
                token_endpoint_auth_method="client_secret_basic" if registration.client_secret else "none",
                redirect_uris=[AnyUrl(url)],
            )

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._known

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


class _CallbackPage(ThreadingHTTPServer):
    """The local page that a sign-in comes back to."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((_LOOPBACK, port), _CallbackHandler)
        self._loop = asyncio.get_running_loop()
        self.params: asyncio.Future[Mapping[str, str]] = self._loop.create_future()
        self.state: str | None = None  # required in the callback

    def take(self, params: Mapping[str, str]) -> None:
        """Hand over the parameters of the callback, from any thread."""
        self._loop.call_soon_threadsafe(lambda: self.params.done() or self.params.set_result(params))


class _CallbackHandler(BaseHTTPRequestHandler):
    timeout = _PAGE_SECONDS

    def do_GET(self) -> None:
        page = cast("_CallbackPage", self.server)
        target = urlsplit(self.path)
        params = {name: values[0] for name, values in parse_qs(target.query).items()}
        if target.path != _PATH:
            self._answer(404, "There is nothing here.")
        elif page.state is None or params.get("state") != page.state:
            self._answer(400, "This is not the sign-in that Remit waits for.")
        elif "error" in params:
            self._answer(200, f"The sign-in was refused: {params['error']}. You can close this page.")
            page.take(params)
        else:
            self._answer(200, "You are signed in. You can close this page and go back.")
            page.take(params)

    def _answer(self, status: int, text: str) -> None:
        page = f"<!doctype html><meta charset=utf-8><title>Remit</title><p>{escape(text)}".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the URL has the code."""


@asynccontextmanager
async def _serve_page(port: int) -> AsyncGenerator[_CallbackPage]:
    """Serve the page while the block runs.

    Raises:
        OSError: the port is taken.
    """
    with _CallbackPage(port) as page:
        threading.Thread(target=page.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield page
        finally:
            page.shutdown()


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 300 else f"{line[:299]}…"
