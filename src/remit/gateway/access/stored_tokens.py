"""Stores the grants of gateway tokens in PostgreSQL, so that every node accepts and revokes the same ones."""

import json
from collections.abc import Sequence
from typing import Any, Protocol

from remit.decision.projects import Project
from remit.errors import StoreError, TokenError
from remit.gateway.access.token_grants import Grant, digest, new_token


class TokenRows(Protocol):
    """The tokens in a store."""

    def close(self) -> None: ...

    def follow(self) -> None: ...  # know the revision without asking

    def revision(self) -> int: ...  # changes with the tokens

    def all(self) -> Sequence[tuple[Any, ...]]: ...  # name, hash, projects, agents, time

    def add(self, name: str, digest: str, *, projects: str, agents: str, at: int) -> bool: ...

    def revoke(self, name: str) -> bool: ...


class StoredTokens:
    """The tokens of everyone who shares a store, as hashes."""

    def __init__(self, rows: TokenRows) -> None:
        self._rows = rows
        self._known: tuple[int, Sequence[Grant]] | None = None  # with their revision

    def close(self) -> None:
        """Close the store."""
        self._rows.close()

    def follow(self) -> None:
        """Notice changes without asking the database each time, until closed."""
        self._rows.follow()

    def grants(self) -> Sequence[Grant]:
        """List the grants; while the database is down, those that were last known.

        Raises:
            TokenError: the grants were never read, so no token can be checked.
        """
        try:
            revision = self._rows.revision()
            if self._known is None or self._known[0] != revision:
                self._known = revision, [_grant(*row) for row in self._rows.all()]
        except StoreError as error:
            if self._known is None:
                raise TokenError(f"the tokens cannot be read: {error}", hint=error.hint) from error
        return self._known[1]

    def add(self, name: str, *, projects: Sequence[Project], agents: Sequence[str], at: int) -> str:
        """Create a token and return it; only its hash is stored.

        Raises:
            StoreError: the database cannot be used.
            TokenError: the name is taken.
        """
        token = new_token()
        added = self._rows.add(
            name,
            digest(token),
            projects=json.dumps([project._asdict() for project in projects]),
            agents=json.dumps([*agents]),
            at=at,
        )
        if not added:
            raise TokenError(
                f"a token called `{name}` already exists", hint=f"`remit token revoke {name}` revokes it"
            )
        return token

    def revoke(self, name: str) -> bool:
        """Revoke a token; return False if there is none with this name.

        Raises:
            StoreError: the database cannot be used.
        """
        return self._rows.revoke(name)


def _grant(name: str, digest: str, projects: str, agents: str, created_at: int) -> Grant:
    found: list[dict[str, Any]] = json.loads(projects)
    return Grant(
        name=name,
        digest=digest,
        projects=tuple(Project(**each) for each in found),
        agents=tuple(json.loads(agents)),
        created_at=created_at,
    )
