"""Locks of servers in PostgreSQL: one holder at a time, which learns at once that it is none any more."""

import time
from collections.abc import Callable, Generator
from threading import Event
from typing import Any

import pytest

from remit.errors import StoreUnreachableError
from support.postgres import Databases, free_port, needs_postgres

pytestmark = needs_postgres
SECONDS = 60  # for what takes milliseconds


def ignored() -> None: ...


def eventually(is_so: Callable[[], object]) -> None:
    """Wait for something that PostgreSQL does a moment after a connection has ended."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


class Nodes:
    """Processes that share a store, as far as locks are concerned."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.made: list[Any] = []

    def __call__(self) -> Any:
        from remit.store.postgres.server_locks import PostgresServerLocks  # needs the driver

        self.made.append(PostgresServerLocks(self.address))
        return self.made[-1]

    def query(self, text: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            return connection.execute(text.encode()).fetchall()


@pytest.fixture
def nodes(databases: Databases) -> Generator[Nodes]:
    address = databases.create()
    nodes = Nodes(address)
    yield nodes
    for each in nodes.made:
        each.close()
    databases.drop(address)


def test_a_lock_has_one_holder_until_it_is_released_or_its_holder_ends(nodes: Nodes) -> None:
    one, two = nodes(), nodes()
    assert one.take("browser", ignored)
    assert not two.take("browser", ignored)
    assert not one.take("browser", ignored)
    assert two.take("scanner", ignored)
    one.release("browser")
    assert two.take("browser", ignored)
    two.close()
    nodes.made.remove(two)
    eventually(lambda: one.take("browser", ignored))
    eventually(lambda: one.take("scanner", ignored))


@pytest.mark.parametrize("lost_by", ["the end of its connection", "an unlock"])
def test_a_holder_learns_that_it_lost_its_lock_and_can_take_it_again(
    nodes: Nodes, lost_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.store.postgres.server_locks.BEAT", 0.01)
    one, lost = nodes(), Event()
    assert one.take("browser", lost.set)
    if lost_by == "an unlock":  # as behind a pooler, where the next statement runs on another connection
        one._connection.execute("select pg_advisory_unlock_all()")
    else:
        nodes.query("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'")
    assert lost.wait(SECONDS)
    two = nodes()
    eventually(lambda: two.take("browser", ignored))
    assert not one.take("browser", ignored)


def test_a_lock_that_a_new_connection_holds_already_belongs_to_another_process(nodes: Nodes) -> None:
    one, two = nodes(), nodes()
    assert one.take("browser", ignored)
    two._connection = one._connection  # what a pooler does
    assert not two.take("browser", ignored)
    two._connection = None


def test_without_the_database_no_lock_is_taken() -> None:
    nodes = Nodes(f"postgresql://postgres@127.0.0.1:{free_port()}/none")
    locks = nodes()
    with pytest.raises(StoreUnreachableError):
        locks.take("browser", ignored)
    locks.close()


def test_the_connection_is_open_only_while_a_lock_is_held(nodes: Nodes) -> None:
    one, held = nodes(), "select count(*) from pg_locks where locktype = 'advisory'"
    assert one.take("browser", ignored)
    assert nodes.query(held) == [(1,)]
    one.release("browser")
    assert one._connection is None
    eventually(lambda: nodes.query(held) == [(0,)])


def test_a_piece_of_work_has_one_claimant_and_passes_on_when_that_dies(nodes: Nodes) -> None:
    from remit.store.postgres.postgres_database import PostgresDatabase  # needs the driver

    one, two, three = (PostgresDatabase(nodes.address, patience=5) for _ in range(3))
    with one.claimed("embed", [1, 2]) as own:
        with two.claimed("embed", [2, 3]) as others, two.claimed("memory", [1]) as elsewhere:
            assert (set(own), set(others), set(elsewhere)) == ({1, 2}, {3}, {1})
        one.close()
        eventually(lambda: not nodes.query("select from pg_locks where locktype = 'advisory'"))
        with three.claimed("embed", [1, 2, 3]) as rest:
            assert set(rest) == {1, 2, 3}
    for each in (one, two, three):
        each.close()
