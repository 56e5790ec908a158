"""Signing in to a remote server: OAuth 2.1 with PKCE, through the user's browser and back to this machine."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, PrivateAttr

from remit.decision.launch import Launch, Transport
from remit.errors import SignInError
from remit.protocol.constants import OLDER
from remit.upstream.failures import missing
from remit.upstream.launch.variable_expansion import expand
from remit.upstream.messaging.messages import ProtocolError, UnreachableError, encode
from remit.upstream.oauth.callback_page import LOOPBACK, CallbackPage, serve_callback_page
from remit.upstream.oauth.token_store import StoredToken
from remit.upstream.transports.http_client import open_http_client, send_within_origin
from remit.upstream.transports.remote import parse_url
from remit.upstream.upstream_model import Upstream

PATIENCE = 300.0  # seconds for a person to sign in


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClientRegistration:
    """Who Remit is to a server that does not let clients introduce themselves."""

    client_id: str | None = None  # None: it is given one
    client_secret: str | None = None
    port: int = 0  # where the browser lands; 0: any that is free
    scope: str | None = None  # what is asked for beside what the server wants at least
    host: str = LOOPBACK  # what this machine is called there; a server may know only `localhost`


def registration_for(launch: Launch, said: ClientRegistration) -> ClientRegistration:
    """Say who Remit is to a server: what its user says, else what the entry does."""
    known = launch.registered
    if said.client_id is not None or known is None:
        return said
    return replace(said, client_id=known.client_id, port=said.port or known.port, host="localhost")


def expand_remote(upstream: Upstream, variables: Mapping[str, str], home: str) -> Launch:
    """Put variables into the entry of a remote server.

    Raises:
        SignInError: one is missing, or it is no remote server.
    """
    if upstream.launch.transport not in (Transport.HTTP, Transport.SSE):
        raise SignInError(
            f"`{upstream.label}` is no remote server: there is nothing to sign in to",
            hint=f"give it what it needs in its entry in {upstream.source}",
        )
    expanded = expand(upstream.launch, variables, workspace=upstream.directory, home=home)
    if expanded.missing:
        failure = missing(expanded.missing, upstream)
        raise SignInError(f"`{upstream.label}` {failure.reason}", hint=failure.hint)
    return expanded.launch


def sign_in(
    label: str,
    launch: Launch,
    identity: ClientRegistration,
    *,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
    patience: float = PATIENCE,
) -> StoredToken:
    """Sign in to a server whose launch is expanded.

    Raises:
        SignInError: it came to nothing; the error says why.
    """

    async def flow() -> StoredToken:
        with anyio.fail_after(patience):
            return await _sign_in(label, launch, identity, on_url, open_browser)

    try:
        return anyio.run(flow)
    except TimeoutError:
        raise SignInError(f"nobody signed in to `{label}` within {patience:g} s", hint="try again") from None
    except OSError as error:
        raise SignInError(
            f"port {identity.port} cannot be used: {(error.strerror or 'it is taken').lower()}",
            hint="give another one with `--port`",
        ) from None


async def _sign_in(
    label: str,
    launch: Launch,
    identity: ClientRegistration,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
) -> StoredToken:
    refusal: str | None = None
    async with serve_callback_page(identity.port, identity.host) as place:
        provider = _provider(launch.url, identity, place, on_url, open_browser)
        try:
            refusal = await _knock(launch, provider)
        except OAuthFlowError as error:
            refusal = f"signing in to `{label}` failed: {_short(str(error))}"
        except (UnreachableError, ProtocolError) as error:
            refusal = f"`{label}` cannot be reached: {error}"
    if refusal is not None:
        raise SignInError(refusal)
    return _signed_in(label, provider)


def _provider(
    url: str,
    identity: ClientRegistration,
    place: CallbackPage,
    on_url: Callable[[str], None],
    open_browser: Callable[[str], None],
) -> OAuthClientProvider:
    async def lead(target: str) -> None:
        place.state = parse_qs(urlsplit(target).query)["state"][0]
        on_url(target)
        open_browser(target)

    async def take() -> AuthorizationCodeResult:
        landed = await place.wait()
        if "error" in landed:
            raise OAuthFlowError(landed.get("error_description") or landed["error"])
        return AuthorizationCodeResult(
            code=landed.get("code", ""), state=landed.get("state"), iss=landed.get("iss")
        )

    introduction = _Asking(client_name="Remit", redirect_uris=[AnyUrl(place.url)])
    introduction._wanted = identity.scope or ""  # pyright: ignore[reportPrivateUsage] - it is our own
    return OAuthClientProvider(url, introduction, _Introduced(identity, place.url), lead, take)


async def _knock(launch: Launch, provider: OAuthClientProvider) -> str | None:
    """Ask the server something, so that it says how to sign in; give the reason if it refuses even then."""
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # it would tell of errors a second time
    headers = {"mcp-protocol-version": OLDER[-1], "content-type": "application/json"}
    question = encode({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    how: tuple[str, bytes | None] = ("GET", None) if launch.transport is Transport.SSE else ("POST", question)
    accepted = {**headers, "accept": "application/json, text/event-stream"}
    async with (
        open_http_client(launch.headers, provider) as client,
        send_within_origin(client, how[0], parse_url(launch.url), how[1], accepted) as response,
    ):
        if response.status_code in (401, 403):
            return f"it still answers {response.status_code} {response.reason_phrase}"
    return None


def _signed_in(label: str, provider: OAuthClientProvider) -> StoredToken:
    context = provider.context
    token, client, metadata = context.current_tokens, context.client_info, context.oauth_metadata
    if token is None or client is None:
        raise SignInError(f"`{label}` asks for no sign-in", hint="it can be used as it is")
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


class _Asking(OAuthClientMetadata):
    """Asks for more than the SDK finds that the server wants: when it introduces itself, and the user."""

    _wanted: str = PrivateAttr(default="")

    def __setattr__(self, name: str, value: object) -> None:
        if name == "scope" and self._wanted:
            value = " ".join(dict.fromkeys(f"{value or ''} {self._wanted}".split()))
        super().__setattr__(name, value)


class _Introduced:
    """What the SDK is to know of the client, where that is known before; what it learns is kept elsewhere."""

    def __init__(self, identity: ClientRegistration, url: str) -> None:
        self._known = (
            None
            if identity.client_id is None
            else OAuthClientInformationFull(
                client_id=identity.client_id,
                client_secret=identity.client_secret,
                token_endpoint_auth_method="client_secret_basic" if identity.client_secret else "none",
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
