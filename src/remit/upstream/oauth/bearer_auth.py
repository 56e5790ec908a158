"""Requests of someone who has signed in: the token goes with each, and is renewed when its time is up."""

import time
from base64 import b64encode
from collections.abc import AsyncGenerator
from dataclasses import replace
from urllib.parse import quote

import anyio
import httpx2
from anyio.to_thread import run_sync

from remit.upstream.messaging.messages import decode, fields
from remit.upstream.oauth.token_store import StoredToken, TokenStore


class BearerAuth(httpx2.Auth):
    """Shows the token to one server.

    The SDK's own holds a lock until an answer begins, so that one slow call would hold up all others.
    """

    def __init__(self, url: str, sign_ins: TokenStore, sign_in: StoredToken) -> None:
        self._url = url
        self._sign_ins = sign_ins
        self._sign_in = sign_in
        self._renewing = anyio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request, with a new token where the old one does not serve any more."""
        shown = self._sign_in
        if not shown.is_expired(time.time()):
            response = yield _with(request, shown)
            if response.status_code != 401:
                return
        async with self._renewing:
            if self._sign_in is shown:  # else another request has done it meanwhile
                kept = await run_sync(self._sign_ins.load, self._url)
                if kept is not None and kept.access_token != shown.access_token:  # or another process
                    self._sign_in = kept
                elif shown.refresh_token is not None:
                    answer = yield _renewal(shown)
                    self._sign_in = await self._renewed(shown, answer)
        yield _with(request, self._sign_in)

    async def _renewed(self, old: StoredToken, answer: httpx2.Response) -> StoredToken:
        if answer.status_code != 200:
            return old
        try:
            token = fields(decode(await answer.aread()))
        except ValueError:
            return old
        access, refresh, seconds = (
            token.get(name) for name in ("access_token", "refresh_token", "expires_in")
        )
        if not isinstance(access, str):
            return old
        new = replace(
            old,
            access_token=access,
            refresh_token=refresh if isinstance(refresh, str) else old.refresh_token,
            expires_at=time.time() + seconds if isinstance(seconds, int | float) else None,
        )
        await run_sync(self._sign_ins.save, self._url, new)
        return new


def _with(request: httpx2.Request, sign_in: StoredToken) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {sign_in.access_token}"
    return request


def _renewal(sign_in: StoredToken) -> httpx2.Request:
    """Make the request for a new token, with the client's secret shown in the way it was agreed on."""
    data = {
        "grant_type": "refresh_token",
        "refresh_token": sign_in.refresh_token or "",
        "client_id": sign_in.client_id,
    }
    if sign_in.resource is not None:
        data["resource"] = sign_in.resource
    headers: dict[str, str] = {}
    if sign_in.client_secret is not None and sign_in.client_method == "client_secret_basic":
        pair = f"{quote(sign_in.client_id, safe='')}:{quote(sign_in.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    elif sign_in.client_secret is not None and sign_in.client_method == "client_secret_post":
        data["client_secret"] = sign_in.client_secret
    return httpx2.Request("POST", sign_in.token_endpoint, data=data, headers=headers)
