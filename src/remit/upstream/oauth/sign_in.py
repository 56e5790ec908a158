"""Signs in to remote servers: OAuth 2.1 with PKCE, through the user's browser."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

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

from remit.decision.declared_launch import Launch, Transport
from remit.errors import SignInError
from remit.protocol.era import Era
from remit.upstream.failures import credential_command
from remit.upstream.launch.ready_server import NotReadyError, ReadyServer, make_ready
from remit.upstream.messaging.messages import ProtocolError, UnreachableError, encode
from remit.upstream.oauth.callback_page import LOOPBACK, CallbackPage, serve_callback_page
from remit.upstream.oauth.token_store import StoredToken
from remit.upstream.transports.http_client import open_http_client, send_within_origin
from remit.upstream.transports.remote import parse_url
from remit.upstream.upstream_model import Upstream

TIME_LIMIT = 300.0  # seconds for a person to sign in


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClientRegistration:
    """Remit's OAuth client for a server, if it is registered manually."""

    client_id: str | None = None  # None: register dynamically
    client_secret: str | None = None
    port: int = 0  # of the callback page; 0: any free one
    scope: str | None = None  # in addition to the scopes that the server requires
    host: str = LOOPBACK  # of the callback page; some servers accept only `localhost`


def registration_for(launch: Launch, given: ClientRegistration) -> ClientRegistration:
    """Return the user's client registration, else the one in the entry."""
    known = launch.registered
    if given.client_id is not None or known is None:
        return given
    return replace(given, client_id=known.client_id, port=given.port or known.port, host="localhost")


def ready_remote(upstream: Upstream, variables: Mapping[str, str], home: str) -> ReadyServer:
    """Spend the permit of a remote server.

    Raises:
        SignInError: a variable is missing, or the server is not remote.
    """
    if upstream.launch.transport not in (Transport.HTTP, Transport.SSE):
        raise SignInError(
            f"`{upstream.label}` is not a remote server, so it needs no sign-in",
            hint=f"add its credentials to its entry in {upstream.source}",
        )
    if upstream.is_per_principal:
        raise SignInError(
            f"`{upstream.label}` is used with the credential of each caller, not with this machine's",
            hint=f"run `{credential_command(upstream, 'NAME')}`",
        )
    try:
        return make_ready(upstream, variables, home)
    except NotReadyError as error:
        raise SignInError(f"`{upstream.label}` {error}", hint=error.failure.hint) from None


def sign_in(
    server: ReadyServer,
    registration: ClientRegistration,
    *,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
    time_limit: float = TIME_LIMIT,
) -> StoredToken:
    """Sign in to a server that is ready.

    Raises:
        SignInError: the sign-in failed, with the reason.
    """

    async def flow() -> StoredToken:
        with anyio.fail_after(time_limit):
            return await _sign_in(server, registration, on_url, open_browser)

    try:
        return anyio.run(flow)
    except TimeoutError:
        reason = f"sign-in to `{server.label}` timed out after {time_limit:g} s"
        raise SignInError(reason, hint="try again") from None
    except OSError as error:
        raise SignInError(
            f"port {registration.port} cannot be used: {(error.strerror or 'it is taken').lower()}",
            hint="choose another with `--port`",
        ) from None


async def _sign_in(
    server: ReadyServer,
    registration: ClientRegistration,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
) -> StoredToken:
    label, launch = server.label, server.launch
    refusal: str | None = None
    async with serve_callback_page(registration.port, registration.host) as page:
        provider = _provider(launch.url, registration, page, on_url, open_browser)
        try:
            refusal = await _send_ping(server, provider)
        except OAuthFlowError as error:
            refusal = f"signing in to `{label}` failed: {_short(str(error))}"
        except (UnreachableError, ProtocolError) as error:
            refusal = f"`{label}` cannot be reached: {error}"
    if refusal is not None:
        raise SignInError(refusal)
    return _stored_token(label, provider)


def _provider(
    url: str,
    registration: ClientRegistration,
    page: CallbackPage,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
) -> OAuthClientProvider:
    guard = DiscoveryGuard(parse_url(url))

    async def open_page(target: str) -> None:
        guard.check(parse_url(target))
        page.state = parse_qs(urlsplit(target).query)["state"][0]
        on_url(target)
        open_browser(target)

    async def wait_for_code() -> AuthorizationCodeResult:
        params = await page.wait()
        if "error" in params:
            raise OAuthFlowError(params.get("error_description") or params["error"])
        return AuthorizationCodeResult(
            code=params.get("code", ""), state=params.get("state"), iss=params.get("iss")
        )

    metadata = _WiderMetadata(client_name="Remit", redirect_uris=[AnyUrl(page.url)])
    metadata._extra_scope = registration.scope or ""  # pyright: ignore[reportPrivateUsage] - our own class
    return OAuthClientProvider(
        url, metadata, _FixedRegistration(registration, page.url), open_page, wait_for_code
    )


async def _send_ping(server: ReadyServer, provider: OAuthClientProvider) -> str | None:
    """Send a request that triggers the sign-in; return the reason if the server still refuses."""
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # it would report errors twice
    launch = server.launch
    headers = {"mcp-protocol-version": Era.SESSION.latest, "content-type": "application/json"}
    ping = encode({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    request: tuple[str, bytes | None] = ("GET", None) if launch.transport is Transport.SSE else ("POST", ping)
    guard = DiscoveryGuard(parse_url(launch.url))
    accepted = {**headers, "accept": "application/json, text/event-stream"}
    async with (
        open_http_client(launch.headers, provider, guard.check_request) as client,
        send_within_origin(client, request[0], parse_url(launch.url), request[1], accepted) as response,
    ):
        if response.status_code in (401, 403):
            return f"it still answers {response.status_code} {response.reason_phrase}"
    return None


def _stored_token(label: str, provider: OAuthClientProvider) -> StoredToken:
    context = provider.context
    token, client, metadata = context.current_tokens, context.client_info, context.oauth_metadata
    if token is None or client is None:
        raise SignInError(f"`{label}` needs no sign-in", hint="use it as it is")
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


class DiscoveryGuard:
    """Keeps the sign-in of a server on the internet from being sent to this machine or its network.

    A server says where its sign-in is, and could name a service that only this machine reaches. A server on
    this machine may name another one here: the process that answers reaches it anyway.
    """

    def __init__(self, server: httpx2.URL) -> None:
        self._is_local = is_local(server.host)

    async def check_request(self, request: httpx2.Request) -> None:
        """Check a request before it is sent; a hook of the HTTP client.

        Raises:
            OAuthFlowError: it would go to a local address, and the server is elsewhere.
        """
        self.check(request.url)

    def check(self, url: httpx2.URL) -> None:
        """Check an address before it is opened.

        Raises:
            OAuthFlowError: it is local, and the server is elsewhere.
        """
        if is_local(url.host) and not self._is_local:
            raise OAuthFlowError(f"it names {url.host} for it, an address of this machine or network")


def is_local(host: str) -> bool:
    """Tell whether a host is this machine, or an address that the internet does not reach."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name.strip("[]"))
    except ValueError:
        return False
    return not (getattr(address, "ipv4_mapped", None) or address).is_global


class _WiderMetadata(OAuthClientMetadata):
    """Adds a scope to those that the SDK finds, for registration and consent."""

    _extra_scope: str = PrivateAttr(default="")

    def __setattr__(self, name: str, value: object) -> None:
        if name == "scope" and self._extra_scope:
            value = " ".join(dict.fromkeys(f"{value or ''} {self._extra_scope}".split()))
        super().__setattr__(name, value)


class _FixedRegistration:
    """Gives the SDK a client that is already registered; tokens are stored elsewhere."""

    def __init__(self, registration: ClientRegistration, url: str) -> None:
        self._known = (
            None
            if registration.client_id is None
            else OAuthClientInformationFull(
                client_id=registration.client_id,
                client_secret=registration.client_secret,
                token_endpoint_auth_method="client_secret_basic" if registration.client_secret else "none",
                redirect_uris=[AnyUrl(url)],
            )
        )

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._known

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 300 else f"{line[:299]}…"
