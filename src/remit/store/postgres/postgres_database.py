"""A connection to a PostgreSQL database, whose rows are limited to a scope by row-level security too.

Each statement runs in a transaction that first tells the database the scope, from the same parameters as its
query. Inside `transaction`, a scope holds until another query names one.
"""

import os
import re
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import Any, cast

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo

from remit.errors import (
    StoreError,
    StoreRefusedError,
    StoreRightsError,
    StoreTimeoutError,
    StoreUnavailableError,
    StoreUnreachableError,
)
from remit.store.database import SQL, NamedQueries, Row, Value
from remit.store.postgres import pgvector_adapter, postgres_schema, revision_listener
from remit.store.postgres.answering_connection import AnsweringConnection
from remit.store.postgres.postgres_address import CONNECT_SECONDS, connection_parameters, shown
from remit.store.postgres.revision_listener import KnownRevisions
from remit.store.postgres.table_rights import ADMIN, RUNTIME
from remit.store.postgres.word_postings import as_array

_WRITES = re.compile(r"\b(insert|update|delete)\b")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")
_HINT = re.compile(r" indexed by \w+")  # SQLite's planner needs it
_EVERY = "every project"  # the mark of a query that reads the rows of all projects
_EVERY_UNLESS = "every project unless one is given"
_REFUSALS = (errors.ProgramLimitExceeded, errors.StatementTooComplex, psycopg.DataError)
_SILENCE = 60.0  # seconds without an answer, besides those that a query may wait for other writers
_LIMITS = ("statement_timeout", "idle_in_transaction_session_timeout")  # for a process that hangs or is gone
# A user of the database can give itself other defaults.
_NO_SCOPE = dict.fromkeys(
    ("remit.everything", "remit.project", "remit.memory", "remit.reach", "remit.principal"), ""
)
_MEMORY = "memory_"  # its queries name a project of memory, not a repository
_LOCKING = ("remit.project", "remit.memory")  # scopes whose transactions wait for each other
_SHARED = "memory_root"  # every save reads the global home, so this must not wait for other projects


def translate(query: str) -> str:
    """Write a query with the parameters of psycopg."""
    return _PARAMETER.sub(r"%(\1)s", _HINT.sub("", query).replace("%", "%%"))


FOLDERS = (SQL, os.path.join(SQL, "postgres"))
QUERIES = NamedQueries(FOLDERS, translate)


class PostgresDatabase:
    """A connection to Remit's database in PostgreSQL, opened again after it was lost; threads take turns."""

    has_full_text_index = False  # its own knows no rarity of words: see `word_postings`
    is_append_only = True
    is_shared = True

    def __init__(
        self, address: str, *, patience: float, role: str = RUNTIME, admin: str | None = None
    ) -> None:
        self.place = shown(address)
        self._address = address
        self._role = role
        self._admin = admin or address
        self._patience = patience
        self._scope: dict[str, str] = {}  # settings of the transaction
        self._locked: frozenset[str] = frozenset()  # the projects whose writers wait for the transaction
        self._seconds: float | None = None
        self._turn = threading.RLock()  # a second thread would nest in the transaction of the first
        self._depth = 0
        self._tell: Callable[[], object] | None = None
        self._revisions = KnownRevisions(lambda: self.rows("revisions"))
        self._is_closed = False
        with self._translated_errors():
            self._connection = self._connect()

    def close(self, *, quickly: bool = False) -> None:  # noqa: ARG002 - SQLite needs it
        """Close the connection, and stop following changes."""
        if self._tell is not None:
            revision_listener.leave(self._address, self._tell)
            self._tell = self._revisions.listener = None
        self._is_closed = True
        self._connection.close()

    def follow(self, tell: Callable[[], object]) -> None:
        """Call a function from another thread after each change, until closed.

        From now on, the revisions are known without asking, and stay known while the database is down.
        """
        before, self._tell = self._tell, tell
        self._revisions.listener = revision_listener.follow(
            self._address, self._connect, _read_revisions, merge_revisions, tell
        )
        if before is not None:
            revision_listener.leave(self._address, before)
        self._connection.is_down = self._is_down

    def listen(self) -> bool:
        """Know the revisions without asking from now on, if they are not known already."""
        if self._tell is None:
            self.follow(lambda: None)
        return True

    def is_reachable(self) -> bool:
        """Return whether the database answers, as far as is known without asking."""
        listener = self._revisions.listener
        return not self._is_closed and (listener is None or not listener.is_down)

    @contextmanager
    def administrator(self) -> Generator["PostgresDatabase"]:
        """Connect as an administrator for a moment, to write what gateways may only read.

        Raises:
            StoreRightsError: the address of administrators, or this one without it, does not have that role.
        """
        opened = PostgresDatabase(self._admin, patience=self._patience, role=ADMIN)
        try:
            yield opened
        finally:
            opened.close()
            self._revisions.has_written = True  # as far as this connection's readers are concerned

    def run(self, query: str, /, **values: Value) -> None:
        """Run a named query without returning its rows."""
        with self._statement(query, values) as cursor:
            cursor.execute(_sql(query), _adapted(values))

    def run_each(self, query: str, /, values: Iterable[Mapping[str, Value]]) -> None:
        """Run a named query once for each set of values."""
        rows = [_adapted(each) for each in values]
        if rows:
            with self._statement(query, rows[0]) as cursor:
                cursor.executemany(_sql(query), rows)

    def rows(self, query: str, /, **values: Value) -> list[Row]:
        """Run a named query and return its rows."""
        with self._statement(query, values) as cursor:
            return cast("list[Row]", cursor.execute(_sql(query), _adapted(values)).fetchall())

    def revision(self) -> int:
        """Return a number that changes when another connection writes the catalog, a state or an approval."""
        return self._revisions.of_others()

    def catalog_revision(self) -> int:
        """Return a number that changes with the data of catalogs."""
        return self.revision_of("catalog")

    def known_catalog_revision(self) -> int | None:
        """Return the same if it is known without asking; else None."""
        return self.known_revision_of("catalog")

    def known_revision_of(self, part: str) -> int | None:
        """Return a number that changes with a part of the store, if it is known without asking; else None."""
        return None if self._revisions.must_ask() else self.revision_of(part)

    def revision_of(self, part: str) -> int:
        """Return a number that changes with a part of the store."""
        return self._revisions.by_part().get(part, 0)

    def files(self) -> list[str]:
        """List the files that change whenever any process writes: none, PostgreSQL notifies instead."""
        return []

    def can_compare(self) -> bool:
        """Return whether vectors can be compared: always, with pgvector."""
        return True

    def erase(self) -> None:
        """Leave deleted rows to the vacuum of the database."""

    def enable_full_sync(self) -> None:
        """Do nothing: PostgreSQL flushes every transaction."""

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Run several queries atomically; transactions of one project wait for each other."""
        with self._turn, self._translated_errors(), self._begun():
            before = self._scope, self._locked
            self._depth += 1
            try:
                yield
            except BaseException:
                self._scope, self._locked = before  # a savepoint takes its settings and locks back
                raise
            finally:
                self._depth -= 1
                if not self._depth:
                    self._scope, self._locked = {}, frozenset()

    @contextmanager
    def claimed(self, work: str, ids: Collection[int]) -> Generator[Collection[int]]:
        """Claim pieces of work, except those of other nodes, until the block or this process ends.

        A claim is an advisory lock of this connection: nobody waits for it.
        """
        if not ids:
            yield ids
            return
        found = {id for (id,) in self.rows("claim_work", work=work, ids=as_array(ids))}
        try:
            yield found
        finally:
            with suppress(StoreError):  # the claims of a lost connection are gone
                self.run("release_work", work=work, ids=as_array(found))

    @contextmanager
    def time_limit(self, seconds: float) -> Generator[None]:
        """Limit the time of the queries inside.

        Raises:
            StoreTimeoutError: a query took too long.
        """
        self._seconds = seconds
        try:
            yield
        finally:
            self._seconds = None

    @contextmanager
    def _statement(self, query: str, values: Mapping[str, Value]) -> Generator[psycopg.Cursor[Any]]:
        """Open a cursor in the scope of a query."""
        wanted = _settings(query, values)
        if self._seconds is not None:
            wanted["statement_timeout"] = str(max(1, int(self._seconds * 1000)))
        with self._turn, self._translated_errors():
            self._revisions.has_written |= _writes(query)
            if self._depth:
                cursor = self._scoped_cursor({**self._scope, "remit.everything": "", **wanted})
                self._lock(cursor, query, wanted)
                yield cursor
                return
            with self._begun():
                try:
                    yield self._scoped_cursor(wanted)
                finally:
                    self._scope = {}

    @contextmanager
    def _begun(self) -> Generator[None]:
        """Begin a transaction, on a new connection if the server closed the old one meanwhile."""
        with ExitStack() as ending:
            if not self._depth:
                self._reconnect()
            try:
                ending.enter_context(self._connection.transaction())
            except psycopg.OperationalError:
                if self._depth or not self._connection.closed:
                    raise
                self._reconnect()
                ending.enter_context(self._connection.transaction())
            yield

    def _is_down(self) -> bool:
        return not self.is_reachable()

    def _scoped_cursor(self, wanted: Mapping[str, str]) -> psycopg.Cursor[Any]:
        cursor = self._connection.cursor()
        changed = {name: text for name, text in wanted.items() if self._scope.get(name, "") != text}
        if changed:
            cursor.execute(_setting(changed, is_local=True))
        self._scope = dict(wanted)
        return cursor

    def _lock(self, cursor: psycopg.Cursor[Any], query: str, wanted: Mapping[str, str]) -> None:
        """Wait for the other writers of a project, or of its memory, until the transaction ends."""
        if query == _SHARED:
            return
        for name in _LOCKING:
            key = wanted.get(name)
            if key is not None and key not in self._locked:
                cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
                self._locked |= {key}

    def _reconnect(self) -> None:
        if not self.is_reachable():  # do not wait for a timeout that another connection waits for already
            raise psycopg.OperationalError("the database is down")
        if self._connection.closed:
            self._revisions.forget()
            self._connection = self._connect()
            self._connection.is_down = self._is_down

    def _connect(self) -> AnsweringConnection:
        connection = AnsweringConnection.connect(
            make_conninfo("", **connection_parameters(self._address)), autocommit=True
        )
        connection.longest_silence = CONNECT_SECONDS
        try:
            postgres_schema.prepare(connection, self.place, self._role)
            pgvector_adapter.register(connection)
            limits = {"lock_timeout": self._patience, **dict.fromkeys(_LIMITS, self._patience + _SILENCE)}
            chosen = {name: str(max(1, int(seconds * 1000))) for name, seconds in limits.items()}
            connection.execute(_setting({**_NO_SCOPE, **chosen}, is_local=False))
            connection.longest_silence = self._patience + _SILENCE
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        try:
            yield
        except errors.QueryCanceled as error:
            raise StoreTimeoutError(f"`{self.place}` took too long to answer") from error
        except errors.LockNotAvailable as error:
            raise StoreUnavailableError(
                f"`{self.place}` has been locked by another process for more than {self._patience:g} s",
                hint="end the process that holds it, then try again",
            ) from error
        except _REFUSALS as error:  # it would be refused again, so nothing may wait for it
            raise StoreRefusedError(
                f"the database does not accept a value: {_first_line(error)}",
                hint="shorten the longest value, then try again",
            ) from error
        except errors.InsufficientPrivilege as error:
            raise StoreRightsError(
                f"the user of `{self.place}` may not do this: {_first_line(error)}",
                hint="run `remit store check`; administrators need the role `remit_admin`",
            ) from error
        except psycopg.OperationalError as error:
            raise StoreUnreachableError(
                f"`{self.place}` cannot be used: {_first_line(error)}",
                hint="check that the database runs, and its address, user and password",
            ) from error
        except psycopg.IntegrityError:
            raise  # a bug, not an environment failure
        except psycopg.Error as error:
            raise StoreUnavailableError(
                f"`{self.place}` cannot be used: {_first_line(error)}", hint="run `remit store check`"
            ) from error


def _settings(query: str, values: Mapping[str, Value]) -> dict[str, str]:
    """Return the settings that row-level security reads, from the parameters of a query."""
    mark, project = QUERIES.mark(query), values.get("project")
    if mark == _EVERY or (mark == _EVERY_UNLESS and project is None):
        return {"remit.everything": "on"}
    wanted: dict[str, str] = {}
    if project is not None:
        is_memory = query.startswith(_MEMORY)
        wanted["remit.memory" if is_memory else "remit.project"] = (
            f"p:{project}" if is_memory else str(project)
        )
    if values.get("principal") is not None and query.endswith("_credential"):
        wanted["remit.principal"] = str(values["principal"])
    if values.get("reach") is not None:
        wanted["remit.reach"] = str(values["reach"])
    return wanted


def _setting(wanted: Mapping[str, str], *, is_local: bool) -> sql.Composed:
    """Return the statement that sets settings, for the transaction or for the connection."""
    calls = (sql.SQL("set_config({}, {}, {})").format(name, text, is_local) for name, text in wanted.items())
    return sql.SQL("select {}").format(sql.SQL(", ").join(calls))


def _read_revisions(connection: "psycopg.Connection[Any]") -> dict[str, int]:
    return {part: number for part, number, _ in connection.execute(_sql("revisions")).fetchall()}


def merge_revisions(connection: "psycopg.Connection[Any]") -> None:
    """Merge the numbers of connections that have ended into one row; their sums stay."""
    connection.execute(_sql("merge_revisions"))


@cache
def _writes(query: str) -> bool:
    return _WRITES.search(QUERIES[query]) is not None


def _sql(query: str) -> Any:
    return QUERIES[query]


def _adapted(values: Mapping[str, Value]) -> dict[str, Value]:
    """Replace what PostgreSQL cannot store: truth in columns of numbers, and the character NUL."""
    return {name: _storable(value) for name, value in values.items()}


def _storable(value: Value) -> Value:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and "\0" in value:
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return value


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
