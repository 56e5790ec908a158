"""Copies between SQLite and PostgreSQL: everything arrives, and a copy that was killed continues."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from proofs.test_isolation import DIRECTORIES, Machine, Step, lives
from remit.errors import StoreCorruptError, StoreError, StoreTooNewError, StoreUnavailableError
from remit.store.maintenance import table_access
from remit.store.maintenance.store_check import check_store
from remit.store.maintenance.store_copy import CopyResult, copy_store
from remit.store.maintenance.table_model import REBUILT, tables
from remit.store.open_store import open_store
from remit.store.sqlite.sqlite_access import UNFINISHED, NewSqliteFile, SqliteAccess, read_sqlite
from support.databases import run_sql
from support.filled_stores import content, content_of, fill_every_table
from support.memory_calls import decision, note, one, start
from support.postgres import Databases, needs_postgres
from support.processes import forked_script
from support.sandbox import Sandbox

pytestmark = [needs_postgres, pytest.mark.sqlite_only]  # they name their stores, of both kinds
EXAMPLES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "2"))


def to_postgres(path: Path, address: str) -> CopyResult:
    from remit.store.postgres.postgres_access import write_postgres

    with closing(read_sqlite(str(path))) as source, closing(write_postgres(address)) as target:
        return copy_store(source, target)


def to_sqlite(address: str, path: Path) -> CopyResult:
    from remit.store.postgres.postgres_access import read_postgres

    with closing(read_postgres(address)) as source, closing(NewSqliteFile(str(path))) as target:
        return copy_store(source, target)


def problems(place: str) -> list[str]:
    return [problem for check in check_store(place) for problem in check.problems]


def test_every_table_is_copied_there_and_back(tmp_path: Path, databases: Databases) -> None:
    first, back, address = tmp_path / "a.db", tmp_path / "new/b.db", databases.create()
    fill_every_table(first)
    before = first.read_bytes()
    done = to_postgres(first, address)
    assert all(table.rows for table in done.tables)
    assert first.read_bytes() == before
    to_sqlite(address, back)
    assert [path.name for path in back.parent.iterdir()] == ["b.db"]
    assert content_of(back) == content_of(first)
    if os.name == "posix":
        assert back.stat().st_mode & 0o777 == 0o600


def test_new_rows_get_numbers_behind_the_copied_ones(tmp_path: Path, databases: Databases) -> None:
    path, address = tmp_path / "a.db", databases.create()
    fill_every_table(path)
    to_postgres(path, address)
    store = open_store(address)
    for table in tables():
        if table.is_numbered:
            ((following,),) = run_sql(store, f"select nextval(pg_get_serial_sequence('{table.name}', 'id'))")
            ((last,),) = run_sql(store, f"select max(id) from {table.name}")  # noqa: S608 - from the schema
            assert following == last + 1, table.name
    store.close()


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(life=lives)
def test_a_copy_there_and_back_is_the_same_store(life: list[Step], databases: Databases) -> None:
    address = databases.create()
    with tempfile.TemporaryDirectory() as folder:
        path, back = Path(folder) / "a.db", Path(folder) / "b.db"
        _live(path, life)
        to_postgres(path, address)
        assert problems(address) == []
        to_sqlite(address, back)
        assert content_of(back) == content_of(path)
        assert problems(str(back)) == []
    databases.drop(address)


def _live(path: Path, life: Iterable[Step]) -> None:
    store = open_store(str(path))
    machine = Machine(store, DIRECTORIES)
    for step in life:
        machine.live(step)
    machine.registry.close()


@pytest.mark.long
def test_memory_is_found_after_a_copy(sandbox: Sandbox, databases: Databases) -> None:
    sandbox.project("shop")
    with closing(sandbox.memory()) as memory:
        start(memory, "shop", "blog")
        note(memory, "shop", "the till speaks German", "auth")
        one(memory.save("save_decision", {"decision": decision("Use brass"), "project_id": "shop"}))
    address = databases.create()
    to_postgres(sandbox.database, address)
    assert problems(address) == []
    back = sandbox.root / "back/remit.db"
    to_sqlite(address, back)
    assert problems(str(back)) == []
    sandbox.database.unlink()
    back.rename(sandbox.database)
    with closing(sandbox.memory()) as memory:
        found = memory.memory_surface({"query": "german till", "project_id": "shop", "limit": 5})
        assert "till speaks German" in str(found.matches)


def test_the_same_tables_exist_in_both_databases(databases: Databases) -> None:
    """A table that only one has must be named as made again from others, or as of no project."""
    from remit.store.postgres.postgres_check import OPEN

    store = open_store(databases.create())
    listed = (
        "select relname from pg_class where relnamespace = 'remit'::regnamespace "
        "and relkind in ('r', 'p') and not relispartition"
    )
    found = {name for (name,) in run_sql(store, listed)}
    store.close()
    teams = {"teams", "team_projects", "team_servers"}  # a store that has them is not copied
    assert found - {*REBUILT, *OPEN, *teams} == {table.name for table in tables() if table.name not in OPEN}


KILLED = """
import os, sys
from contextlib import closing
from remit.store.maintenance import table_access
from remit.store.sqlite.sqlite_access import NewSqliteFile, read_sqlite
from remit.store.postgres.postgres_access import read_postgres, write_postgres
from remit.store.maintenance.store_copy import copy_store
source, target, after = sys.argv[1:]
table_access.BATCH = 2
steps = 0
def show(name, rows):
    global steps
    steps += 1
    if steps == int(after):
        os.kill(os.getpid(), 9)
reading = read_postgres if "://" in source else read_sqlite
writing = write_postgres if "://" in target else NewSqliteFile
with closing(reading(source)) as origin, closing(writing(target)) as copied:
    print(copy_store(origin, copied, show).is_resumed)
"""


def copying(folder: Path, source: str, target: str, after: int) -> subprocess.CompletedProcess[str]:
    words = forked_script(folder, KILLED, source, target, str(after))
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize("to", ["postgresql", "sqlite"])
def test_a_killed_copy_continues_where_it_ended(tmp_path: Path, databases: Databases, to: str) -> None:
    path, back, address = tmp_path / "a.db", tmp_path / "b.db", databases.create()
    fill_every_table(path, rows=5)
    source, target = str(path), address
    if to == "sqlite":
        to_postgres(path, address)
        source, target = address, str(back)
    for after in (3, 20):
        assert copying(tmp_path, source, target, after).returncode == 128 + signal.SIGKILL
        assert not back.exists()
    if to == "postgresql":
        assert "is not finished" in " ".join(problems(address))
    done = copying(tmp_path, source, target, 0)
    assert (done.stdout, done.stderr) == ("True\n", "")
    if to == "postgresql":
        assert problems(address) == []
        to_sqlite(address, back)
    assert content_of(back) == content_of(path)


def test_a_target_with_rows_is_refused(tmp_path: Path, databases: Databases) -> None:
    path, address = tmp_path / "a.db", databases.create()
    fill_every_table(path)
    to_postgres(path, address)
    with pytest.raises(StoreUnavailableError, match="is not empty: it has rows in"):
        to_postgres(path, address)
    with pytest.raises(StoreUnavailableError, match="is not empty"):
        NewSqliteFile(str(path))


def test_an_unfinished_copy_of_another_store_is_refused(tmp_path: Path, databases: Databases) -> None:
    path, other, address = tmp_path / "a.db", tmp_path / "other.db", databases.create()
    fill_every_table(path)
    fill_every_table(other)
    copying(tmp_path, str(path), address, 2)
    with pytest.raises(StoreUnavailableError, match=r"unfinished copy of `sqlite:.*a\.db`"):
        to_postgres(other, address)


def test_a_second_copy_at_the_same_time_is_refused(tmp_path: Path, databases: Databases) -> None:
    from remit.store.postgres.postgres_access import write_postgres

    address = databases.create()
    with closing(write_postgres(address)), pytest.raises(StoreUnavailableError, match="another copy into"):
        write_postgres(address)
    path = str(tmp_path / "a.db")
    with closing(NewSqliteFile(path)) as first:
        first.begin_copy("x")
        with pytest.raises(StoreUnavailableError, match="another copy into"):
            NewSqliteFile(path)


def test_an_empty_file_may_be_replaced(tmp_path: Path, databases: Databases) -> None:
    path, address = tmp_path / "a.db", databases.create()
    open_store(str(path)).close()
    assert sum(table.rows for table in to_sqlite(address, path).tables) == 1  # the root of memory
    (tmp_path / "empty.db").touch()
    to_sqlite(address, tmp_path / "empty.db")


def test_a_source_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    fill_every_table(path)
    target = NewSqliteFile(str(tmp_path / "b.db"))

    def change(name: str, _rows: int) -> None:
        if name == "projects":
            target.connection.execute("update projects set seen_at = 0 where rowid = 1 or 1")

    with (
        closing(read_sqlite(str(path))) as source,
        closing(target),
        pytest.raises(StoreCorruptError, match="`projects` differs after the copy"),
    ):
        copy_store(source, target, change)
    assert os.path.exists(f"{tmp_path / 'b.db'}{UNFINISHED}")


def test_rows_are_written_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_access, "BATCH", 2)
    assert [len(batch) for batch in table_access.batches([(1,), (2,), (3,)])] == [2, 1]


@pytest.mark.parametrize(
    ("content", "version", "error", "message"),
    [
        (None, 0, StoreUnavailableError, "does not exist"),
        (
            b"no database, but of its length" * 100,
            0,
            StoreCorruptError,
            "not a database",
        ),
        (b"", 0, StoreCorruptError, "is not a store of Remit"),
        (b"", 3, StoreUnavailableError, "an older Remit"),
        (b"", 9_999, StoreTooNewError, "a newer Remit"),
    ],
)
def test_only_a_store_of_this_version_is_read(
    tmp_path: Path, content: bytes | None, version: int, error: type[StoreError], message: str
) -> None:
    path = tmp_path / "a.db"
    if version:
        run_sql(path, f"pragma application_id = 0x52656d69; pragma user_version = {version}")
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=message):
        read_sqlite(str(path))


def test_a_source_is_read_as_one_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    fill_every_table(path)
    with closing(read_sqlite(str(path))) as source:
        assert isinstance(source, SqliteAccess)
        before = content(source)
        run_sql(path, "delete from suggestions")
        assert content(source) == before
