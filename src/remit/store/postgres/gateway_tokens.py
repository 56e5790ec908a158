"""Stores the tokens of gateways, as hashes."""

from collections.abc import Callable

from remit.store.database import Row
from remit.store.open_store import PATIENCE
from remit.store.postgres.postgres_database import PostgresDatabase
from remit.store.postgres.table_rights import RUNTIME


class SqlTokens:
    """The tokens in a store that several nodes share, on a connection of its own."""

    def __init__(self, address: str, *, role: str = RUNTIME) -> None:
        self._database = PostgresDatabase(address, patience=PATIENCE, role=role)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def follow(self, tell: Callable[[], object]) -> None:
        """Call a function from another thread after each change, and know the revision, until closed."""
        self._database.follow(tell)

    def revision(self) -> int:
        """Return a number that changes with the tokens."""
        return self._database.revision_of("tokens")

    def known_revision(self) -> int | None:
        """Return the same if it is known without asking; else None."""
        return self._database.known_revision_of("tokens")

    def all(self) -> list[Row]:
        """List name, hash, projects, agents, time and role of every token."""
        return self._database.rows("tokens")

    def add(self, name: str, digest: str, *, projects: str, agents: str, role: str, at: int) -> bool:
        """Add a token; False if its name is taken."""
        given = {"projects": projects, "agents": agents, "role": role, "at": at}
        return bool(self._database.rows("add_token", name=name, digest=digest, **given))

    def revoke(self, name: str) -> bool:
        """Remove a token; False if there is none of this name."""
        return bool(self._database.rows("revoke_token", name=name))
