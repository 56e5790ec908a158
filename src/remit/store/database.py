"""One SQLite file: opened safely by many processes at once, migrated forward, its errors in our words.

A hook process imports this module, so it needs only the driver and the lightest of the standard library.
"""

import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import apsw

from remit.decision.projects import Workspace
from remit.decision.scopes import ancestors
from remit.decision.views import View
from remit.errors import StoreCorruptError, StoreTimeoutError, StoreTooNewError, StoreUnavailableError

Value = str | int | bytes | None
Row = tuple[Any, ...]  # whoever reads a row knows its query

SCHEMA_VERSION = 9
APPLICATION_ID = 0x52656D69
BUSY_SECONDS = 30
_STEPS = 1_000  # of SQLite's machine, between two looks at the clock

_SQL = os.path.join(os.path.dirname(__file__), "sql")
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_MOVE_AWAY = "move the file away and run `remit scan`: the tools are found again, usage starts anew"


def seen_from(workspace: Workspace) -> dict[str, str]:
    """Give the scope rule what it asks for."""
    reach = json.dumps(ancestors(workspace.dir))
    return {"project": workspace.project.hash, "workspace": workspace.dir, "reach": reach}


def key_of(view: View) -> dict[str, str]:
    """Name the view that a client has of its configuration in a workspace."""
    workspace = view.workspace
    return {
        "client": view.client,
        "workspace": workspace.dir,
        "project": workspace.project.hash,
        "flags": view.flags.key,
    }


class Database:
    """A connection to Remit's database."""

    def __init__(self, path: str, *, patience: float = BUSY_SECONDS) -> None:
        self.path = path
        self._patience = patience  # seconds to wait for others
        with self._translated():
            if path != ":memory:":
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                os.close(os.open(path, os.O_RDONLY | os.O_CREAT, mode=0o600))
            self._connection: Any = apsw.Connection(path)  # the driver's stubs are only partly typed
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def leave(self) -> None:
        """Close the connection of a process that lives for one write, and let others tidy up after it."""
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close()

    def run(self, query: str, /, **values: Value) -> None:
        """Run a named query for what it does."""
        self.rows(query, **values)

    def run_each(self, query: str, /, values: Iterable[Mapping[str, Value]]) -> None:
        """Run a named query once for each set of values."""
        with self._translated():
            self._connection.executemany(_queries()[query], values)

    def rows(self, query: str, /, **values: Value) -> list[Row]:
        """List the rows of a named query."""
        with self._translated():
            return self._connection.execute(_queries()[query], values).fetchall()

    def revision(self) -> int:
        """Give a number that is another one whenever another connection has written."""
        with self._translated():
            return self._number("data_version")

    def load(self, extension: str) -> bool:
        """Load an extension of SQLite; False where that is not possible here."""
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
        """Do several things or none; others' writes wait."""
        with self._translated():
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    @contextmanager
    def within(self, seconds: float) -> Generator[None]:
        """Read for so long and no longer.

        Raises:
            StoreTimeoutError: it takes longer.
        """
        deadline = time.monotonic() + seconds
        self._connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        try:
            yield
        finally:
            self._connection.set_progress_handler(None)

    def write_through(self) -> None:
        """Have every transaction on the disk itself before it counts as made."""
        with self._translated():
            self._connection.execute("pragma synchronous = full").fetchall()

    def empty_log(self) -> None:
        """Write the log into the file and clear it, so that what was erased is in neither."""
        with self._translated():
            self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def _prepare(self) -> None:
        self._connection.set_busy_handler(_Patience(self._patience))
        version = self._number("user_version")
        self._refuse_strangers(version)
        if version > SCHEMA_VERSION:
            raise StoreTooNewError(
                f"`{self.path}` was made by a newer Remit (schema {version}, this knows {SCHEMA_VERSION})",
                hint="upgrade Remit, or set REMIT_HOME to another directory",
            )
        if version < SCHEMA_VERSION:
            _patiently(lambda: self._connection.execute("pragma journal_mode = wal").fetchall())
        self._connection.execute(
            "pragma synchronous = normal; pragma foreign_keys = on; pragma secure_delete = on"
        ).fetchall()
        if version < SCHEMA_VERSION:
            self._migrate()

    def _refuse_strangers(self, version: int) -> None:
        is_new = version == 0 and not self._connection.execute("select 1 from sqlite_schema").fetchall()
        if not is_new and self._number("application_id") != APPLICATION_ID:
            raise StoreCorruptError(
                f"`{self.path}` is another program's database", hint="set REMIT_HOME to another directory"
            )

    def _migrate(self) -> None:
        for number, script in _migrations():
            with self.transaction():
                if self._number("user_version") < number:  # another process may have been faster
                    self._connection.execute(f"{script}; pragma user_version = {number}")

    def _number(self, pragma: str) -> int:
        return self._connection.pragma(pragma)

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except _DAMAGED as error:
            raise StoreCorruptError(f"`{self.path}` is damaged or not a database", hint=_MOVE_AWAY) from error
        except apsw.BusyError as error:
            raise StoreUnavailableError(
                f"`{self.path}` is locked by another process for more than {self._patience:g} s",
                hint="end the process that holds it, then try again",
            ) from error
        except apsw.InterruptError as error:
            raise StoreTimeoutError(f"`{self.path}` took too long to answer") from error
        except apsw.ConstraintError:
            raise  # a mistake of ours, not of the machine's
        except (apsw.Error, OSError) as error:
            raise StoreUnavailableError(
                f"`{self.path}` cannot be used: {error}",
                hint="check that the directory exists and is writable, or set REMIT_HOME to another one",
            ) from error


class _Patience:
    """Waits for other processes, in steps short enough for an interrupt to get through."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = 0.0

    def __call__(self, attempt: int) -> bool:
        if attempt == 0:
            self._deadline = time.monotonic() + self._seconds
        time.sleep(min(0.001 * 2**attempt, 0.05))
        return time.monotonic() < self._deadline


def _patiently(step: Callable[[], object]) -> None:
    """Repeat a step that SQLite refuses at once, without asking for patience, while others do the same."""
    patience, attempt = _Patience(BUSY_SECONDS), 0
    while True:
        try:
            step()
            return
        except apsw.BusyError:
            if not patience(attempt):
                raise
            attempt += 1


def _migrations() -> list[tuple[int, str]]:
    folder = os.path.join(_SQL, "migrations")
    names = [name for name in sorted(os.listdir(folder)) if name.endswith(".sql")]
    return [(int(name.partition("_")[0]), _text(os.path.join(folder, name))) for name in names]


@cache
def _queries() -> dict[str, str]:
    """Load the named queries, with the fragments put in."""
    queries: dict[str, str] = {}
    fragments: dict[str, str] = {}
    texts = [_text(os.path.join(_SQL, name)) for name in ("queries.sql", "memory.sql")]
    for block in (block for text in texts for block in text.split("\n-- ")[1:]):
        title, _, sql = block.partition("\n")
        sort, _, name = title.partition(": ")
        {"fragment": fragments, "name": queries}[sort][name] = sql.strip()
    for fragment, text in fragments.items():
        queries = {name: sql.replace(f"{{{fragment}}}", text) for name, sql in queries.items()}
    return queries


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as opened:
        return opened.read()
