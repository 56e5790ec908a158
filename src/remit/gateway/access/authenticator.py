"""Finds the principal of a request: by a token of Remit's own, or by an access token of an issuer."""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from remit.configuration.config_model import IdentityProvider
from remit.errors import IdentityError, RemitError
from remit.gateway.access.access_settings import AccessSettings
from remit.gateway.access.issuer_documents import Fetch, Post
from remit.gateway.access.issuer_keys import IssuerKeys
from remit.gateway.access.issuer_sign_in import IssuerSignIn
from remit.gateway.access.open_requests import OpenRequests
from remit.gateway.access.principals import Principal
from remit.gateway.access.token_grants import Grant, find_grant

_BEARER = re.compile(r"(?i)bearer +(\S+)\s*")
PATIENCE = 1.0  # seconds for which a request waits for the store
_SETTINGS_SECONDS = 2.0  # lifetime of the settings

_UNKNOWN = "the token is not accepted: it is unknown or was revoked; ask an administrator for another"

_logger = logging.getLogger(__name__)


class Refused(NamedTuple):
    """Why a request has no principal, and the status of the answer."""

    status: int
    words: str
    is_invalid_token: bool = False


class Authenticator:
    """Knows the tokens and the identity provider of a gateway."""

    def __init__(
        self,
        grants: Callable[[], Sequence[Grant]],
        settings: Callable[[], AccessSettings],  # reads files and the store
        tasks: TaskGroup,
        *,
        is_private: bool,  # only this machine reaches the gateway
        newer: Callable[[], Callable[[], object] | None] = lambda: None,  # reads grants that have changed
        fetch: Fetch | None = None,
        post: Post | None = None,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._grants = grants
        self._newer = newer
        self._read_settings = settings
        self._tasks = tasks
        self._reading_settings = SharedRead(tasks, self._read)
        self._reading_grants = SharedRead(tasks, self._read_grants)
        self._fetch = fetch
        self._post = post
        self._clock = clock
        self._wants_credentials = not is_private
        self._keys: IssuerKeys | None = None
        self._sign_in: IssuerSignIn | None = None
        self._read_at: float | None = None
        self.settings = AccessSettings(is_complete=False)
        self.open_requests = OpenRequests(grants, tasks)

    async def identify(self, authorization: str | None, *, is_needed: bool) -> Principal | Refused | None:
        """Return the principal of an `Authorization` header; None where everyone is accepted.

        Raises:
            TokenError: the tokens cannot be read.
        """
        await self._refresh()
        for _ in range(2):  # a read in progress may have begun before the change
            if self._newer() is not None:
                await self._reading_grants.wait()
        grants = self._grants()
        # Stays set: revoking the last token must not open the gateway.
        self._wants_credentials |= bool(grants) or self.settings.wants_credentials
        found = None if authorization is None else _BEARER.fullmatch(authorization)
        grant = None if found is None else find_grant(found[1], grants)
        if grant is not None:
            return grant.principal
        identity = self.settings.identity
        if found is not None and identity is not None and found[1].count(".") == 2:
            return await self._by_access_token(found[1], identity)
        if is_needed or self._wants_credentials:
            reason = _needed(identity) if found is None else _UNKNOWN
            return Refused(401, reason, authorization is not None)
        return None

    async def identify_person(self, token: str) -> Principal | Refused:
        """Return the principal of a token with which a person signs in.

        Raises:
            TokenError: the tokens cannot be read.
        """
        found = await self.identify(f"Bearer {token}", is_needed=True)
        if found is None or (isinstance(found, Refused) and token.count(".") != 2):
            return Refused(401, "the token is not accepted")
        if isinstance(found, Principal) and found.agents:
            return Refused(403, "this token is for agents, not for a person")
        return found

    async def issuer_sign_in(self) -> IssuerSignIn | None:
        """Return how people sign in at the issuer; None if the gateway is not its client."""
        await self._refresh()
        identity = self.settings.identity
        client = None if identity is None else identity.sign_in
        if identity is None or client is None:
            return None
        if self._sign_in is None or self._sign_in.identity != identity:
            self._sign_in = IssuerSignIn(
                identity, client, self._keys_of(identity), fetch=self._fetch, post=self._post
            )
        return self._sign_in

    async def _by_access_token(self, token: str, identity: IdentityProvider) -> Principal | Refused:
        from remit.gateway.access.access_tokens import InvalidToken, check_token  # loads cryptography

        try:
            claims = await check_token(token, self._keys_of(identity))
        except IdentityError as error:
            _logger.error("%s", error)
            return Refused(503, "the gateway cannot check access tokens now; try again in a minute")
        if isinstance(claims, InvalidToken):
            return Refused(401, f"the access token is not accepted: {claims.reason}", is_invalid_token=True)
        principal = self.settings.principal(identity, claims.name, claims.groups)
        if not principal.memberships:
            return Refused(403, "you have no role in any project; ask an administrator of the gateway")
        return replace(principal, valid_until=claims.valid_until)

    def _keys_of(self, identity: IdentityProvider) -> IssuerKeys:
        if self._keys is None or self._keys.identity != identity:
            self._keys = IssuerKeys(identity, self._tasks, fetch=self._fetch)
        return self._keys

    async def _refresh(self) -> None:
        """Read the settings again once they are two seconds old; while the store hangs, use the last ones."""
        if self._read_at is not None and self._clock() - self._read_at < _SETTINGS_SECONDS:
            return
        await self._reading_settings.wait(is_patient=self._read_at is None)

    async def _read(self) -> None:
        try:
            self.settings = await anyio.to_thread.run_sync(self._read_settings)
        except RemitError as error:
            _logger.error("who may use the gateway cannot be read: %s", error)
        finally:
            self._read_at = self._clock()

    async def _read_grants(self) -> None:
        read = self._newer()
        if read is not None:
            await anyio.to_thread.run_sync(read)


class SharedRead:
    """One read of the store for all requests that need it, which a store that hangs does not hold up."""

    def __init__(self, tasks: TaskGroup, read: Callable[[], Awaitable[None]]) -> None:
        self._tasks = tasks
        self._read = read
        self._is_over: anyio.Event | None = None  # set at the end of the read in progress
        self._is_late = False

    async def wait(self, *, is_patient: bool = False) -> None:
        """Read, or join the read in progress; return early once a read takes long, unless patient."""
        if self._is_over is None:
            self._is_over, self._is_late = anyio.Event(), False
            self._tasks.start_soon(self._run, self._is_over)
        is_over = self._is_over
        if is_patient:
            await is_over.wait()
        elif not self._is_late:
            with anyio.move_on_after(PATIENCE):
                await is_over.wait()
            self._is_late = self._is_over is is_over  # and nobody else waits for this read

    async def _run(self, is_over: anyio.Event) -> None:
        try:
            await self._read()
        finally:
            self._is_over = None
            is_over.set()


def _needed(identity: IdentityProvider | None) -> str:
    own = "`Authorization: Bearer ...`, made by `remit token add`"
    if identity is None:
        return f"a token is needed: {own}"
    return f"an access token of {identity.issuer} is needed, or a token: {own}"


def describe_callers(settings: AccessSettings, tokens: int) -> str:
    """Say how callers are known."""
    known = [f"{tokens} token{'s' if tokens > 1 else ''}"] if tokens else []
    if settings.identity is not None:
        count = len(settings.memberships)
        known.append(f"access tokens of {settings.identity.issuer} ({count} access rule{'s' * (count != 1)})")
    if known:
        return ", ".join(known)
    return (
        "everyone on this machine"
        if settings.is_complete
        else "none accepted: a configuration file is invalid"
    )
