"""A connection to the SQLite database, which migrates it on opening and translates its errors.

Hook processes import this module, so it needs only the driver and a few standard library modules.
"""

import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import apsw

from remit.decision.projects import View, Workspace
from remit.decision.scopes import ancestors
from remit.errors import StoreCorruptError, StoreTimeoutError, StoreTooNewError, StoreUnavailableError

Value = str | int | bytes | None
Row = tuple[Any, ...]  # each caller knows the columns of its query

SCHEMA_VERSION = 14
APPLICATION_ID = 0x52656D69
BUSY_SECONDS = 30
_STEPS = 1_000  # SQLite VM instructions between two checks of the time limit

_SQL = os.path.join(os.path.dirname(__file__), "sql")
_MIGRATIONS = os.path.join(_SQL, "migrations")
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_MOVE_AWAY = "move the file away and run `remit scan`: the tools are found again, usage starts from zero"


def scope_parameters(workspace: Workspace) -> dict[str, str]:
    """Return the parameters of the `in_scope` fragment."""
    reach = json.dumps(ancestors(workspace.dir))
    return {"project": workspace.project.hash, "workspace": workspace.dir, "reach": reach}


def view_parameters(view: View) -> dict[str, str]:
    """Return the parameters that identify a view."""
    workspace = view.workspace
    return {
        "client": view.client,
        "workspace": workspace.dir,
        "project": workspace.project.hash,
        "flags": view.flags.key,
    }


class Database:
    """A connection to Remit's database."""

    def __init__(self, path: str, *, busy_timeout: float = BUSY_SECONDS) -> None:
        self.path = path
        self._busy_timeout = busy_timeout  # seconds
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

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def close_without_checkpoint(self) -> None:
        """Close the connection of a short-lived process, leaving the checkpoint to a later one."""
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close()

    def run(self, query: str, /, **values: Value) -> None:
        """Run a named query without returning its rows."""
        self.rows(query, **values)

    def run_each(self, query: str, /, values: Iterable[Mapping[str, Value]]) -> None:
        """Run a named query once for each set of values."""
        with self._translated_errors():
            self._connection.executemany(_query(query), values)

    def rows(self, query: str, /, **values: Value) -> list[Row]:
        """Run a named query and return its rows."""
        with self._translated_errors():
            return self._connection.execute(_query(query), values).fetchall()

    def revision(self) -> int:
        """Return a number that changes whenever another connection writes."""
        with self._translated_errors():
            return self._number("data_version")

    def load(self, extension: str) -> bool:
        """Load an SQLite extension; False if it is not available."""
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

    def truncate_wal(self) -> None:
        """Copy the write-ahead log into the database file and empty it, so neither contains erased data."""
        with self._translated_errors():
            self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def _prepare(self) -> None:
        self._connection.set_busy_handler(_BusyHandler(self._busy_timeout))
        version = self._number("user_version")
        self._check_application_id(version)
        if version > SCHEMA_VERSION:
            raise StoreTooNewError(
                f"`{self.path}` was created by a newer Remit (schema {version}, this knows {SCHEMA_VERSION})",
                hint="upgrade Remit, or set REMIT_HOME to another directory",
            )
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
                f"`{self.path}` is another program's database", hint="set REMIT_HOME to another directory"
            )

    def _migrate(self) -> None:
        with self.transaction():
            if self._is_empty():
                self._connection.execute(_text(os.path.join(_MIGRATIONS, "schema.sql")))
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
            raise StoreCorruptError(f"`{self.path}` is damaged or not a database", hint=_MOVE_AWAY) from error
        except apsw.BusyError as error:
            raise StoreUnavailableError(
                f"`{self.path}` has been locked by another process for more than {self._busy_timeout:g} s",
                hint="end the process that holds it, then try again",
            ) from error
        except apsw.InterruptError as error:
            raise StoreTimeoutError(f"`{self.path}` took too long to answer") from error
        except apsw.ConstraintError:
            raise  # a bug, not an environment failure
        except (apsw.Error, OSError) as error:
            raise StoreUnavailableError(
                f"`{self.path}` cannot be used: {error}",
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


def _retry_while_busy(step: Callable[[], object]) -> None:
    """Repeat a step that bypasses SQLite's busy handler."""
    wait, attempt = _BusyHandler(BUSY_SECONDS), 0
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
    return [(number, _text(path)) for number, path in paths.items()]


@cache
def _query(name: str) -> str:
    """Find a named query and insert its fragments."""
    queries, fragments = _sql_blocks()
    return _insert_fragments(queries[name], fragments)


@cache
def _sql_blocks() -> tuple[dict[str, str], dict[str, str]]:
    """Read the named queries and fragments of all SQL files."""
    queries: dict[str, str] = {}
    fragments: dict[str, str] = {}
    texts = [_text(os.path.join(_SQL, name)) for name in os.listdir(_SQL) if name.endswith(".sql")]
    for block in (block for text in texts for block in text.split("\n-- ")[1:]):
        title, _, sql = block.partition("\n")
        sort, _, name = title.partition(": ")
        {"fragment": fragments, "name": queries}[sort][name] = sql.strip()
    return queries, fragments


def _insert_fragments(sql: str, fragments: Mapping[str, str]) -> str:
    for name in fragments if "{" in sql else ():
        if f"{{{name}}}" in sql:  # a fragment may have others
            sql = sql.replace(f"{{{name}}}", _insert_fragments(fragments[name], fragments))
    return sql


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as opened:
        return opened.read()
