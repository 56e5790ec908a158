"""Stores the keys that seal the ids of sessions, and which sessions cannot move."""

from remit.store.database import Row
from remit.store.open_store import PATIENCE
from remit.store.postgres.postgres_database import PostgresDatabase


class SqlSessionKeys:
    """The sessions of older clients in a store that several nodes share, on a connection of its own."""

    def __init__(self, address: str) -> None:
        self._database = PostgresDatabase(address, patience=PATIENCE)
        self._database.follow(lambda: None)  # so that nothing waits for a database that is known to be down

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def all_keys(self) -> list[Row]:
        """List id, key and time of every key, newest first."""
        return self._database.rows("session_keys")

    def add_key(self, id: str, key: str, *, at: int, since: int) -> None:
        """Add a key, unless there is one that was made since a time."""
        self._database.run("add_session_key", id=id, key=key, at=at, since=since)

    def drop(self, *, before: int) -> None:
        """Remove the keys and the bound sessions of an earlier time."""
        self._database.run("drop_session_keys", before=before)
        self._database.run("drop_bound_sessions", before=before)

    def bind(self, digest: str, at: int) -> None:
        """Note that a session cannot move."""
        self._database.run("bind_session", digest=digest, at=at)

    def is_bound(self, digest: str) -> bool:
        """Return whether a session cannot move."""
        return bool(self._database.rows("bound_session", digest=digest))
