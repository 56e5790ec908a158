"""Listens for changes that other nodes make, on a connection of its own, and keeps the revisions in memory.

PostgreSQL notifies once per transaction that changes a part of the store: the catalog, states, approvals. A
slow poll finds what a lost notification would have told. A connection asks again after it wrote itself.
"""

import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import psycopg

from remit.errors import RemitError, StoreUnavailableError
from remit.store.postgres.answering_connection import AnsweringConnection

CHANNEL = "remit"
POLL = 3.0  # seconds between two reads of the revisions while nothing is notified
SILENCE = 4.0  # seconds without an answer after which the database counts as down
_MERGE = 60.0  # seconds between two merges of what ended connections wrote
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0  # seconds before the next attempt to connect
_log = logging.getLogger("remit.store")

Connect = Callable[[], AnsweringConnection]
ReadRevisions = Callable[[psycopg.Connection[Any]], Mapping[str, int]]  # by parts of the store
MergeRevisions = Callable[[psycopg.Connection[Any]], object]
Tell = Callable[[], object]  # called from the listener's thread
Ask = Callable[[], Iterable[tuple[Any, ...]]]  # part, number, and what this connection added to it


class RevisionListener:
    """The latest revisions of one database, kept up to date by a thread while anyone follows them."""

    def __init__(self, connect: Connect, read: ReadRevisions, merge: MergeRevisions) -> None:
        self._connect = connect
        self._read_revisions = read
        self._merge_revisions = merge
        self._merge_at = 0.0
        self._followers: list[Tell] = []
        self._is_stopped = threading.Event()
        self._woken, self._wake = socket.socketpair()
        self.numbers: Mapping[str, int] | None = None  # replaced as a whole; None: not read yet
        self.seconds: float | None = None  # that the last read took
        self.is_live = False  # connected, so that `numbers` are current
        self.is_down = False  # the last attempt to connect failed
        self._thread = threading.Thread(target=self._run, name="remit-revisions", daemon=True)
        self._thread.start()

    def add(self, tell: Tell) -> None:
        """Tell a follower about each change from now on."""
        self._followers = [*self._followers, tell]

    def remove(self, tell: Tell) -> bool:
        """Stop telling a follower; return whether any is left."""
        self._followers = [each for each in self._followers if each is not tell]
        return bool(self._followers)

    def stop(self) -> None:
        """Close the connection and end the thread."""
        self._is_stopped.set()
        self._wake.send(b"\0")
        self._thread.join()
        self._woken.close()
        self._wake.close()

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._is_stopped.is_set():
            try:
                with self._connect() as connection:
                    connection.longest_silence = SILENCE
                    connection.execute(f"listen {CHANNEL}")
                    self._read(connection)
                    pause = _FIRST_PAUSE
                    self._follow(connection)
            except (psycopg.Error, RemitError, OSError) as error:
                self.is_live = False
                if not self.is_down:
                    _log.warning("the store cannot be reached: %s", str(error).partition("\n")[0])
                self.is_down = True
                self._is_stopped.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        self.is_live = False

    def _follow(self, connection: psycopg.Connection[Any]) -> None:
        """Read the revisions after each notification, and every few seconds."""
        while not self._is_stopped.is_set():
            select.select([connection.fileno(), self._woken], [], [], POLL)
            for _ in connection.notifies(timeout=0):
                pass
            self._merge(connection)
            self._read(connection)

    def _merge(self, connection: psycopg.Connection[Any]) -> None:
        """Merge the rows of connections that have ended, now and then: every hook leaves some."""
        if time.monotonic() >= self._merge_at:
            self._merge_at = time.monotonic() + _MERGE
            with suppress(psycopg.Error):  # a later merge finds them too
                self._merge_revisions(connection)

    def _read(self, connection: psycopg.Connection[Any]) -> None:
        began = time.perf_counter()
        found = self._read_revisions(connection)
        self.seconds = time.perf_counter() - began
        is_changed, was_live = found != self.numbers, self.is_live
        self.numbers, self.is_live, self.is_down = found, True, False
        if is_changed or not was_live:
            for tell in self._followers:
                with suppress(RuntimeError):  # its event loop has ended
                    tell()


_lock = threading.Lock()
_listeners: dict[str, RevisionListener] = {}  # by address: all connections of a process share one


def follow(
    address: str, connect: Connect, read: ReadRevisions, merge: MergeRevisions, tell: Tell
) -> RevisionListener:
    """Follow the revisions of a database until `leave`."""
    with _lock:
        if address not in _listeners:
            _listeners[address] = RevisionListener(connect, read, merge)
        _listeners[address].add(tell)
        return _listeners[address]


def listener_of(address: str) -> RevisionListener | None:
    """Return the listener of a database, if anyone follows it."""
    with _lock:
        return _listeners.get(address)


def leave(address: str, tell: Tell) -> None:
    """Stop following; the last follower ends the listener."""
    with _lock:
        listener = _listeners[address]
        if listener.remove(tell):
            return
        del _listeners[address]
    listener.stop()


class KnownRevisions:
    """The numbers of the store's parts, asked for only if nothing knows them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._asked: dict[str, int] = {}  # after the last change by this connection
        self._own: int | None = None  # what this connection added to them; None: not asked yet
        self.listener: RevisionListener | None = None
        self.has_written = False  # since they were asked for

    def forget(self) -> None:
        """Forget what was asked: after a new connection, it may be a restored database."""
        self._asked, self._own = {}, None

    def must_ask(self) -> bool:
        """Return whether only the database knows them."""
        known = self.listener
        if known is None or known.numbers is None:
            return True
        return self.has_written if known.is_live else not known.is_down

    def by_part(self) -> Mapping[str, int]:
        """Return them: those that the listener knows, unless this connection has written since."""
        known = None if self.listener is None else self.listener.numbers
        if known is None:
            return self._read()
        if self.must_ask():
            try:
                self._asked = self._read()
                self.has_written = False
            except StoreUnavailableError:  # the listener is about to notice
                pass
        asked = self._asked
        return {part: max(known.get(part, 0), asked.get(part, 0)) for part in {*known, *asked}}

    def of_others(self) -> int:
        """Return a number that changes when another connection writes."""
        numbers = self.by_part()
        if self._own is None:
            self._asked = self._read()
            numbers = self.by_part()
        return sum(numbers.values()) - (self._own or 0)

    def _read(self) -> dict[str, int]:
        found = [*self._ask()]
        self._own = sum(own for _, _, own in found)
        return {part: number for part, number, _ in found}
