"""Credentials of principals for upstream servers: what each is bound to, and where they are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from remit.decision.tool_names import full_label
from remit.errors import CredentialError
from remit.upstream.upstream_model import Upstream

MAX_LENGTH = 16_384  # characters of a credential


class CredentialPlace(NamedTuple):
    """Who may use a credential, and for which server; all of it is bound to the encrypted value."""

    principal: str
    server: str
    target: str  # a digest of the URL, or of the command: another server of this name gets nothing
    project: str | None = None  # the hash of the project that declares the server; None: no project does


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Credential:
    """A credential in use."""

    value: str

    def __repr__(self) -> str:
        return "Credential()"


class SealedCredential(NamedTuple):
    """A credential as stored: encrypted."""

    place: CredentialPlace
    key_id: str
    sealed: bytes
    created_at: int  # Unix milliseconds


class CredentialRows(Protocol):
    """Stores encrypted credentials: in a file, or in the store that several nodes share."""

    def close(self) -> None: ...

    def follow(self) -> None: ...  # changes, until closed

    def revision(self) -> object: ...  # changes with the credentials

    def find(self, principal: str, server: str, project: str | None) -> SealedCredential | None: ...

    def all(self) -> Sequence[SealedCredential]: ...

    def save(
        self, credential: SealedCredential
    ) -> None: ...  # replaces that of the same principal and server

    def reseal(
        self, before: SealedCredential, after: SealedCredential
    ) -> bool: ...  # False: changed meanwhile

    def remove(
        self, principal: str, server: str | None
    ) -> int: ...  # None: of every server; returns how many

    def forget(self, project: str) -> None: ...  # those for servers of a project


def place_of(upstream: Upstream, principal: str) -> CredentialPlace:
    """Return what a principal's credential for a server is bound to."""
    return CredentialPlace(
        principal,
        full_label(upstream.label, upstream.plugin),
        upstream.launch.endpoint,
        upstream.project,
    )


def check_value(value: str) -> str:
    """Return a credential that can be sent in a header or a variable.

    Raises:
        CredentialError: it is empty, too long, or has spaces or control characters.
    """
    if not value:
        raise CredentialError("the credential is empty", hint="write it to stdin")
    if len(value) > MAX_LENGTH:
        raise CredentialError(f"the credential is longer than {MAX_LENGTH:,} characters")
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise CredentialError("the credential contains a character that cannot be sent")
    return value
