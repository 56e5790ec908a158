"""A server that only one gateway may run: real gateways on one PostgreSQL, behind HAProxy.

The gateway that runs it is killed, and the database is restarted: another takes over, and never do two run.
"""

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

import httpx2
import pytest

from support.downstream import NEW, OLD, downstream
from support.haproxy import HAPROXY, haproxy
from support.postgres import PostgresServer, free_port, needs_postgres
from support.processes import ServedProject, server_command

NODES = 2
PATIENCE = 60.0  # seconds for what takes a few
RULES = 'strategy = "flat"\n[servers.single]\nsessions = "single"\n'

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif("REMIT_TEAM_CLIENTS" not in os.environ, reason="`make test-team` runs it"),
    pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed"),
    needs_postgres,
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Nodes:
    """Gateways with one server that must be single."""

    place: ServedProject
    database: PostgresServer
    log: Path
    proxy: str = ""
    ports: list[int] = field(default_factory=lambda: [free_port() for _ in range(NODES)])
    running: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict[int, Any])

    def start(self, node: int) -> None:
        own = {"REMIT_HOME": str(self.place.root / f"data-{node}"), "REMIT_STORE": self.database.address()}
        with (self.place.root / f"node-{node}.log").open("ab") as log:
            self.running[node] = subprocess.Popen(
                self.place.command("--http", f"127.0.0.1:{self.ports[node]}"),
                env={**self.place.environment, **own},
                cwd=self.place.project,
                stderr=log,
                stdout=log,
            )

    async def ready(self, node: int) -> None:
        async with httpx2.AsyncClient() as http:
            while True:
                try:
                    if (await http.get(f"http://127.0.0.1:{self.ports[node]}/ready")).status_code == 200:
                        return
                except httpx2.HTTPError:
                    pass
                log = self.place.root / f"node-{node}.log"
                assert self.running[node].poll() is None, log.read_text("utf-8")
                await asyncio.sleep(0.05)

    def owner(self) -> int:
        """Return the node whose process runs the server."""
        (pid,) = self.alive()
        parent = int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
        return next(node for node, process in self.running.items() if process.pid == parent)

    def alive(self) -> list[int]:
        """Return the processes of the server that run now."""
        noted = (line.split() for line in self.log.read_text("utf-8").splitlines())
        return [int(pid) for word, pid in noted if word == "start" and _runs(int(pid))]

    def overlaps(self) -> list[str]:
        """Return the starts of the server while another process of it ran, as it noted them itself."""
        return [line for line in self.log.read_text("utf-8").splitlines() if line.startswith("overlap")]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def nodes(tmp_path: Path) -> Generator[Nodes]:
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
    place, database = ServedProject(tmp_path), PostgresServer(folder)
    made = Nodes(place, database, tmp_path / "log")
    made.log.touch()
    place.declare({"single": server_command("single.py", str(made.log))}, RULES)
    try:
        database.start()
        for node in range(NODES):
            made.start(node)
            asyncio.run(made.ready(node))
        with haproxy(tmp_path, made.ports) as port:
            made.proxy = f"http://127.0.0.1:{port}"
            yield made
    finally:
        for process in made.running.values():
            process.kill()
            process.wait()
        database.kill()
        rmtree(folder, ignore_errors=True)


async def who(nodes: Nodes, era: str) -> int:
    """Call the server through the load balancer."""
    async with downstream(nodes.proxy, era) as client:
        return int(await client.call("single__who"))


async def eventually(nodes: Nodes, *, unlike: int | None = None) -> int:
    """Call until a process answers, and not a given one; never may two run."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                found = await who(nodes, NEW)
            except (ValueError, AssertionError, httpx2.HTTPError):
                found = unlike
            assert len(nodes.alive()) <= 1
            if found != unlike:
                assert found is not None
                return found


async def test_calls_of_both_eras_reach_the_one_gateway_that_runs_the_server(nodes: Nodes) -> None:
    first = await eventually(nodes)
    for era in (NEW, OLD) * 10:
        assert await who(nodes, era) == first
    assert nodes.alive() == [first]


async def test_another_gateway_takes_over_when_the_owner_is_killed(nodes: Nodes) -> None:
    first = await eventually(nodes)
    owner = nodes.owner()
    nodes.running[owner].send_signal(signal.SIGKILL)
    second = await eventually(nodes, unlike=first)
    assert nodes.alive() == [second]
    assert nodes.owner() != owner
    assert not nodes.overlaps()


async def test_after_a_restart_of_the_database_exactly_one_gateway_runs_the_server(nodes: Nodes) -> None:
    first = await eventually(nodes)
    nodes.database.stop()
    async with asyncio.timeout(PATIENCE):
        while nodes.alive():  # nobody can prove that it is the only one
            await asyncio.sleep(0.05)
    nodes.database.start()
    second = await eventually(nodes, unlike=first)
    for era in (NEW, OLD) * 10:
        assert await who(nodes, era) == second
    assert nodes.alive() == [second]
    assert not nodes.overlaps()
