"""The public keys of an identity provider: kept while it is down, and fetched again on rotation."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from remit.configuration.access_tables import is_key_address
from remit.configuration.config_model import IdentityProvider
from remit.errors import IdentityError
from remit.gateway.access.issuer_documents import Fetch, discover, fetch_json
from remit.protocol.call_statistics import TokenBucket

LIFETIME = 600.0  # seconds after which keys are fetched again, so a withdrawn key ends
_BURST, _PER_SECOND = 3, 1 / 30  # fetches: anybody can send a token with an unknown key
_MAX_KEYS = 100
_HINT = "check `[identity]`, and that the gateway can reach the issuer"

_logger = logging.getLogger(__name__)

Key = Mapping[str, Any]  # a JSON Web Key


class IssuerKeys:
    """The keys of one issuer."""

    def __init__(
        self,
        identity: IdentityProvider,
        tasks: TaskGroup,
        *,
        fetch: "Fetch | None" = None,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self.identity = identity
        self._tasks = tasks
        self._fetch = fetch or fetch_json
        self._clock = clock
        self._keys: list[Key] | None = None  # None: never fetched
        self._fetched_at = 0.0
        self._has_failed = False
        self._lock = anyio.Lock()
        self._pace = TokenBucket(_BURST, _PER_SECOND, now=clock())

    async def find(self, kid: str | None) -> list[Key]:
        """Return the keys of an id, or all for None; fetch them again if the id is not known.

        Raises:
            IdentityError: the issuer does not answer, and the key is not known.
        """
        found = self._known(kid)
        if found:
            if self._clock() - self._fetched_at > LIFETIME and not self._lock.statistics().locked:
                self._tasks.start_soon(self._renew)
            return found
        seen = self._fetched_at, self._has_failed
        async with self._lock:
            if (self._fetched_at, self._has_failed) == seen:  # nobody fetched them while this one waited
                await self._fetch_keys()
        found = self._known(kid)
        if not found and (self._keys is None or self._has_failed):
            raise IdentityError(f"the keys of {self.identity.issuer} cannot be fetched", hint=_HINT)
        return found

    async def _renew(self) -> None:
        async with self._lock:
            if self._clock() - self._fetched_at > LIFETIME:
                await self._fetch_keys()

    def _known(self, kid: str | None) -> list[Key]:
        return [key for key in self._keys or () if kid is None or key.get("kid") == kid]

    async def _fetch_keys(self) -> None:
        if self._pace.try_take(self._clock()):
            return
        try:
            document = await self._fetch(self.identity.jwks or await self._jwks_address())
            keys = document.get("keys")
            if not isinstance(keys, list):
                raise IdentityError("its keys are not a JSON Web Key Set")
            listed = cast("list[object]", keys)[:_MAX_KEYS]
            self._keys = [cast("Key", key) for key in listed if isinstance(key, dict)]
            self._fetched_at, self._has_failed = self._clock(), False
        except IdentityError as error:
            self._has_failed = True
            _logger.warning("the keys of %s cannot be fetched: %s", self.identity.issuer, error)

    async def _jwks_address(self) -> str:
        """Ask the issuer for the address of its keys."""
        jwks = (await discover(self.identity.issuer, self._fetch)).get("jwks_uri")
        if not isinstance(jwks, str) or not is_key_address(jwks):
            raise IdentityError("its metadata has no https address of keys")
        return jwks
