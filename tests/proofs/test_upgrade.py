"""Gateways behind HAProxy while the schema of their store becomes newer than they know.

As during an upgrade: someone migrates, connections are lost and opened again, and a gateway of the old
version is restarted. After a migration that older gateways can live with, clients notice nothing.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

import psycopg
import pytest

from remit.errors import StoreTooNewError
from remit.store.open_store import open_store
from remit.store.postgres import postgres_schema
from support.haproxy import HAPROXY
from support.postgres import needs_postgres
from support.team_clients import PATIENCE, Client, Found
from support.team_nodes import NODES, Team, team_nodes

CLIENTS, SECONDS = 6, 8.0

pytestmark = [
    pytest.mark.skipif("REMIT_TEAM_CLIENTS" not in os.environ, reason="`make test-team` runs it"),
    pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed"),
    needs_postgres,
]


def migrate(team: Team, number: int, oldest: int) -> None:
    """Do what a newer version would: change the schema, and say who can go on."""
    with psycopg.connect(team.database.address(), autocommit=True) as connection:
        connection.execute(f"alter table remit.tools add column later_{number} text".encode())
        connection.execute("insert into remit.schema_version values (%s, %s)", [number, oldest])


def cut_connections(team: Team) -> None:
    """End all connections of gateways, as a restart of the database does."""
    with psycopg.connect(team.database.address(), autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where backend_type = 'client backend' and pid <> pg_backend_pid()"
        )


async def upgrade(team: Team, began: float) -> None:
    """Migrate, then cut connections and restart a gateway, which is of the old version."""
    await asyncio.sleep(began + SECONDS / 4 - time.monotonic())
    newest = postgres_schema.newest()
    await asyncio.to_thread(migrate, team, newest + 1, newest)
    team.down = [(time.monotonic(), time.monotonic())]  # a request may lose its connection now
    await asyncio.to_thread(cut_connections, team)
    team.nodes[1].send_signal(signal.SIGTERM)
    await asyncio.to_thread(team.nodes[1].wait)
    team.start(1)
    await asyncio.wait_for(team.ready(1), PATIENCE)


async def run(team: Team, found: Found) -> None:
    began = found.began = time.monotonic()
    work = [Client(team, found, number).work(began + SECONDS) for number in range(CLIENTS)]
    await asyncio.gather(upgrade(team, began), *work)
    for node in range(NODES):
        await asyncio.wait_for(team.ready(node), PATIENCE)
    last = Found()
    await asyncio.gather(
        *(
            Client(team, last, CLIENTS + number).work(time.monotonic() + SECONDS / 4)  # saves other titles
            for number in range(CLIENTS)
        )
    )
    found.wrong += last.wrong
    found.unexplained += last.unexplained
    found.counts += last.counts


def test_gateways_go_on_while_the_schema_becomes_newer(tmp_path: Path) -> None:
    with team_nodes(tmp_path.resolve(), has_filters=True) as team:
        found = Found()
        asyncio.run(run(team, found))
        assert found.wrong[:5] == []
        assert found.unexplained[:5] == []
        assert found.counts["calls"] > CLIENTS
        migrate(team, 999, 999)
        with pytest.raises(StoreTooNewError):
            open_store(team.database.address())
