"""A client of the SDK finds the issuer by the gateway's metadata, signs in there, and calls."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from remit.configuration.config_model import AccessRule, Role
from remit.gateway.access.access_settings import AccessSettings, with_projects
from support.http_gateway import gateway
from support.local_issuer import LocalIssuer, served_issuer


class MemoryTokens(TokenStorage):
    """Keeps what a client gets."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class SigningIn:
    """An authorization server before the issuer: it registers any client and signs Ada in."""

    def __init__(self, issuer: LocalIssuer) -> None:
        self._issuer = issuer
        self.resources: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.url.path == "/register":
            answer = JSONResponse({**(await request.json()), "client_id": "c1"}, status_code=201)
        elif request.url.path == "/token":
            form = parse_qs((await request.body()).decode())
            self.resources += form["resource"]
            token = self._issuer.token("ada", aud=form["resource"][0])
            answer = JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 300})
        else:
            return await self._issuer(scope, receive, send)
        return await answer(scope, receive, send)


def test_a_client_finds_the_issuer_by_itself_and_signs_in() -> None:
    asked: list[str] = []

    async def redirect(url: str) -> None:
        asked.append(url)

    async def callback() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(asked[-1]).query)
        return AuthorizationCodeResult(code="code", state=query["state"][0])

    async def run() -> None:
        settings: list[AccessSettings] = []
        async with served_issuer(SigningIn) as issuer, gateway(access=lambda: settings[0]) as served:
            rules = with_projects((AccessRule(Role.USER, ("*",), principal="ada"),), ())
            identity = issuer.identity._replace(audience=(served.url,))
            settings.append(AccessSettings(identity=identity, memberships=rules))
            issuer.metadata = _metadata(issuer.issuer)
            about = OAuthClientMetadata.model_validate(
                {"redirect_uris": ["http://127.0.0.1/callback"], "client_name": "test"}
            )
            provider = OAuthClientProvider(f"{served.url}/mcp", about, MemoryTokens(), redirect, callback)
            async with (
                httpx2.AsyncClient(auth=provider) as http,
                Client(streamable_http_client(f"{served.url}/mcp", http_client=http)) as client,
            ):
                assert " oidc:ada " in str((await client.call_tool("who", {})).content)
        assert asked[0].startswith(f"{issuer.issuer}/authorize?")

    anyio.run(run)


def _metadata(issuer: str) -> dict[str, Any]:
    return {
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    }
