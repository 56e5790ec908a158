"""Stores the grants of gateway tokens in PostgreSQL, so that every node accepts and revokes the same ones."""

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from remit.configuration.config_model import Role
from remit.decision.projects import Project
from remit.errors import StoreError, TokenError
from remit.gateway.access.token_file import TokenFile
from remit.gateway.access.token_grants import Grant, digest, name_taken, new_token

_log = logging.getLogger("remit.gateway")


class TokenRows(Protocol):
    """The tokens in a store."""

    def close(self) -> None: ...

    def follow(self, tell: Callable[[], object]) -> None: ...  # of changes; also know the revision

    def revision(self) -> int: ...  # changes with the tokens

    def known_revision(self) -> int | None: ...  # the same; None: the database has to be asked

    def all(self) -> Sequence[tuple[Any, ...]]: ...  # name, hash, projects, agents, time, role

    def add(self, name: str, digest: str, *, projects: str, agents: str, role: str, at: int) -> bool: ...

    def revoke(self, name: str) -> bool: ...


class StoredTokens:
    """The tokens of everyone who shares a store, as hashes."""

    def __init__(self, rows: TokenRows) -> None:
        self._rows = rows
        self._known: tuple[int, Sequence[Grant]] | None = None  # with their revision
        self._reading = threading.Lock()

    def close(self) -> None:
        """Close the store."""
        self._rows.close()

    def follow(self) -> None:
        """Read changed tokens again when they change, not when the next request needs them, until closed."""
        self._rows.follow(self._look)

    def grants(self) -> Sequence[Grant]:
        """List the grants; while the database is down, those that were last known.

        Raises:
            TokenError: the grants were never read, so no token can be checked.
        """
        known = self._known
        if known is None:
            try:
                known = self._read()
            except StoreError as error:
                raise TokenError(f"the tokens cannot be read: {error}", hint=error.hint) from error
        elif not self._is_current():
            self._start_reading()
        return known[1]

    def _look(self) -> None:
        known, revision = self._known, self._rows.known_revision()
        if known is not None and revision is not None and revision != known[0]:
            self._start_reading()

    def _start_reading(self) -> None:
        """Read in another thread: a database that hangs must not hold up the requests of this one."""
        if self._reading.acquire(blocking=False):
            threading.Thread(target=self._read_again, name="remit-tokens", daemon=True).start()

    def newer(self) -> Callable[[], object] | None:
        """Return what reads the grants again, if they may have changed; it waits for the database.

        A request that does not wait for it would accept a token that was revoked long ago.
        """
        return None if self._known is None or self._is_current() else self._catch_up

    def _is_current(self) -> bool:
        known = self._known
        return known is not None and self._rows.known_revision() == known[0]

    def _catch_up(self) -> None:
        self._reading.acquire()
        if self._is_current():  # another thread has just read them
            self._reading.release()
        else:
            self._read_again()

    def _read(self) -> tuple[int, Sequence[Grant]]:
        revision = self._rows.revision()
        self._known = revision, [_grant(*row) for row in self._rows.all()]
        return self._known

    def _read_again(self) -> None:
        known = None
        try:
            known = self._read()
        except StoreError as error:
            _log.debug("the tokens could not be read again: %s", error)
        finally:
            self._reading.release()
        revision = self._rows.known_revision()
        if known is not None and revision is not None and revision > known[0]:
            self._start_reading()  # they changed meanwhile

    def add(
        self,
        name: str,
        *,
        projects: Sequence[Project],
        agents: Sequence[str],
        role: Role = Role.USER,
        at: int,
    ) -> str:
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
            role=role,
            at=at,
        )
        if not added:
            raise name_taken(name)
        self._known = None
        return token

    def revoke(self, name: str) -> bool:
        """Revoke a token; return False if there is none with this name.

        Raises:
            StoreError: the database cannot be used.
        """
        self._known = None
        return self._rows.revoke(name)


def _grant(name: str, digest: str, projects: str, agents: str, created_at: int, role: str) -> Grant:
    return Grant(
        name=name,
        digest=digest,
        projects=tuple(Project(**each) for each in json.loads(projects)),
        agents=tuple(json.loads(agents)),
        role=Role(role),
        created_at=created_at,
    )


Tokens = TokenFile | StoredTokens  # of this machine's user, or of all nodes that share a store
