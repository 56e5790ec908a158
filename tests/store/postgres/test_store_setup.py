"""A shared store is set up once, by an owner, however many open it at once."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from remit.errors import StoreError, StoreTooNewError, StoreUnavailableError
from remit.store.open_store import open_store
from support.postgres import Databases, needs_postgres
from support.processes import forked_script

pytestmark = needs_postgres


def set_up(address: str, user: str | None = None) -> Any:
    from remit.store.postgres.store_setup import set_up_store

    return set_up_store(address, user)


def newest() -> int:
    from remit.store.postgres import postgres_schema

    return postgres_schema.newest()


def as_user(address: str, user: str) -> str:
    return address.replace("postgres@", f"{user}@")


@pytest.fixture
def admin(databases: Databases) -> Any:
    import psycopg

    with psycopg.connect(databases.server.address(), autocommit=True) as connection:
        for role in ("owner createrole", "app", "guest"):
            name = role.split()[0]
            connection.execute(f"drop role if exists {name}")
            connection.execute(
                f"create role {role.replace(' ', ' login ', 1) if ' ' in role else f'{role} login'}"
            )
        yield connection


@pytest.fixture
def address(databases: Databases, admin: Any) -> Any:
    import psycopg

    made = databases.create_empty()
    admin.execute(f"alter database {made.rpartition('/')[2]} owner to owner")
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute("create extension vector schema public")
    admin.execute("grant remit_runtime, remit_admin to owner with admin option")
    yield made
    databases.drop(made)
    admin.execute("revoke remit_runtime, remit_admin from owner cascade")
    for role in ("owner", "app", "guest"):
        admin.execute(f"drop role {role}")


@pytest.mark.long
def test_an_owner_sets_it_up_and_another_user_works_with_it(address: str) -> None:
    with pytest.raises(StoreUnavailableError, match="its user may not create it") as raised:
        set_up(as_user(address, "app"))
    assert "owner" in str(raised.value.hint)
    done = set_up(as_user(address, "owner"), "app")
    assert (done.before, done.schema, done.role, done.user) == (0, newest(), "remit_runtime", "app")
    store = open_store(as_user(address, "app"))
    assert store.projects() == []
    assert store.database.rows("schema_facts") == [(newest(), "remit_runtime")]
    store.close()
    again = set_up(as_user(address, "owner"), "app")
    assert again.before == again.schema == newest()
    with pytest.raises(StoreUnavailableError, match="does not own its store"):
        set_up(as_user(address, "app"))
    with pytest.raises(StoreUnavailableError, match="this user may not use the store") as raised:
        open_store(as_user(address, "guest"))
    assert "--user NAME" in str(raised.value.hint)


@pytest.mark.long
def test_the_user_must_exist_and_keep_to_row_level_security(address: str) -> None:
    for user, reason in (("nobody", "can log in"), ("postgres", "bypasses row-level")):
        with pytest.raises(StoreUnavailableError, match=reason):
            set_up(address, user)
    with pytest.raises(StoreUnavailableError, match="has no store"):
        _check(address)


def _check(address: str) -> None:
    from remit.store.maintenance.store_check import check_store

    check_store(address)


def test_a_missing_right_is_named(address: str, admin: Any) -> None:
    admin.execute("revoke remit_runtime from owner cascade")
    with pytest.raises(StoreUnavailableError, match="may not use the role") as raised:
        set_up(as_user(address, "owner"))
    assert "grant remit_runtime to OWNER" in str(raised.value.hint)


@pytest.mark.usefixtures("address")
def test_a_missing_extension_is_named(databases: Databases, admin: Any) -> None:
    bare = databases.create_empty()
    admin.execute(f"alter database {bare.rpartition('/')[2]} owner to owner")
    with pytest.raises(StoreUnavailableError, match="has no pgvector") as raised:
        set_up(as_user(bare, "owner"))
    assert "create extension vector" in str(raised.value.hint)
    databases.drop(bare)


def test_a_newer_schema_is_refused(databases: Databases) -> None:
    import psycopg

    address = databases.create()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("insert into remit.schema_version values (99)")
    for act in (set_up, open_store, _check):
        with pytest.raises(StoreTooNewError, match=f"schema 99, this knows {newest()}"):
            act(address)


def test_gateways_go_on_after_a_migration_that_says_so_and_nobody_else_does(databases: Databases) -> None:
    import psycopg

    from remit.store.postgres.postgres_access import write_postgres

    address = databases.create()
    store = open_store(address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("insert into remit.schema_version values (98, %s), (99, 5)", [newest()])
    open_store(address).close()
    store.close()
    for act in (set_up, _check, write_postgres):
        with pytest.raises(StoreTooNewError, match=f"schema 99, this knows {newest()}"):
            act(address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("update remit.schema_version set oldest = %s where number = 98", [newest() + 1])
    with pytest.raises(StoreTooNewError, match="schema 99"):
        open_store(address)


def test_a_migration_names_the_schema_that_older_gateways_must_know(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from remit.store.postgres import postgres_schema

    address, known = databases.create(), postgres_schema.migrations()
    added = tmp_path / "0099_later.sql"
    added.write_text("-- Gateways that know schema 12 can go on.\nalter table tools add x text;\n", "utf-8")
    monkeypatch.setattr(postgres_schema, "migrations", lambda: {**known, 99: str(added)})
    assert set_up(address).schema == 99
    with psycopg.connect(address) as connection:
        found = connection.execute(
            "select number, oldest from remit.schema_version order by 1 desc"
        ).fetchall()
    assert found[0] == (99, 12)
    assert found[1][0] == max(known)
    monkeypatch.undo()
    open_store(address).close()


def test_an_older_schema_is_read_by_nobody_until_it_is_migrated(databases: Databases) -> None:
    import psycopg

    address = databases.create()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("delete from remit.schema_version; insert into remit.schema_version values (-1)")
    with pytest.raises(StoreError, match="an older Remit") as raised:
        _check(address)
    assert "remit store migrate" in str(raised.value.hint)


OPENING = """
import sys
from remit.store.open_store import open_store
sys.stdin.readline()
store = open_store(sys.argv[1])
print(store.database.rows("schema_facts"))
store.close()
"""


@pytest.mark.long
def test_an_empty_database_that_several_processes_open_at_once_gets_one_schema(
    databases: Databases, tmp_path: Path
) -> None:
    address = databases.create_empty()
    command = forked_script(tmp_path, OPENING, address)
    opened = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in opened:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60) for process in opened]
    assert answers == [(f"[({newest()}, 'remit_runtime')]\n", "")] * 4
    _check(address)


def test_an_address_that_leads_nowhere_is_an_error_without_the_password() -> None:
    with pytest.raises(StoreUnavailableError, match="cannot be used") as raised:
        set_up("postgresql://ada:pa55phrase@127.0.0.1:1/remit")
    assert "pa55phrase" not in f"{raised.value} {raised.value.hint} {raised.value.__cause__}"
