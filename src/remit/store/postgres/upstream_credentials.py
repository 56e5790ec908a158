"""Stores encrypted credentials of principals for upstream servers."""

from base64 import b64decode, b64encode
from typing import Any

from remit.store.open_store import PATIENCE
from remit.store.postgres.postgres_database import PostgresDatabase
from remit.upstream.principal_credentials.credential_model import CredentialPlace, SealedCredential


class SqlCredentials:
    """The credentials in a store that several nodes share, on a connection of its own."""

    def __init__(self, address: str) -> None:
        self._database = PostgresDatabase(address, patience=PATIENCE)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def follow(self) -> None:
        """Know the revision without asking, until closed."""
        self._database.follow(lambda: None)

    def revision(self) -> int:
        """Return a number that changes with the credentials."""
        return self._database.revision_of("credentials")

    def find(self, principal: str, server: str, project: str | None) -> SealedCredential | None:
        """Find the credential of a principal for a server."""
        rows = self._database.rows("find_credential", principal=principal, server=server, project=project)
        return next((_credential(*row) for row in rows), None)

    def all(self) -> list[SealedCredential]:
        """List all credentials."""
        return [_credential(*row) for row in self._database.rows("credentials")]

    def save(self, credential: SealedCredential) -> None:
        """Store a credential, replacing that of the same principal and server."""
        self._database.run("save_credential", **_values(credential))

    def reseal(self, before: SealedCredential, after: SealedCredential) -> bool:
        """Replace a credential by itself under another key; False if it changed meanwhile."""
        values = {**_values(after), "sealed_before": _text(before)}
        return bool(self._database.rows("reseal_credential", **values))

    def remove(self, principal: str, server: str | None) -> int:
        """Remove the credentials of a principal, for one server or for all; return how many."""
        return len(self._database.rows("remove_credentials", principal=principal, server=server))

    def forget(self, project: str) -> None:
        """Remove the credentials for servers of a project."""
        self._database.run("forget_credentials", of_project=project)


def _text(credential: SealedCredential) -> str:
    return b64encode(credential.sealed).decode()


def _values(credential: SealedCredential) -> dict[str, Any]:
    place = credential.place
    return {
        **place._asdict(),
        "key_id": credential.key_id,
        "sealed": _text(credential),
        "at": credential.created_at,
    }


def _credential(
    principal: str,
    server: str,
    target: str,
    project: str | None,
    key_id: str,
    sealed: str,
    created_at: int,
) -> SealedCredential:
    place = CredentialPlace(principal, server, target, project)
    return SealedCredential(place, key_id, b64decode(sealed), created_at)
