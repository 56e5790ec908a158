"""A real server that wants to know who asks: `python oauth_server.py SECONDS [ERROR]`, on a free port.

It is its own authorization server; whoever comes is let in at once, with tokens that last so many seconds,
or is sent back with an error.
"""

import secrets
import socket
import sys
import time
from typing import Any, cast

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl


class Gatekeeper:
    """Knows clients, codes and tokens, as long as it runs."""

    def __init__(self, seconds: int, error: str | None) -> None:
        self._seconds = seconds
        self._error = error
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._access: dict[str, AccessToken] = {}
        self._refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self._clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        place = str(params.redirect_uri)
        if self._error is not None:
            return construct_redirect_uri(place, error=self._error, state=params.state)
        code = secrets.token_urlsafe(32)
        self._codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(place, code=code, state=params.state)

    async def load_authorization_code(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002 - the SDK calls it so
        authorization_code: str,
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self._codes[authorization_code.code]
        return self._issue(client, authorization_code.resource)

    async def load_refresh_token(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002 - the same
        refresh_token: str,
    ) -> RefreshToken | None:
        return self._refresh.get(refresh_token)

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,
        refresh_token: RefreshToken,
        scopes: list[str],  # noqa: ARG002 - the same
    ) -> OAuthToken:
        del self._refresh[refresh_token.token]
        return self._issue(client, None)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self._access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self._access.pop(token.token, None)
        self._refresh.pop(token.token, None)

    def _issue(self, client: OAuthClientInformationFull, resource: str | None) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        expires = int(time.time()) + self._seconds
        self._access[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=[], expires_at=expires, resource=resource
        )
        self._refresh[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=[])
        return OAuthToken(access_token=access, expires_in=self._seconds, refresh_token=refresh)


def app(address: str, gatekeeper: Gatekeeper) -> Any:
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(address),
        resource_server_url=AnyHttpUrl(f"{address}/mcp"),
        client_registration_options=ClientRegistrationOptions(enabled=True),
    )
    server = MCPServer("signing", auth=settings, auth_server_provider=cast("Any", gatekeeper))

    @server.tool()
    def echo(x: str) -> str:  # pyright: ignore[reportUnusedFunction] - the SDK calls it
        """Say it again."""
        return x

    return server.streamable_http_app()


def main(seconds: int, error: str | None) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    served = app(f"http://127.0.0.1:{port}", Gatekeeper(seconds, error))
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(served, log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
