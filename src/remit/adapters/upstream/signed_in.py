"""Requests of someone who has signed in: the token goes with each, and is renewed when its time is up."""

import time
from collections.abc import AsyncGenerator
from dataclasses import replace

import anyio
import httpx2
from anyio.to_thread import run_sync
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from remit.adapters.upstream.sign_ins import SignIn, SignIns

_NOWHERE = AnyUrl("http://127.0.0.1/callback")  # nobody is led there when a token is renewed


class SignedIn(httpx2.Auth):
    """Shows the token to one server.

    The SDK's own holds a lock until an answer begins, so that one slow call would hold up all others.
    """

    def __init__(self, url: str, sign_ins: SignIns, sign_in: SignIn) -> None:
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
                    answer = yield _renewal(shown, self._url)
                    self._sign_in = await self._renewed(shown, answer)
        yield _with(request, self._sign_in)

    async def _renewed(self, old: SignIn, answer: httpx2.Response) -> SignIn:
        if answer.status_code != 200:
            return old
        try:
            token = OAuthToken.model_validate_json(await answer.aread())
        except ValidationError:
            return old
        new = replace(
            old,
            access_token=token.access_token,
            refresh_token=token.refresh_token or old.refresh_token,
            expires_at=None if token.expires_in is None else time.time() + token.expires_in,
        )
        await run_sync(self._sign_ins.save, self._url, new)
        return new


def _with(request: httpx2.Request, sign_in: SignIn) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {sign_in.access_token}"
    return request


def _renewal(sign_in: SignIn, url: str) -> httpx2.Request:
    """Make the request for a new token, with the client's secret shown in the way it was agreed on."""
    context = OAuthContext(url, OAuthClientMetadata(redirect_uris=[_NOWHERE]), _Nothing(), None, None)
    context.client_info = OAuthClientInformationFull(
        client_id=sign_in.client_id,
        client_secret=sign_in.client_secret,
        token_endpoint_auth_method=sign_in.client_method,
    )
    data = {
        "grant_type": "refresh_token",
        "refresh_token": sign_in.refresh_token or "",
        "client_id": sign_in.client_id,
    }
    if sign_in.resource is not None:
        data["resource"] = sign_in.resource
    form, headers = context.prepare_token_auth(data, {"Content-Type": "application/x-www-form-urlencoded"})
    return httpx2.Request("POST", sign_in.token_endpoint, data=form, headers=headers)


class _Nothing:
    """Keeps nothing: the SDK wants a place for tokens even where it only writes a request."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass
