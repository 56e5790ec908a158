"""An SQLite file as a database: created on opening, with its errors in our words."""

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from remit.decision import Workspace
from remit.errors import StoreCorruptError, StoreTooNewError, StoreUnavailableError
from remit.store.database import SQL, NamedQueries, Row, Value, read_sql, storable

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x52656D69
_QUERIES = NamedQueries([SQL])
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_LONG_LOG = 1_000_000  # bytes; the next process to open the file reads the whole log
_MOVE_AWAY = "move the file away and run `remit`: the tools are found again, usage starts from zero"


class SqliteDatabase:
    """A connection to a database in a file."""

    is_shared = False

    def __init__(self, path: str, *, patience: float = 30.0, durable: bool = False) -> None:
        self.place = path
        self._patience = patience
        self._reader: Any = None
        self._reading = threading.Lock()
        with self._translated_errors():
            if path != ":memory:":
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                os.close(os.open(path, os.O_RDONLY | os.O_CREAT, mode=0o600))
            self._connection: Any = apsw.Connection(path)  # the driver is only partly typed
            try:
                self._prepare(durable=durable)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the connection; while its log is short, the checkpoint is left to another process."""
        for connection in filter(None, (self._reader, self._connection)):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, self._is_log_short())
            connection.close()

    def rows(self, query: str, /, **values: Value) -> list[Row]:
        """Run a named query and return its rows."""
        with self._translated_errors():
            return self._connection.execute(_QUERIES[query], _bound(values)).fetchall()

    def run_each(self, query: str, values: Iterable[Mapping[str, Value]], /) -> None:
        """Run a named query once for each set of values."""
        with self._translated_errors():
            self._connection.executemany(_QUERIES[query], map(_bound, values))

    @contextmanager
    def transaction(self, *, changes: str | None = None) -> Generator[None]:
        """Run several queries atomically, blocking other writers."""
        with self._translated_errors():
            self._connection.execute("begin immediate")
            try:
                yield
                if changes is not None:
                    self.rows("raise_revision", part=changes)
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def revision(self, part: str = "catalog") -> int:
        """Return a number that changes with a part of the data, on a read connection of its own."""
        if self.place == ":memory:":
            return self.rows("revision", part=part)[0][0]
        with self._reading, self._translated_errors():
            if self._reader is None:
                self._reader = apsw.Connection(self.place, flags=apsw.SQLITE_OPEN_READONLY)
                self._reader.set_busy_handler(_BusyHandler(self._patience))
            return self._reader.execute(_QUERIES["revision"], {"part": part}).fetchall()[0][0]

    def follow(self, changed: Callable[[], object]) -> list[str]:
        """Return the write-ahead log, where all writes go first."""
        del changed
        return [f"{self.place}-wal"]

    def enable_vectors(self) -> bool:
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

    def erase(self) -> None:
        """Copy the write-ahead log into the database file and empty it, so neither contains erased data."""
        with self._translated_errors():
            self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def locate(self, name: str) -> Workspace | None:
        """Return None: every project of a file has a directory."""
        del name

    def document(self, path: str) -> str | None:
        """Return None: every project of a file has files."""
        del path

    def _is_log_short(self) -> bool:
        try:
            return os.stat(f"{self.place}-wal").st_size < _LONG_LOG
        except OSError:
            return False

    def _prepare(self, *, durable: bool) -> None:
        self._connection.set_busy_handler(_BusyHandler(self._patience))
        version = self._connection.pragma("user_version")
        is_new = version == 0 and not self._connection.execute("select 1 from sqlite_schema").fetchall()
        if not is_new and self._connection.pragma("application_id") != _APPLICATION_ID:
            raise StoreCorruptError(
                f"`{self.place}` is another program's database", hint="set REMIT_HOME to another directory"
            )
        if version > SCHEMA_VERSION:
            raise StoreTooNewError(
                f"`{self.place}` was created by a newer Remit (schema {version}; this one knows"
                f" {SCHEMA_VERSION})",
                hint="upgrade Remit, or set REMIT_HOME to another directory",
            )
        # Large statements would keep pages in another directory.
        self._connection.execute("pragma temp_store = memory").fetchall()
        if is_new:
            _retry_while_busy(lambda: self._connection.execute("pragma journal_mode = wal").fetchall())
        self._connection.execute(
            f"pragma synchronous = {'full' if durable else 'normal'};"
            " pragma foreign_keys = on; pragma secure_delete = on"
        ).fetchall()
        if is_new:
            with self.transaction():
                if not self._connection.execute("select 1 from sqlite_schema").fetchall():
                    self._connection.execute(read_sql(os.path.join(SQL, "schema.sql")))

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
                f"`{self.place}` has been locked by another process for more than {self._patience:g} s",
                hint="end the process that holds it, then try again",
            ) from error
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


def _bound(values: Mapping[str, Value]) -> dict[str, Value]:
    return {name: storable(value) if isinstance(value, str) else value for name, value in values.items()}


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


def _retry_while_busy(step: Callable[[], object]) -> None:
    """Repeat a step that bypasses SQLite's busy handler."""
    wait, attempt = _BusyHandler(30.0), 0
    while True:
        try:
            step()
            return
        except apsw.BusyError:
            if not wait(attempt):
                raise
            attempt += 1


def _vector_extension() -> str | None:
    """Return the path of sqlite-vec without importing the package, which would import another driver.

    Returns None if it is not installed, because SQLite would search the working directory for a bare name.
    """
    from importlib.util import find_spec  # most commands compare no vectors

    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None
    return os.path.join(os.path.dirname(spec.origin), "vec0")
