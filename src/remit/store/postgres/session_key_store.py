"""Stores the keys that seal the ids of sessions, and which sessions cannot move or are over."""

import json
from collections.abc import Callable, Sequence

from remit.store.database import Row
from remit.store.open_store import PATIENCE
from remit.store.postgres.postgres_database import PostgresDatabase


class SqlSessionKeys:
    """The sessions of older clients in a store that several nodes share, on a connection of its own."""

    def __init__(self, address: str) -> None:
        self._database = PostgresDatabase(address, patience=PATIENCE)
        self._tell: Callable[[], object] = bool
        self._database.follow(
            lambda: self._tell()
        )  # also, so nothing waits for a database that is known to be down

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def follow(self, tell: Callable[[], object]) -> None:
        """Call a function from another thread after each change of the store, until closed."""
        self._tell = tell

    def revision(self) -> int:
        """Return a number that changes when a session ends."""
        return self._database.revision_of("sessions")

    def known_revision(self) -> int | None:
        """Return the same if it is known without asking; else None."""
        return self._database.known_revision_of("sessions")

    def all_keys(self) -> list[Row]:
        """List id, key and time of every key, newest first."""
        return self._database.rows("session_keys")

    def add_key(self, id: str, key: str, *, at: int, since: int) -> None:
        """Add a key, unless there is one that was made since a time."""
        self._database.run("add_session_key", id=id, key=key, at=at, since=since)

    def drop(self, *, before: int) -> None:
        """Remove the keys, and the bound and ended sessions, of an earlier time."""
        self._database.run("drop_session_keys", before=before)
        self._database.run("drop_bound_sessions", before=before)
        self._database.run("drop_ended_sessions", before=before)

    def bind(self, digest: str, at: int) -> None:
        """Note that a session cannot move."""
        self._database.run("bind_session", digest=digest, at=at)

    def is_fixed(self, digest: str) -> bool:
        """Return whether a session cannot move, or is over."""
        return bool(self._database.rows("fixed_session", digest=digest))

    def end(self, digest: str, at: int) -> bool:
        """Note that a session is over; False if it was."""
        return bool(self._database.rows("end_session", digest=digest, at=at))

    def ended(self, digests: Sequence[str]) -> list[str]:
        """Return those of some sessions that are over."""
        return [found for (found,) in self._database.rows("ended_sessions", digests=json.dumps([*digests]))]
