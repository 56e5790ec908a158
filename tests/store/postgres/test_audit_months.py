"""In PostgreSQL, the audit log is in months: nodes only append to it, and an owner drops whole months."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from remit.audit.audit_log import AuditEntry, AuditLog, CallQuery, linked
from remit.configuration.retention import Retention
from remit.decision.context import Context
from remit.decision.projects import Project, Workspace
from remit.errors import StoreUnavailableError
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from support.builders import CLIENT
from support.postgres import Databases, needs_postgres

pytestmark = [needs_postgres, pytest.mark.sqlite_only]  # they name their databases

SHOP = Context(client=CLIENT, workspace=Workspace("/shop", "/shop", Project(path="/shop", hash="shop")))
BLOG = Context(client=CLIENT, workspace=Workspace("/blog", "/blog", Project(path="/blog", hash="blog")))
ENTRY = AuditEntry(5, "", CLIENT, None, "ada", "mcp__git__log", "visible", None, "done", 7, 2, 3)
DAY = 86_400_000
MARCH, MAY, JUNE = 1_772_323_200_000, 1_777_593_600_000, 1_780_272_000_000  # 2026
LATER = 1_830_297_600_000  # 2028


class Shared:
    """A store, and a connection that bypasses it."""

    def __init__(self, address: str, opened: Any) -> None:
        self.address = address
        self.sql = opened
        self.store: SqlStore = open_store(address)
        self.log = AuditLog(self.store.audit, lambda: 1)

    def record(self, at: int, context: Context = SHOP, count: int = 2) -> None:
        """Record entries as if the database's clock had this time."""
        known = self.sql.execute("select coalesce(max(id), 0) from remit.audit").fetchone()[0]
        self.log.add([ENTRY._replace(called_at=at + each) for each in range(count)], context)
        self.sql.execute("update remit.audit set recorded_at = %s where id > %s", [at, known])
        self.sql.execute("select remit.prepare_audit()")

    def months(self) -> list[str]:
        listed = "select relname from pg_class where relispartition and relkind = 'r' order by 1"
        return [name for (name,) in self.sql.execute(listed).fetchall()]


@pytest.fixture
def shared(databases: Databases) -> Any:
    import psycopg

    address = databases.create()
    with psycopg.connect(address, autocommit=True, options="-c search_path=remit,public") as opened:
        opened.execute("set remit.everything = 'on'")
        found = Shared(address, opened)
        yield found
        found.store.close()
    databases.drop(found.address.replace(found.address.split("@")[0], "postgresql://postgres"))


def plan(shared: Shared, kept: Retention, at: int) -> list[tuple[str, int]]:
    from remit.store.maintenance.store_prune import old_records

    return [(each.name, each.rows) for each in old_records(shared.address, kept, at) if each.rows]


def prune(shared: Shared, kept: Retention, at: int) -> None:
    from remit.store.maintenance.store_prune import prune_store

    prune_store(shared.address, kept, at)


def test_entries_are_in_the_month_of_the_database_and_the_next_months_exist(shared: Shared) -> None:
    shared.log.add([ENTRY], SHOP)  # its own clock is wrong
    found = shared.sql.execute("select tableoid::regclass::text from audit").fetchone()[0]
    months = shared.months()
    assert found.removeprefix("remit.") == months[0]
    assert (len(months), months[-1]) == (5, "audit_rest")


def test_a_node_can_only_append(shared: Shared) -> None:
    import psycopg

    shared.log.add([ENTRY], SHOP)
    with psycopg.connect(shared.address, autocommit=True) as node:
        node.execute("set search_path to remit, public; set role remit_runtime; set remit.everything = 'on'")
        for statement in (
            "update audit set outcome = 'refused'",
            "delete from audit",
            "truncate audit",
            "update audit_anchors set chain = ''",
            f"table {shared.months()[0]}",
            f"drop table {shared.months()[0]}",
            "select add_audit_month('2030-01-01')",
            "insert into audit (id, recorded_at) values (7, 9223372036854775807)",  # in no month
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                node.execute(statement.encode())
        assert node.execute("select count(*) from audit").fetchone() == (1,)


def test_no_entry_is_refused_when_the_months_ran_out_and_the_next_node_files_it(shared: Shared) -> None:
    for month in shared.months()[:-1]:
        shared.sql.execute(f"drop table {month}")
    shared.log.add([ENTRY], SHOP)
    shared.sql.execute("update audit set recorded_at = %s", [MARCH])
    shared.store.audit.prune(SHOP.workspace, 1)  # as a node without rights to create tables
    assert "audit_2026_03" in shared.months()
    assert shared.sql.execute("select count(*) from audit_rest").fetchone() == (0,)
    assert shared.log.verify(SHOP).broken_at is None


def test_a_forgotten_project_leaves_its_audit_log(shared: Shared) -> None:
    from remit.store.maintenance.store_check import check_store

    shared.log.add([ENTRY], SHOP)
    shared.store.forget(SHOP.workspace.project)
    assert shared.log.verify(SHOP).entries == 1
    assert [project.path for project in shared.log.projects()] == [""]
    assert [each for each in check_store(shared.address) if each.problems] == []


def test_an_owner_drops_old_months_and_the_rest_of_each_chain_is_checked(shared: Shared) -> None:
    shared.record(MARCH)
    shared.record(MARCH, BLOG)
    shared.record(MAY)
    kept = Retention(audit=40 * DAY)
    head = shared.log.verify(SHOP).head
    assert plan(shared, kept, MAY) == []
    assert plan(shared, kept, JUNE) == [("audit 2026-03", 4)]
    prune(shared, kept, JUNE)
    found = shared.log.verify(SHOP, head)
    assert (found.entries, found.broken_at, found.knows) == (2, None, True)
    assert (found.deleted, found.deleted_until) == (2, MARCH + 1)
    assert (shared.log.verify(BLOG).entries, shared.log.verify(BLOG).deleted) == (0, 2)
    assert "audit_2026_03" not in shared.months()
    prune(shared, kept, LATER)
    assert shared.log.verify(SHOP, head).deleted == 4
    shared.log.add([ENTRY], SHOP)
    assert shared.log.verify(SHOP, head).broken_at is None


def test_an_entry_that_a_clock_set_back_filed_too_early_stays_with_those_before_it(shared: Shared) -> None:
    shared.record(MAY)
    shared.record(MARCH)
    prune(shared, Retention(audit=40 * DAY), JUNE)
    found = shared.log.verify(SHOP)
    assert (found.entries, found.broken_at, found.deleted) == (4, None, 0)


def test_only_the_owner_of_the_store_prunes_its_audit_log(shared: Shared) -> None:
    role = f"node_{shared.address.rpartition('/')[2]}"
    shared.sql.execute(f"create role {role} login")
    shared.sql.execute(f"grant remit_runtime to {role}")
    shared.address = shared.address.replace("postgres@", f"{role}@")
    with pytest.raises(StoreUnavailableError, match="may not delete audit entries"):
        plan(shared, Retention(), JUNE)
    shared.sql.execute(f"drop role {role}")


@pytest.mark.long
def test_the_entries_of_a_store_of_the_first_schema_move_to_their_months(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from remit.store.postgres import postgres_schema

    made = databases.create_empty()
    first = {1: postgres_schema.migrations()[1]}  # of an older version
    with monkeypatch.context() as older, psycopg.connect(made, autocommit=True) as opened:
        older.setattr(postgres_schema, "migrations", lambda: first)
        opened.execute("set search_path to remit, public")
        postgres_schema.migrate(opened, "here")
        opened.execute("insert into projects (hash, path, seen_at) values ('shop', '/shop', 1)")
        chain = ""
        for at in (MARCH, MAY, MAY - 1, JUNE):
            entry = ENTRY._replace(called_at=at)
            chain = linked(chain, entry)
            values = ["shop", *entry, chain]
            marks = ", ".join(["%s"] * len(values))
            columns = "project_hash, " + ", ".join(AuditEntry._fields) + ", chain"
            opened.execute(f"insert into audit ({columns}) values ({marks})".encode(), values)  # noqa: S608 - constants
    store = open_store(made)
    log = AuditLog(store.audit, lambda: 1)
    assert (log.verify(SHOP).entries, log.verify(SHOP).broken_at, log.verify(SHOP).head) == (4, None, chain)
    log.add([ENTRY], SHOP)
    assert log.verify(SHOP).broken_at is None
    assert len(store.audit.find(CallQuery(), SHOP.workspace)) == 5
    with psycopg.connect(made, autocommit=True) as opened:
        opened.execute("set remit.everything = 'on'")
        counted = "select tableoid::regclass::text, count(*) from remit.audit group by 1 order by 1"
        found = dict(opened.execute(counted).fetchall())
    assert {name[-7:]: count for name, count in found.items()}.items() >= {
        "2026_03": 1,
        "2026_05": 2,
        "2026_06": 1,
    }.items()
    store.close()
    databases.drop(made)


@pytest.mark.long
def test_a_copy_takes_the_log_to_a_file_and_back(
    shared: Shared, databases: Databases, tmp_path: Path
) -> None:
    from remit.store.maintenance.store_copy import copy_store
    from remit.store.postgres.postgres_access import read_postgres, write_postgres
    from remit.store.sqlite.sqlite_access import NewSqliteFile, read_sqlite

    shared.record(MARCH)
    shared.record(MAY)
    prune(shared, Retention(audit=40 * DAY), JUNE)
    wanted = shared.log.verify(SHOP)
    shared.log.add([ENTRY], BLOG)
    shared.store.forget(BLOG.workspace.project)  # its entries stay behind
    path, back = str(tmp_path / "copy.db"), databases.create()
    with closing(read_postgres(shared.address)) as source, closing(NewSqliteFile(path)) as target:
        copy_store(source, target)
    with closing(open_store(path)) as file:
        assert AuditLog(file.audit, lambda: 1).verify(SHOP) == wanted
    with closing(read_sqlite(path)) as source, closing(write_postgres(back)) as target:
        copy_store(source, target)
    store = open_store(back)
    log = AuditLog(store.audit, lambda: 1)
    assert log.verify(SHOP) == wanted
    log.add([ENTRY], SHOP)
    assert log.verify(SHOP).broken_at is None
    store.close()
    databases.drop(back)
