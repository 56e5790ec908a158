"""A check of a store finds each kind of damage."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from remit.errors import StoreCorruptError, StoreError
from remit.store.maintenance.store_check import check_store
from remit.store.open_store import open_store
from support.databases import run_sql
from support.filled_stores import fill_every_table
from support.postgres import Databases, needs_postgres

pytestmark = pytest.mark.sqlite_only  # they name their stores, of both kinds


def problems(place: object) -> list[str]:
    return [f"{check.name}: {problem}" for check in check_store(str(place)) for problem in check.problems]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill_every_table(tmp_path / "a.db")
    return tmp_path / "a.db"


def test_a_sound_file_has_no_problems(path: Path) -> None:
    before = path.read_bytes()
    assert problems(path) == []
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (
            "delete from projects where hash like 'hash 1%'",
            "`usage_totals`: 1 rows whose project_hash is not",
        ),
        ("update definitions set description = 'other' where id = 2", "the definition of `name 2"),
        ("update definitions set raw = 'no JSON' where id = 1", "does not match its digest"),
        ("update memory_nodes set project = 'blog' where id = 101", "has a home elsewhere"),
        ("update memory_edges set project = 'blog' where source = 102", "of another project"),
        ("update memory_words set home = 99 where node_id = 103", "is filed in another place"),
        ("delete from memory_nodes where id = 7", "which has no root"),
        ("drop index memory_roots; update memory_nodes set project = '' where id = 7", "has 2 roots"),
    ],
)
def test_damaged_rows_of_a_file_are_found(path: Path, damage: str, found: str) -> None:
    run_sql(path, f"pragma foreign_keys = off; pragma ignore_check_constraints = on; {damage}")
    assert found in "\n".join(problems(path))


def test_many_problems_of_a_kind_are_counted(tmp_path: Path) -> None:
    fill_every_table(tmp_path / "a.db", rows=9)
    run_sql(tmp_path / "a.db", "update memory_words set home = 99")
    assert problems(tmp_path / "a.db")[-1] == "memory: and 4 more like this"


def test_a_damaged_word_index_is_found(path: Path) -> None:
    run_sql(path, "insert into documents_by_word (rowid, name) values (77, 'ghost')")
    assert "word indexes: `documents_by_word` differs from its texts" in problems(path)


def test_a_damaged_file_is_an_error_or_a_problem(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as opened:
        opened.seek(size // 2)
        opened.write(b"\xff" * (size // 4))
    try:
        assert problems(path)
    except StoreError as error:
        assert isinstance(error, StoreCorruptError)  # noqa: PT017 - either is right


@pytest.fixture
def admin(databases: Databases) -> Generator[Any]:
    import psycopg

    address = databases.create()
    connection = psycopg.connect(address, autocommit=True)
    connection.execute("set search_path to remit, public")
    yield address, connection
    connection.close()
    databases.drop(address)


@needs_postgres
def test_a_sound_database_has_no_problems(admin: Any) -> None:
    address, connection = admin
    assert problems(address) == []
    connection.execute("insert into copies values ('sqlite:/old/remit.db')")
    (found,) = problems(address)
    assert found.startswith("copy: a copy of `sqlite:/old/remit.db` into this store is not finished")


LEAKING = {
    "drop policy scope on audit": "row-level security: `audit` has no policy, so nothing is visible in it",
    "alter table approvals no force row level security": (
        "row-level security: it is not forced on `approvals`, so its owner sees all rows"
    ),
    "alter table traces disable row level security": "row-level security: it is disabled on `traces`",
    "create table extra (id integer)": "row-level security: it is disabled on `extra`",
    "create policy leak on sessions using (true)": (
        "isolation: rows of `sessions` are visible without a project"
    ),
    "grant create on schema remit to remit_runtime": (
        "roles: `remit_runtime` may create objects in the schema `remit`"
    ),
    "grant delete on tokens to remit_runtime": "roles: `remit_runtime` may delete `tokens`",
    "grant update (path) on projects to public": "roles: `remit_runtime` may update `path` of `projects`",
    "grant usage on sequence audit_numbers to remit_admin": (
        "roles: `remit_admin` may use the numbers of `audit_numbers`"
    ),
    "create function risky() returns integer language sql security definer as 'select 1'": (
        "roles: `remit_runtime` may call `risky`, which runs as its owner with any search_path"
    ),
    "alter table rules owner to remit_runtime": "roles: `remit_runtime` owns 1 tables, such as `rules`",
    "alter table sightings drop constraint sightings_tool_id_fkey; insert into sightings values (77, 'h')": (
        "references: `sightings`: 1 rows whose tool_id is not in `tools`"
    ),
    "alter table definitions disable trigger all; update definitions set name = 'other'": (
        "definitions: the definition of `other` does not match its digest"
    ),
}
ROWS = """
insert into projects values ('h', '/h', 1);
insert into sessions (client, session_id, project_hash, started_at, states) values ('', '', 'h', 1, '');
insert into definitions (digest, name, tokens) values ('d', 'first', 1)
"""


@needs_postgres
def test_what_no_longer_protects_or_fits_is_found(admin: Any) -> None:
    address, connection = admin
    connection.execute(ROWS)
    for damage in LEAKING:
        connection.execute(damage)
    found = problems(address)
    assert [problem for problem in LEAKING.values() if problem not in found] == []
    others = [problem for problem in found if problem not in LEAKING.values()]
    assert others == [
        "roles: `remit_admin` may update `path` of `projects`",
        "roles: `remit_admin` may call `risky`, which runs as its owner with any search_path",
        "isolation: permission denied for table extra",
    ]


@needs_postgres
def test_a_schema_with_missing_parts_is_found(admin: Any) -> None:
    address, connection = admin
    connection.execute("alter table tools drop column endpoint cascade; drop table wares")
    connection.execute("revoke select on audit from remit_runtime")
    found = "\n".join(problems(address))
    assert "schema: `tools` has no column endpoint" in found
    assert "schema: the table `wares` is missing" in found
    assert "isolation: permission denied for table audit" in found
    assert "rows: cannot be read: " in found


@pytest.mark.long
@needs_postgres
@pytest.mark.parametrize(
    ("attribute", "found"),
    [("bypassrls", "has BYPASSRLS"), ("superuser", "is a superuser"), ("login", "can log in by itself")],
)
def test_a_role_that_may_too_much_is_found(admin: Any, attribute: str, found: str) -> None:
    address, connection = admin
    connection.execute(f"alter role remit_runtime {attribute}")
    try:
        assert f"`remit_runtime` {found}" in "\n".join(problems(address))
    finally:
        connection.execute(f"alter role remit_runtime no{attribute}")
    assert problems(address) == []


@needs_postgres
def test_rows_that_other_settings_open_are_found(admin: Any) -> None:
    """A setting of the user or the database must not open every project."""
    address, connection = admin
    store = open_store(address)
    run_sql(store, "insert into projects values ('h', '/h', 1)")
    store.close()
    connection.execute("alter role postgres set remit.everything = 'on'")
    try:
        assert "rows of `projects` are visible without a project" in "\n".join(problems(address))
    finally:
        connection.execute("alter role postgres reset remit.everything")
