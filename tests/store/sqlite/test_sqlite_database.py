import os
import re
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from remit.errors import StoreCorruptError, StoreTooNewError, StoreUnavailableError
from remit.store import database
from remit.store.sqlite.sqlite_database import APPLICATION_ID, SCHEMA_VERSION, SqliteDatabase
from support.databases import MIGRATIONS, SCHEMA, migrated_schema, older_database, run_sql
from support.processes import forked_script, run_together

SQL = Path(database.SQL)


def open_and_close(path: Path) -> None:
    SqliteDatabase(str(path)).close()


def test_a_large_statement_needs_no_file_outside_of_the_store(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "remit.db"))
    assert database._connection.pragma("temp_store") == 2  # pyright: ignore[reportPrivateUsage] - in memory
    database.close()


def test_a_store_that_is_closed_says_so(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "remit.db"))
    database.close()
    with pytest.raises(StoreUnavailableError, match=r"remit.db` is closed$"):
        database.catalog_revision()


def test_migrations_are_numbered_without_gaps_up_to_the_schema_version() -> None:
    numbers = sorted(int(file.name[:4]) for file in MIGRATIONS.glob("[0-9]*.sql"))
    assert numbers == list(range(1, SCHEMA_VERSION + 1))


def test_a_new_database_starts_from_the_schema_that_all_migrations_make() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == migrated_schema()  # else run `make schema`


def test_a_new_database_is_as_one_that_was_migrated_from_the_first_version(tmp_path: Path) -> None:
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    open_and_close(new)
    older_database(old, 1)
    open_and_close(old)
    assert everything_in(new) == everything_in(old)


def everything_in(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The tables, indexes and triggers of a database, and the rows of each table."""
    names = [name for (name,) in run_sql(path, "select name from sqlite_schema where type = 'table'")]
    numbers = run_sql(path, "pragma application_id") + run_sql(path, "pragma user_version")
    schema = run_sql(path, "select type, name, tbl_name, sql from sqlite_schema order by name")
    rows = {name: run_sql(path, f"select * from {name}") for name in names}  # noqa: S608 - names of ours
    return {"numbers": numbers, "schema": schema, **rows}


def test_each_query_and_each_fragment_has_a_name_of_its_own() -> None:
    titles = [
        title
        for file in SQL.glob("*.sql")
        for title in re.findall(r"^-- ((?:name|fragment): \w+)$", file.read_text(), flags=re.MULTILINE)
    ]
    assert len(titles) > 150
    assert sorted(titles) == sorted(set(titles))


def test_every_read_of_tools_carries_the_scope_rule() -> None:
    queries = [
        query
        for file in SQL.glob("*.sql")
        for query in re.split(r"^-- name: ", file.read_text(), flags=re.MULTILINE)[1:]
    ]
    reads = {
        title.partition(" ")[0]: query
        for title, _, query in (query.partition("\n") for query in queries)
        if query.startswith(("select", "with")) and re.search(r"(from|join) tools\b", query)
    }
    assert reads.keys() >= {"catalog", "undeclared_tools", "active_server", "last_known", "resolved"}
    rules = ("{in_scope}", "{known_here}")  # the second contains the first
    assert [name for name, query in reads.items() if not any(rule in query for rule in rules)] == []


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("undeclared_tools", "tools_loose (client=?)"),
        ("undeclared_tools_of_name", "tools_by_name (name=?"),
    ],
)
def test_undeclared_tools_are_found_without_reading_the_tools_that_servers_list(
    query: str, index: str
) -> None:
    (text,) = re.findall(rf"^-- name: {query}\n(.*?)\n\n", (SQL / "usage.sql").read_text(), re.M | re.S)
    statement = re.sub(r":\w+", "'x'", text.replace("{in_scope}", "t.scope = 'global'"))
    connection = SqliteDatabase(":memory:")._connection  # pyright: ignore[reportPrivateUsage]
    plan = [row[3] for row in connection.execute(f"explain query plan {statement}")]
    assert f"SEARCH t USING INDEX {index}" in plan[0]


def test_opening_twice_writes_nothing(tmp_path: Path) -> None:
    open_and_close(tmp_path / "remit.db")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    opened = SqliteDatabase(str(tmp_path / "remit.db"))
    assert (tmp_path / "remit.db-wal").stat().st_size == 0
    opened.close()
    assert (
        {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        == before
        == {"remit.db": before["remit.db"]}
    )


def test_directory_and_file_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    open_and_close(tmp_path / "data" / "remit.db")
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "data" / "remit.db").stat().st_mode & 0o777 == 0o600


def test_a_database_of_a_newer_remit_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    ours = f"pragma application_id = {APPLICATION_ID}"
    run_sql(path, f"create table future (x); {ours}; pragma user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreTooNewError, match="newer Remit"):
        open_and_close(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [-5, 0, 1, 99])
def test_another_programs_database_is_refused_and_left_alone(version: int, tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    run_sql(path, f"create table bookmarks (url); pragma user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError, match="another program"):
        open_and_close(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_database_is_refused_and_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="damaged or not a database"):
        open_and_close(path)
    assert path.read_bytes() == content


def test_a_truncated_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    open_and_close(path)
    run_sql(path, "pragma wal_checkpoint(truncate)")
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(StoreCorruptError):
        SqliteDatabase(str(path)).rows("project_by_hash_or_path", name="x")


@pytest.mark.parametrize("path", ["/dev/null/remit.db", "/proc/remit/remit.db"])
def test_a_place_that_cannot_be_written_is_an_error_with_a_hint(path: str) -> None:
    with pytest.raises(StoreUnavailableError) as raised:
        open_and_close(Path(path))
    assert path in str(raised.value)
    assert "REMIT_HOME" in str(raised.value.hint)


def test_a_failed_transaction_leaves_nothing_behind(tmp_path: Path) -> None:
    opened = SqliteDatabase(str(tmp_path / "remit.db"))

    def see_a_project_and_fail() -> None:
        with opened.transaction():
            opened.run("see_project", project="h", path="p", at=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        see_a_project_and_fail()
    assert opened.rows("project_by_hash_or_path", name="h") == []


@pytest.mark.parametrize(
    ("scope", "project_hash", "dir"),
    [
        ("project", None, "/a"),
        ("project", "h", None),
        ("local", None, None),
        ("global", "h", None),
        ("team", None, None),
    ],
)
def test_a_row_that_could_leak_cannot_be_stored(
    scope: str, project_hash: str | None, dir: str | None
) -> None:
    opened = SqliteDatabase(":memory:")
    opened.run("see_project", project="h", path="p", at=1)
    with pytest.raises(apsw.ConstraintError):
        opened.run(
            "declare",
            client="c",
            kind="mcp_server",
            scope=scope,
            project_hash=project_hash,
            dir=dir,
            server="s",
            name="n",
            plugin=None,
            source="f",
            endpoint=None,
            digest=None,
            is_remit=0,
            own_status=None,
            agent=None,
            profile=None,
            definition=None,
            at=1,
        )


def test_processes_that_open_a_new_database_at_once_all_succeed(tmp_path: Path) -> None:
    imports = "import sys; from remit.store.sqlite.sqlite_database import SqliteDatabase"
    script = f"{imports}; sys.stdin.read(); SqliteDatabase(sys.argv[1])"
    command = forked_script(tmp_path, script, str(tmp_path / "remit.db"))
    assert run_together([subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(8)]) == [0] * 8


def test_recording_a_use_imports_only_the_driver_and_the_light_part_of_the_standard_library(
    tmp_path: Path,
) -> None:
    script = "import sys, remit; remit.record_use('Read'); print(*sys.modules)"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "REMIT_HOME": str(tmp_path)}
    loaded = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "apsw" in loaded
    assert not {"dataclasses", "inspect", "click", "rich", "pathlib", "numpy", "remit.registry"} & set(loaded)


@pytest.mark.parametrize("written", [0, 3_600_000_000_001, 3_600_000_000_000])  # now, long ago, by the hour
def test_a_revision_is_known_as_soon_as_another_process_has_written(tmp_path: Path, written: int) -> None:
    path, log = tmp_path / "remit.db", tmp_path / "remit.db-wal"
    opened = SqliteDatabase(str(path))
    for _ in range(3):
        run_sql(path, "update revisions set number = number + 1 where part = 'catalog'")
        if written:
            os.utime(log, ns=(written, written))
        known = [opened.known_catalog_revision() for _ in range(3)]
        assert known == [opened.catalog_revision()] * 3
    opened.close()
