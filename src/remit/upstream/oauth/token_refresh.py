"""Bearer authentication: adds the stored token to each request, and refreshes it when it expires."""

import time
from base64 import b64encode
from collections.abc import AsyncGenerator
from dataclasses import replace
from urllib.parse import quote

import anyio
import httpx2
from anyio.to_thread import run_sync

from remit.text.json_values import as_object
from remit.upstream.messaging.messages import decode
from remit.upstream.oauth.token_store import StoredToken, TokenStore


class BearerAuth(httpx2.Auth):
    """Authenticates the requests to one server.

    The SDK's own provider holds a lock until a response begins, so one slow call would block all others.
    """

    def __init__(self, url: str, tokens: TokenStore, token: StoredToken) -> None:
        self._url = url
        self._tokens = tokens
        self._token = token
        self._refreshing = anyio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request; refresh the token if it has expired or is rejected."""
        used = self._token
        if not used.is_expired(time.time()):
            response = yield _authorize(request, used)
            if response.status_code != 401:
                return
        async with self._refreshing:
            if self._token is used:  # else another request has refreshed it
                kept = await run_sync(self._tokens.load, self._url)
                if kept is not None and kept.access_token != used.access_token:  # by another process
                    self._token = kept
                elif used.refresh_token is not None:
                    response = yield _refresh_request(used)
                    self._token = await self._refreshed(used, response)
        yield _authorize(request, self._token)

    async def _refreshed(self, old: StoredToken, response: httpx2.Response) -> StoredToken:
        if response.status_code != 200:
            return old
        try:
            found = as_object(decode(await response.aread()))
        except ValueError:
            return old
        access, refresh, seconds = (
            found.get(name) for name in ("access_token", "refresh_token", "expires_in")
        )
        if not isinstance(access, str):
            return old
        new = replace(
            old,
            access_token=access,
            refresh_token=refresh if isinstance(refresh, str) else old.refresh_token,
            expires_at=time.time() + seconds if isinstance(seconds, int | float) else None,
        )
        await run_sync(self._tokens.save, self._url, new)
        return new


def _authorize(request: httpx2.Request, token: StoredToken) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {token.access_token}"
    return request


def _refresh_request(token: StoredToken) -> httpx2.Request:
    """Create the refresh request, with the client secret as registered."""
    data = {
        "grant_type": "refresh_token",
        "refresh_token": token.refresh_token or "",
        "client_id": token.client_id,
    }
    if token.resource is not None:
        data["resource"] = token.resource
    headers: dict[str, str] = {}
    if token.client_secret is not None and token.client_method == "client_secret_basic":
        pair = f"{quote(token.client_id, safe='')}:{quote(token.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    elif token.client_secret is not None and token.client_method == "client_secret_post":
        data["client_secret"] = token.client_secret
    return httpx2.Request("POST", token.token_endpoint, data=data, headers=headers)
