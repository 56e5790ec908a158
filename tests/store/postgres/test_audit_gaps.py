"""Numbers of the audit log that no entry has: their transactions never committed, and they break no chain."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass

import pytest

from remit.audit.audit_log import AuditEntry, AuditLog, ChainCheck
from remit.decision.context import Context
from remit.decision.projects import Project, Workspace
from remit.errors import StoreUnreachableError
from remit.store.audit_store import add_entries
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from support.builders import CLIENT
from support.databases import run_sql
from support.postgres import Databases, needs_postgres

pytestmark = needs_postgres
SHOP = Context(client=CLIENT, workspace=Workspace("/shop", "/shop", Project(path="/shop", hash="shop")))
ENTRY = AuditEntry(1, "stdio", "claude-code", None, "ada", "mcp__git__push", "visible", None, "done", 3, 5, 7)


class NodeDiedError(Exception):
    """Ends a transaction before it commits."""


def write_and_fail(store: SqlStore, count: int, fail: Callable[[], object]) -> None:
    with store.database.transaction():
        add_entries(store.database, [ENTRY] * count, SHOP.workspace)
        fail()
        add_entries(store.database, [ENTRY], SHOP.workspace)


def die() -> None:
    raise NodeDiedError


@dataclass
class Node:
    store: SqlStore
    databases: Databases
    address: str

    def add(self, at: int) -> None:
        AuditLog(self.store.audit, lambda: at).add([ENTRY._replace(called_at=at)], SHOP)

    def check(self) -> ChainCheck:
        return AuditLog(self.store.audit, lambda: 9).verify(SHOP)

    def numbers(self) -> list[int]:
        import psycopg  # not installed everywhere

        with psycopg.connect(self.address) as connection:
            return [id for (id,) in connection.execute("select id from remit.audit order by id").fetchall()]


@pytest.fixture
def node(databases: Databases) -> Generator[Node]:
    address = databases.create()
    with closing(open_store(address)) as store:
        yield Node(store, databases, address)


def test_a_transaction_that_was_rolled_back_leaves_missing_numbers_and_a_whole_chain(node: Node) -> None:
    node.add(1)
    with pytest.raises(NodeDiedError):
        write_and_fail(node.store, 3, die)
    node.add(2)
    assert len(node.numbers()) == 2
    assert node.numbers()[1] - node.numbers()[0] == 4
    assert (node.check().entries, node.check().breaks) == (2, [])


def test_a_node_that_died_while_it_wrote_leaves_missing_numbers_and_a_whole_chain(node: Node) -> None:
    node.add(1)
    with closing(open_store(node.address)) as dying:
        with pytest.raises(StoreUnreachableError):
            write_and_fail(dying, 3, lambda: node.databases.disconnect(node.address))
        node.databases.admit(node.address)
    node.add(2)
    assert node.numbers()[1] - node.numbers()[0] == 4
    assert (node.check().entries, node.check().breaks) == (2, [])


def test_an_entry_that_its_owner_deletes_or_changes_breaks_the_chain_beside_such_gaps(node: Node) -> None:
    for at in range(1, 5):
        node.add(at)
        with pytest.raises(NodeDiedError):
            write_and_fail(node.store, 1, die)
    assert node.check().breaks == []
    run_sql(node.store, "delete from audit where called_at = 2")
    assert [each.called_at for each in node.check().breaks] == [3]
    run_sql(node.store, "update audit set outcome = 'failed' where called_at = 4")
    assert [each.called_at for each in node.check().breaks] == [3, 4]
