"""An SQLite file as a database: who may open it, how it is made, what it leaves behind."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from remit.errors import StoreCorruptError, StoreTooNewError, StoreUnavailableError
from remit.store import SqliteDatabase, open_store
from support.builders import BLOG, SHOP

SQL = Path(sys.modules["remit.store"].__file__ or "").parent / "sql"


def open_and_close(path: Path) -> None:
    SqliteDatabase(str(path)).close()


def run(path: Path, statements: str) -> None:
    connection: Any = apsw.Connection(str(path))  # the driver is only partly typed
    connection.execute(statements).fetchall()
    connection.close()


def test_a_large_statement_needs_no_file_outside_of_the_store(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "remit.sqlite"))
    assert database._connection.pragma("temp_store") == 2  # pyright: ignore[reportPrivateUsage] - in memory
    database.close()


def test_a_store_that_is_closed_says_so(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "remit.sqlite"))
    database.close()
    with pytest.raises(StoreUnavailableError, match=r"remit.sqlite` is closed$"):
        database.rows("projects")


def test_opening_twice_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "remit.sqlite"
    open_and_close(path)
    log = path.with_name("remit.sqlite-wal")
    before = (path.read_bytes(), log.read_bytes())
    open_and_close(path)
    assert (path.read_bytes(), log.read_bytes()) == before


def test_a_short_process_leaves_the_checkpoint_to_one_with_a_long_log(tmp_path: Path) -> None:
    path = tmp_path / "remit.sqlite"
    store = open_store(str(path))
    store.states.advance(["x"], [], "", SHOP, 1)
    store.close()
    log = path.with_name("remit.sqlite-wal")
    assert log.stat().st_size > 0
    store = open_store(str(path))
    store.states.push({"x": "x" * 2_000_000}, {"x": 9}, SHOP, 1)
    store.close()
    assert not log.exists() or log.stat().st_size == 0


def test_directory_and_file_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_and_close(tmp_path / "data" / "remit.sqlite")
    finally:
        os.umask(before)
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "data" / "remit.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_database_of_a_newer_remit_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "remit.sqlite"
    run(path, f"create table future (x); pragma application_id = {0x52656D69}; pragma user_version = 2")
    before = path.read_bytes()
    with pytest.raises(StoreTooNewError, match="newer Remit"):
        open_and_close(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 99])
def test_another_programs_database_is_refused_and_left_alone(version: int, tmp_path: Path) -> None:
    path = tmp_path / "remit.sqlite"
    run(path, f"create table bookmarks (url); pragma user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError, match="another program"):
        open_and_close(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_database_is_refused_and_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "remit.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="damaged or not a database"):
        open_and_close(path)
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_is_an_error_with_a_hint() -> None:
    with pytest.raises(StoreUnavailableError) as raised:
        open_and_close(Path("/dev/null/remit.sqlite"))
    assert "/dev/null/remit.sqlite" in str(raised.value)
    assert "REMIT_HOME" in str(raised.value.hint)


def test_a_locked_database_is_an_error_after_the_patience_of_its_user(tmp_path: Path) -> None:
    path = tmp_path / "remit.sqlite"
    store = open_store(str(path))
    other = open_store(str(path), patience=0.02)
    with store.database.transaction(), pytest.raises(StoreUnavailableError, match=r"more than 0\.02 s"):
        other.states.advance(["x"], [], "", SHOP, 1)
    other.close()
    store.close()


def test_waiting_for_another_process_can_be_interrupted(tmp_path: Path) -> None:
    path = str(tmp_path / "remit.sqlite")
    script = (
        "import sys; from remit.store import open_store; store = open_store(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "with store.database.transaction(): pass"
    )
    holder = open_store(path)
    with holder.database.transaction():
        waiting = subprocess.Popen(
            [sys.executable, "-c", script, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "ready\n"
        waiting.send_signal(2)
        _, error = waiting.communicate(timeout=5)  # the patience is 30 seconds
    holder.close()
    assert "KeyboardInterrupt" in error


def test_a_failed_transaction_leaves_nothing_behind() -> None:
    database = SqliteDatabase(":memory:")

    def see_a_project_and_fail() -> None:
        with database.transaction(changes="catalog"):
            database.rows("see_project", project="h", path="p", at=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        see_a_project_and_fail()
    assert database.rows("projects") == []
    assert database.revision() == 0


def test_a_durable_store_is_on_the_disk_before_a_write_is_acknowledged() -> None:
    databases = [SqliteDatabase(":memory:", durable=durable) for durable in (False, True)]
    levels = [database._connection.pragma("synchronous") for database in databases]  # pyright: ignore[reportPrivateUsage]
    assert levels == [1, 2]


def test_processes_that_open_a_new_database_at_once_all_succeed(tmp_path: Path) -> None:
    script = (
        "import sys; from remit.store import SqliteDatabase\n"
        "print(flush=True); sys.stdin.read(); SqliteDatabase(sys.argv[1])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "remit.sqlite")]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe) for _ in range(8)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(timeout=30) for process in processes] == [0] * 8


def test_a_revision_is_known_from_any_thread_as_soon_as_another_process_has_written(tmp_path: Path) -> None:
    path = str(tmp_path / "remit.sqlite")
    store, other = open_store(path), open_store(path)
    known: list[int] = []

    def look() -> None:
        known.append(store.database.revision("states"))

    for _ in range(2):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        other.states.advance(["x"], [], "", SHOP, 1)
    look()
    assert known == [0, 1, 2]
    other.close()
    store.close()


def test_what_was_forgotten_is_in_no_file(tmp_path: Path) -> None:
    path = tmp_path / "remit.sqlite"
    store = open_store(str(path))
    store.states.push({"a": "zebra in shop"}, {"a": 9}, SHOP, 1)
    store.states.push({"a": "yak in blog"}, {"a": 9}, BLOG, 1)
    store.catalog.forget(SHOP.project)
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"zebra" not in content
    assert b"yak" in content
    store.close()


def test_what_json_can_say_and_no_database_can_keep_is_replaced() -> None:
    store = open_store(":memory:")
    store.states.advance(["a\ud800b\0c"], [], "\U0001f600", SHOP, 1)
    assert [*store.states.known(SHOP).workflow.items()] == [("a\ufffdb\ufffdc", (1, "\U0001f600"))]


def test_sqlite_vec_is_found_by_its_path_without_importing_another_driver() -> None:
    script = (
        "import sys; from remit.store import SqliteDatabase\n"
        "assert SqliteDatabase(':memory:').enable_vectors(); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "sqlite3" not in loaded.split()


def test_each_query_and_each_fragment_has_a_name_of_its_own() -> None:
    text = "\n".join(file.read_text() for file in SQL.glob("*.sql"))
    titles = re.findall(r"^-- (?:name|fragment): (\w+)", text, flags=re.MULTILINE)
    assert len(titles) > 100
    assert sorted(titles) == sorted(set(titles))


def test_every_read_of_tools_carries_the_scope_rule() -> None:
    reads = {
        name: query
        for name, query in queries().items()
        if query.startswith(("select", "with", "insert")) and re.search(r"(from|join) tools t\b", query)
    }
    assert reads.keys() >= {"catalog", "resolved", "pins_of_server", "trusted_entries", "definitions"}
    without = [name for name, query in reads.items() if ":project" not in query or "t.scope in" not in query]
    # It tells people where else a name is declared.
    assert without == ["declared_elsewhere"]


def test_every_query_knows_its_project_or_is_marked() -> None:
    ids = (":view", ":server_id", ":tool", ":part")  # of rows that a query with a project found
    unmarked = [
        name
        for name, query in queries().items()
        if not any(parameter in query for parameter in (":project", ":group", *ids)) and name not in marked()
    ]
    assert unmarked == []


def queries() -> dict[str, str]:
    """Every query as it runs, with its fragments."""
    from remit.store import NamedQueries

    named = NamedQueries([str(SQL)])
    return {name: named[name] for name in named.names()}


def marked() -> set[str]:
    text = "\n".join(file.read_text() for file in SQL.glob("*.sql"))
    return set(re.findall(r"^-- name: (\w+) \(every project\)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("group", ["catalog", "scans", "usage", "states"])
def test_what_hooks_use_imports_nothing_slow(group: str) -> None:
    script = (
        f"import sys; from remit.store import open_store; open_store(':memory:').{group}; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    slow = {"dataclasses", "inspect", "sqlite3", "numpy", "pydantic", "asyncio", "subprocess", "tomllib"}
    assert not slow & set(loaded.split())
