"""A connection to the SQLite database, which migrates it on opening and translates its errors.

Hook processes import this module, so it needs only the driver and a few standard library modules.
"""

import os
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from remit.errors import StoreCorruptError, StoreTimeoutError, StoreTooNewError, StoreUnavailableError
from remit.store.database import SQL, NamedQueries, Row, Value, read_sql
from remit.store.open_store import PATIENCE

SCHEMA_VERSION = 18
APPLICATION_ID = 0x52656D69
_STEPS = 1_000  # SQLite VM instructions between two checks of the time limit

_SETTLED_NS = 50_000_000  # a younger file may be written again without a new time
_COARSE_NS = 10_000_000  # some file systems only have multiples of it
_LogStamp = tuple[int, int, int]

_MIGRATIONS = os.path.join(SQL, "sqlite", "migrations")
_QUERIES = NamedQueries([SQL])
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_MOVE_AWAY = "move the file away and run `remit scan`: the tools are found again, usage starts from zero"


class SqliteDatabase:
    """A connection to Remit's database in a file."""

    has_full_text_index = True
    is_append_only = False
    is_shared = False

    def __init__(self, path: str, *, busy_timeout: float = PATIENCE) -> None:
        self.place = path
        self._busy_timeout = busy_timeout  # seconds
        self._log = os.fsencode(f"{path}-wal")
        self._known_at: _LogStamp | None = None
        self._known_revision = 0
        with self._translated_errors():
            if path != ":memory:":
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                os.close(os.open(path, os.O_RDONLY | os.O_CREAT, mode=0o600))
            self._connection: Any = apsw.Connection(path)  # the driver is only partly typed
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def close(self, *, quickly: bool = False) -> None:
        """Close the connection; a short-lived process leaves the checkpoint to a later one."""
        if quickly:
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close()

    @contextmanager
    def administrator(self) -> Generator["SqliteDatabase"]:
        """Return this connection: whoever can open the file may write everything."""
        yield self

    def run(self, query: str, /, **values: Value) -> None:
        """Run a named query without returning its rows."""
        self.rows(query, **values)

    def run_each(self, query: str, /, values: Iterable[Mapping[str, Value]]) -> None:
        """Run a named query once for each set of values."""
        with self._translated_errors():
            self._connection.executemany(_QUERIES[query], values)

    def rows(self, query: str, /, **values: Value) -> list[Row]:
        """Run a named query and return its rows."""
        with self._translated_errors():
            return self._connection.execute(_QUERIES[query], values).fetchall()

    def revision(self) -> int:
        """Return a number that changes whenever another connection writes."""
        with self._translated_errors():
            return self._number("data_version")

    def catalog_revision(self) -> int:
        """Return a number that changes with the data of catalogs, whichever process writes it."""
        return self.rows("catalog_revision")[0][0]

    def known_catalog_revision(self) -> int:
        """Return the same; while nobody writes, without a query."""
        stamp = _log_stamp(self._log)
        if stamp is None or stamp != self._known_at:
            is_settled = stamp is not None and time.time_ns() - stamp[0] > _SETTLED_NS
            self._known_revision = self.catalog_revision()
            self._known_at = stamp if is_settled else None
        return self._known_revision

    def follow(self, tell: Callable[[], object]) -> None:
        """Do nothing: `files` shows every change."""

    def listen(self) -> bool:
        """Return False: there is no server, and asking takes microseconds."""
        return False

    def can_compare(self) -> bool:
        """Load sqlite-vec; False if it is not available."""
        extension = _vector_extension()
        if extension is None:
            return False
        try:
            self._connection.enable_load_extension(True)
            self._connection.load_extension(extension)
        except apsw.Error:
            return False
        finally:
            self._connection.enable_load_extension(False)
        return True

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Run several queries atomically, blocking other writers."""
        with self._translated_errors():
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    @contextmanager
    def claimed(self, work: str, ids: Collection[int]) -> Generator[Collection[int]]:  # noqa: ARG002
        """Claim pieces of work: all, because the processes of one machine may repeat some."""
        yield ids

    @contextmanager
    def time_limit(self, seconds: float) -> Generator[None]:
        """Limit the time of the queries inside.

        Raises:
            StoreTimeoutError: the queries took too long.
        """
        deadline = time.monotonic() + seconds
        self._connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        try:
            yield
        finally:
            self._connection.set_progress_handler(None)

    def enable_full_sync(self) -> None:
        """Flush every transaction to disk before it counts as committed."""
        with self._translated_errors():
            self._connection.execute("pragma synchronous = full").fetchall()

    def files(self) -> list[str]:
        """List the files that change whenever any process writes; writes go to the write-ahead log first."""
        return [os.fsdecode(self._log)]

    def erase(self) -> None:
        """Copy the write-ahead log into the database file and empty it, so neither contains erased data."""
        with self._translated_errors():
            self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def _prepare(self) -> None:
        self._connection.set_busy_handler(_BusyHandler(self._busy_timeout))
        version = self._number("user_version")
        self._check_application_id(version)
        if version > SCHEMA_VERSION:
            raise StoreTooNewError(
                f"`{self.place}` was created by a newer Remit (schema {version}, this knows "
                f"{SCHEMA_VERSION})",
                hint="upgrade Remit, or set REMIT_HOME to another directory",
            )
        # Large statements would keep pages in another directory.
        self._connection.execute("pragma temp_store = memory").fetchall()
        if version < SCHEMA_VERSION:
            _retry_while_busy(lambda: self._connection.execute("pragma journal_mode = wal").fetchall())
        self._connection.execute(
            "pragma synchronous = normal; pragma foreign_keys = on; pragma secure_delete = on"
        ).fetchall()
        if version < SCHEMA_VERSION:
            self._migrate()

    def _check_application_id(self, version: int) -> None:
        is_new = version == 0 and self._is_empty()
        if not is_new and self._number("application_id") != APPLICATION_ID:
            raise StoreCorruptError(
                f"`{self.place}` is another program's database", hint="set REMIT_HOME to another directory"
            )

    def _migrate(self) -> None:
        with self.transaction():
            if self._is_empty():
                self._connection.execute(read_sql(os.path.join(_MIGRATIONS, "schema.sql")))
        for number, script in _migrations(after=self._number("user_version")):
            with self.transaction():
                if self._number("user_version") < number:  # another process may have migrated it meanwhile
                    self._connection.execute(f"{script}; pragma user_version = {number}")

    def _is_empty(self) -> bool:
        return not self._connection.execute("select 1 from sqlite_schema").fetchall()

    def _number(self, pragma: str) -> int:
        return self._connection.pragma(pragma)

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        try:
            yield
        except _DAMAGED as error:
            raise StoreCorruptError(
                f"`{self.place}` is damaged or not a database", hint=_MOVE_AWAY
            ) from error
        except apsw.BusyError as error:
            raise StoreUnavailableError(
                f"`{self.place}` has been locked by another process for more than {self._busy_timeout:g} s",
                hint="end the process that holds it, then try again",
            ) from error
        except apsw.InterruptError as error:
            raise StoreTimeoutError(f"`{self.place}` took too long to answer") from error
        except apsw.ConnectionClosedError as error:
            raise StoreUnavailableError(
                f"`{self.place}` is closed", hint="use a registry inside its `with` block, before `close`"
            ) from error
        except apsw.ConstraintError:
            raise  # a bug, not an environment failure
        except (apsw.Error, OSError) as error:
            raise StoreUnavailableError(
                f"`{self.place}` cannot be used: {error}",
                hint="check that the directory exists and is writable, or set REMIT_HOME to another one",
            ) from error


class _BusyHandler:
    """Waits for other processes in short steps, so interrupts are handled."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = 0.0

    def __call__(self, attempt: int) -> bool:
        if attempt == 0:
            self._deadline = time.monotonic() + self._seconds
        time.sleep(min(0.001 * 2**attempt, 0.05))
        return time.monotonic() < self._deadline


def _log_stamp(log: bytes) -> _LogStamp | None:
    """Return what every write to the write-ahead log changes; None if the system does not tell in time.

    Windows updates the time of an open file late.
    """
    if os.name == "nt":
        return None
    try:
        found = os.stat(log)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found.st_mtime_ns % _COARSE_NS else None


def _retry_while_busy(step: Callable[[], object]) -> None:
    """Repeat a step that bypasses SQLite's busy handler."""
    wait, attempt = _BusyHandler(PATIENCE), 0
    while True:
        try:
            step()
            return
        except apsw.BusyError:
            if not wait(attempt):
                raise
            attempt += 1


def _migrations(after: int) -> list[tuple[int, str]]:
    """List the migrations that come after a version of the schema."""
    numbers = {int(name[:4]): name for name in sorted(os.listdir(_MIGRATIONS)) if name[:4].isdecimal()}
    paths = {number: os.path.join(_MIGRATIONS, name) for number, name in numbers.items() if number > after}
    return [(number, read_sql(path)) for number, path in paths.items()]


def _vector_extension() -> str | None:
    """Return the path of sqlite-vec without importing the package, which would import another driver.

    Returns None if it is not installed, because SQLite would search the working directory for a bare name.
    """
    from importlib.util import find_spec  # most commands compare no vectors

    found = find_spec("sqlite_vec")
    if found is None or found.origin is None:
        return None
    return os.path.join(os.path.dirname(found.origin), "vec0")
