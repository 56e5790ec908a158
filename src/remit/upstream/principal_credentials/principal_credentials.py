"""Finds, sets and re-encrypts the credentials that principals have for upstream servers.

A server is reached with the credential of its caller, never with that of anyone else.
"""

import logging
from collections.abc import Callable, Sequence
from threading import Lock

from anyio.to_thread import run_sync

from remit.errors import CredentialError, NotSignedInError, StoreError, StoreUnavailableError
from remit.upstream.failures import not_signed_in
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.principal_credentials.credential_keys import KeyFile, seal, unseal
from remit.upstream.principal_credentials.credential_model import (
    Credential,
    CredentialPlace,
    CredentialRows,
    SealedCredential,
    check_value,
    place_of,
)
from remit.upstream.upstream_model import Failure, Upstream

_MOST_KEPT = 10_000
_log = logging.getLogger("remit.upstream")


class PrincipalCredentials:
    """The credentials in a store, opened on first use; threads may share it."""

    def __init__(self, open_rows: Callable[[], CredentialRows], keys: KeyFile) -> None:
        self._open_rows = open_rows
        self._keys = keys
        self._rows: CredentialRows | None = None
        self._follows = False
        self._lock = Lock()
        self._kept: dict[CredentialPlace, tuple[object, Credential | None]] = {}  # each with its revision

    def close(self) -> None:
        """Close the store, if it was opened."""
        with self._lock:
            if self._rows is not None:
                self._rows.close()
            self._rows, self._kept = None, {}

    def follow(self) -> None:
        """Notice changes without asking the store each time, until closed."""
        self._follows = True

    def find(self, upstream: Upstream, principal: str) -> Credential | None:
        """Return the credential of a principal for a server; None if there is none.

        Without the store, one that was used before still counts.

        Raises:
            CredentialError: it was set for another address or command, or cannot be decrypted.
            StoreError: the store cannot be used.
        """
        place = place_of(upstream, principal)
        with self._lock:
            rows, (known_at, known) = self._opened(), self._kept.get(place, (None, None))
            try:
                revision = rows.revision()
                if place not in self._kept or revision != known_at:
                    known = self._read(rows, place)
                    self._keep(place, revision, known)
            except StoreUnavailableError:
                if place not in self._kept:
                    raise
            except CredentialError:
                self._kept.pop(place, None)
                raise
            return known

    def all(self) -> Sequence[SealedCredential]:
        """List the credentials, encrypted.

        Raises:
            CredentialError: they cannot be read.
            StoreError: the store cannot be used.
        """
        with self._lock:
            return self._opened().all()

    def set(self, upstream: Upstream, principal: str, value: str, at: int) -> None:
        """Store a credential for a server, replacing an earlier one.

        Raises:
            CredentialError: it cannot be sent or encrypted.
            StoreError: the store cannot be used.
        """
        sealed = seal(check_value(value), place_of(upstream, principal), self._keys.encrypting(), at)
        with self._lock:
            self._opened().save(sealed)

    def remove(self, principal: str, server: str | None = None) -> int:
        """Remove the credentials of a principal, for one server or for all; return how many.

        Raises:
            CredentialError: they cannot be read or written.
            StoreError: the store cannot be used.
        """
        with self._lock:
            return self._opened().remove(principal, server)

    def forget(self, project: str) -> None:
        """Remove the credentials for servers of a project, by its hash.

        Raises:
            CredentialError: they cannot be read or written.
            StoreError: the store cannot be used.
        """
        with self._lock:
            self._opened().forget(project)

    def rekey(self) -> int:
        """Encrypt all credentials with the first key of the file; return how many had another one.

        Raises:
            CredentialError: a credential cannot be decrypted; those before it are done.
            StoreError: the store cannot be used.
        """
        keys, done = self._keys.keys(), 0
        with self._lock:
            rows = self._opened()
            for each in rows.all():
                if each.key_id != keys[0].id:
                    done += rows.reseal(each, seal(unseal(each, keys), each.place, keys[0], each.created_at))
        return done

    def _opened(self) -> CredentialRows:
        if self._rows is None:
            self._rows = self._open_rows()
            if self._follows:
                self._rows.follow()
        return self._rows

    def _keep(self, place: CredentialPlace, revision: object, credential: Credential | None) -> None:
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[place] = revision, credential

    def _read(self, rows: CredentialRows, place: CredentialPlace) -> Credential | None:
        found = rows.find(place.principal, place.server, place.project)
        if found is None:
            return None
        if found.place.target != place.target:
            raise CredentialError(
                f"the credential was set for another address or command of `{place.server}`",
                hint="check the server's entry, then set the credential again",
            )
        return Credential(value=unseal(found, self._keys.keys()))


async def find_credential(
    resources: LaunchResources, upstream: Upstream, principal: str | None
) -> Credential:
    """Return the credential that a principal has for a server.

    Raises:
        NotSignedInError: there is none, or it cannot be used.
    """
    if principal is None or resources.credentials is None:
        raise _error(upstream, not_signed_in(upstream, principal))
    try:
        found = await run_sync(resources.credentials().find, upstream, principal)
    except (CredentialError, StoreError) as error:  # where keys and stores are is for people
        _log.warning("the credential of %s for `%s` cannot be used: %s", principal, upstream.label, error)
        reason = "cannot be used now: your credential for it cannot be read"
        raise _error(upstream, Failure(reason=reason, hint=error.hint)) from None
    if found is None:
        raise _error(upstream, not_signed_in(upstream, principal))
    return found


def _error(upstream: Upstream, failure: Failure) -> NotSignedInError:
    return NotSignedInError(
        f"`{upstream.label}` {failure.reason}",
        hint=failure.hint,
        next_step=failure.next_step,
        reason=failure.reason,
    )
