"""Locks of servers as advisory locks in PostgreSQL, for all gateways that share the store.

They belong to a connection of their own, which nothing else uses and nothing recycles. PostgreSQL releases
them when that connection ends, however it ends. The holder asks every second whether it still holds them:
after a restart of the database, or behind a pooler that shares connections, it does not. It notices before
PostgreSQL gives up on a host that is gone.
"""

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import RLock, Thread
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from remit.errors import StoreUnreachableError
from remit.store.postgres.answering_connection import AnsweringConnection
from remit.store.postgres.postgres_address import CONNECT_SECONDS, connection_parameters, shown
from remit.store.postgres.postgres_database import QUERIES
from remit.store.postgres.table_rights import RUNTIME

BEAT = 1.0  # seconds between two proofs
SILENCE = 4.0  # seconds without an answer after which a holder counts its locks as lost
# Seconds, and a number of probes, after which PostgreSQL gives up on a host: later than its gateway noticed.
_KEEPALIVES = {"tcp_keepalives_idle": "6", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}


class PostgresServerLocks:
    """The locks that this process holds, on a connection that is open while it holds any."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._guard = RLock()
        self._connection: AnsweringConnection | None = None
        self._held: dict[str, tuple[int, Callable[[], object]]] = {}  # keys, and whom to tell
        self._woken, self._wake = socket.socketpair()
        self._thread: Thread | None = None

    def take(self, name: str, lost: Callable[[], object]) -> bool:
        """Take a lock, unless it is held; call `lost` from another thread when it can no longer be proven.

        Raises:
            StoreUnreachableError: the database cannot be reached.
        """
        with self._guard:
            if name in self._held:
                return False
            try:
                key, is_taken = self._opened().execute(_sql("take_lock"), {"name": name}).fetchall()[0]
            except (psycopg.Error, OSError) as error:
                self._lose_all()
                raise StoreUnreachableError(f"`{shown(self._address)}` cannot be used: {error}") from error
            if is_taken:
                self._held[name] = key, lost
                self._watch()
            else:
                self._close_unused()
            return is_taken

    def release(self, name: str) -> None:
        """Let others take a lock."""
        with self._guard:
            key, _ = self._held.pop(name, (None, None))
            if key is not None and self._connection is not None:
                with suppress(psycopg.Error):
                    self._connection.execute(_sql("release_lock"), {"key": key})
            self._close_unused()

    def close(self) -> None:
        """Release all, and end the thread."""
        with self._guard:
            self._held.clear()
            self._close_unused()
            thread = self._thread
        if thread is not None:
            thread.join()
        self._woken.close()
        self._wake.close()

    def _opened(self) -> AnsweringConnection:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        made = AnsweringConnection.connect(
            make_conninfo("", **connection_parameters(self._address)), autocommit=True
        )
        made.longest_silence = min(SILENCE, CONNECT_SECONDS)
        try:
            made.execute(sql.SQL("set role {}").format(sql.Identifier(RUNTIME)))
            for name, value in _KEEPALIVES.items():
                made.execute("select set_config(%s, %s, false)", [name, value])
        except BaseException:
            made.close()
            raise
        self._connection = made
        return made

    def _close_unused(self) -> None:
        if not self._held and self._connection is not None:
            self._connection.close()
            self._connection = None
            self._wake.send(b"\0")

    def _watch(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name="remit-server-locks", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        """Prove the locks again and again, and at once when the connection ends."""
        while True:
            with self._guard:
                if not self._held:
                    self._thread = None
                    return
                self._prove()
                connection = self._connection
            if connection is not None:
                with suppress(psycopg.Error, OSError, ValueError):  # it was closed meanwhile
                    ready, _, _ = select.select([connection.fileno(), self._woken], [], [], BEAT)
                    if self._woken in ready:
                        self._woken.recv(1)

    def _prove(self) -> None:
        """Ask which locks are held, and tell the holders of the others."""
        try:
            found = self._opened_before().execute(_sql("held_locks")).fetchall()
        except (psycopg.Error, OSError):
            self._lose_all()
            return
        own = {key for (key,) in found}
        for name in [name for name, (key, _) in self._held.items() if key not in own]:
            self._lose(name)
        self._close_unused()

    def _opened_before(self) -> AnsweringConnection:
        if self._connection is None:
            raise psycopg.OperationalError("the connection is closed")
        return self._connection

    def _lose_all(self) -> None:
        for name in [*self._held]:
            self._lose(name)
        self._close_unused()

    def _lose(self, name: str) -> None:
        _, lost = self._held.pop(name)
        with suppress(RuntimeError):  # its event loop has ended
            lost()


def _sql(query: str) -> Any:
    return QUERIES[query]
