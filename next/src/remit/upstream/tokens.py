"""The OAuth tokens of remote servers: stored, sent with each request, and refreshed.

They are in the system keyring or, without one, in files that only the user can read; never in the database,
which people copy and share.
"""

import importlib
import json
import os
import time
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
from anyio.to_thread import run_sync

from remit.files import file_lock, write_private
from remit.protocol import decode
from remit.text import as_object

_SERVICE = "remit"  # the name in the keyring
_REFRESH_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoredToken:
    """The tokens for one server; all fields are secret."""

    token_endpoint: str  # which refreshes tokens
    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None  # seconds since 1970
    client_id: str = ""
    client_secret: str | None = None
    client_method: str | None = None  # how the client authenticates
    resource: str | None = None  # the resource that it is for
    scope: str | None = None  # if the server named it

    def __repr__(self) -> str:
        return "StoredToken()"

    def is_expired(self, now: float) -> bool:
        """Check whether the token has expired, or is about to."""
        return self.expires_at is not None and now >= self.expires_at - 10


class TokenStore:
    """The tokens of this user, by the URL of their server."""

    def __init__(self, directory: str, keyring: Any = None) -> None:
        self._directory = os.path.join(directory, "sign-ins")
        self._keyring = keyring  # keyrings raise anything, may be locked, or have no room for a long token

    def load(self, url: str) -> StoredToken | None:
        """Return the stored token; None without one."""
        if self._keyring is not None:
            with suppress(Exception):
                text = self._keyring.get_password(_SERVICE, _name(url))
                if text is not None and (token := _read(text)) is not None:
                    return token
        try:
            with open(self._path(url), encoding="utf-8") as file:
                return _read(file.read())
        except (OSError, UnicodeError):
            return None

    def save(self, url: str, token: StoredToken) -> None:
        """Store a token, replacing an earlier one.

        Raises:
            OSError: it cannot be written.
        """
        text = json.dumps(asdict(token))
        if self._keyring is not None:
            with suppress(Exception):
                self._keyring.set_password(_SERVICE, _name(url), text)
                with suppress(OSError):
                    os.remove(self._path(url))
                return
        self._forget_in_keyring(url)
        write_private(self._path(url), text)

    def forget(self, url: str) -> bool:
        """Delete the token of a server; return False if there was none."""
        was_stored = self._forget_in_keyring(url)
        with suppress(OSError):
            os.remove(self._path(url))
            was_stored = True
        return was_stored

    def lock(self, url: str) -> ExitStack:
        """Wait until no other process refreshes the token; closing what is returned lets others."""
        held = ExitStack()
        with suppress(OSError):
            held.enter_context(file_lock(self._path(url)))
        return held

    def _forget_in_keyring(self, url: str) -> bool:
        if self._keyring is not None:
            with suppress(Exception):
                if self._keyring.get_password(_SERVICE, _name(url)) is not None:
                    self._keyring.delete_password(_SERVICE, _name(url))
                    return True
        return False

    def _path(self, url: str) -> str:
        return os.path.join(self._directory, f"{_name(url)}.json")


@cache
def open_token_store(directory: str) -> TokenStore:
    """Open the keyring if the `keyring` package is installed and finds one, else the files."""
    try:
        keyring: Any = importlib.import_module("keyring")
        return TokenStore(directory, keyring if keyring.get_keyring().priority >= 1 else None)
    except Exception:  # keyring errors have no common base class
        return TokenStore(directory)


class Bearer(httpx2.Auth):
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
                with await run_sync(self._tokens.lock, self._url):
                    stored = await run_sync(self._tokens.load, self._url)
                    if stored is not None and stored.access_token != used.access_token:  # by another process
                        self._token = stored
                    elif used.refresh_token is not None:
                        response = yield _refresh_request(used)
                        self._token = await self._refreshed(used, response)
        yield _authorize(request, self._token)

    async def _refreshed(self, old: StoredToken, response: httpx2.Response) -> StoredToken:
        """Read and store a token; keep the refresh token if none is returned."""
        if response.status_code != 200:
            return old
        try:
            answer = as_object(decode(await response.aread()))
        except ValueError:
            return old
        access, refresh, seconds = (
            answer.get(name) for name in ("access_token", "refresh_token", "expires_in")
        )
        if not isinstance(access, str):
            return old
        new = replace(
            old,
            access_token=access,
            refresh_token=refresh if isinstance(refresh, str) else old.refresh_token,
            expires_at=time.time() + seconds if isinstance(seconds, int | float) else None,
        )
        with suppress(OSError):  # it can be used, if not stored
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
    limits = {"timeout": httpx2.Timeout(_REFRESH_SECONDS).as_dict()}  # other processes wait for it
    return httpx2.Request("POST", token.token_endpoint, data=data, headers=headers, extensions=limits)


def _name(url: str) -> str:
    """Hash a server's URL, which may be secret, into the name of its token."""
    return sha256(url.encode()).hexdigest()[:32]


def _read(text: str) -> StoredToken | None:
    try:
        stored = as_object(json.loads(text))
    except ValueError:
        return None
    names = {field.name for field in fields(StoredToken)}
    if not all(isinstance(stored.get(name), str) for name in ("token_endpoint", "access_token")):
        return None
    return StoredToken(**{name: value for name, value in stored.items() if name in names})
