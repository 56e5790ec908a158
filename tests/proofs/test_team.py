"""Three gateways on one PostgreSQL behind HAProxy: nodes are killed, the database too, and no write is lost.

`make test-team` runs 6 clients for 12 seconds. `make prove-team` runs 200 for a minute.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remit.errors import StoreUnavailableError
from remit.files.checkout import locate
from remit.gateway.endpoint import STORE_DOWN
from remit.search.evaluation import percentile
from remit.store.open_store import open_store
from support.downstream import NEW, OLD, Downstream
from support.postgres import PostgresServer, needs_postgres
from support.processes import ServedProject

CLIENTS = int(os.environ.get("REMIT_TEAM_CLIENTS", "0"))
SECONDS = float(os.environ.get("REMIT_TEAM_SECONDS", "12"))
NODES = 3
OUTAGE = 2.0  # seconds without the database
NOTICED = 1.0  # seconds after which the proxy no longer uses a node that was killed
HAPROXY = shutil.which("haproxy")
SERVER = """
import json, sys
TOOLS = [{"name": name, "description": "Say a text again.", "inputSchema": {"type": "object"}} for name in ("echo", "guarded")]
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": TOOLS}
    elif asked["method"] == "tools/call":
        text = asked["params"]["arguments"]["text"]
        if asked["params"]["name"] == "guarded":
            with open(sys.argv[1], "a") as log:
                log.write(text + "\\n")
        result = {"content": [{"type": "text", "text": text}]}
    else:
        result = {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""  # noqa: E501
PROXY = """
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  option redispatch
  retries 3
  retry-on conn-failure empty-response
frontend all
  bind 127.0.0.1:{port}
  default_backend gateways
backend gateways
  option httpchk
  http-check send meth GET uri /ready hdr Host 127.0.0.1
  default-server check inter 250ms fall 2 rise 1
  stick-table type string len 64 size 1m expire 1h
  stick store-response res.hdr(mcp-session-id)
  stick match req.hdr(mcp-session-id)
{servers}
"""

pytestmark = [
    pytest.mark.skipif(not CLIENTS, reason="`make test-team` and `make prove-team` run it"),
    pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed"),
    needs_postgres,
]


@dataclass
class Team:
    """The nodes, the proxy and the database, and what clients found."""

    place: ServedProject
    database: PostgresServer
    ports: list[int]
    proxy: str
    log: Path
    nodes: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict[int, Any])
    began: float = 0.0
    kills: list[float] = field(default_factory=list[float])
    down: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    counts: Counter[str] = field(default_factory=Counter[str])
    times: list[float] = field(default_factory=list[float])
    wrong: list[str] = field(default_factory=list[str])
    unexplained: list[str] = field(default_factory=list[str])
    approved: dict[str, bool] = field(default_factory=dict[str, bool])  # whether every answer arrived

    def start(self, node: int) -> None:
        """Start a node, as on a machine of its own."""
        data = self.place.root / f"data-{node}"
        own = {"REMIT_HOME": str(data), "REMIT_STORE": self.database.address()}
        command = [sys.executable, "-m", "remit", "serve", "--project", str(self.place.project)]
        with (self.place.root / f"node-{node}.log").open("ab") as log:
            self.nodes[node] = subprocess.Popen(
                [*command, "--http", f"127.0.0.1:{self.ports[node]}"],
                env={**self.place.environment, **own},
                cwd=self.place.project,
                stderr=log,
            )

    async def ready(self, node: int) -> None:
        """Wait for a node; one that ended is started again, as a supervisor would: it needs the database."""
        async with httpx2.AsyncClient() as http:
            while True:
                with suppress(httpx2.HTTPError):
                    found = await http.get(f"http://127.0.0.1:{self.ports[node]}/ready", timeout=2)
                    if found.status_code == 200:
                        return
                if self.nodes[node].poll() is not None:
                    self.start(node)
                await asyncio.sleep(0.05)

    def is_explained(self, began: float) -> bool:
        """Whether a request that failed now may have been in flight on a node when it was killed."""
        return any(began < at + NOTICED and at <= time.monotonic() for at in self.kills)

    def was_down(self, began: float) -> bool:
        """Whether a request that is answered now may have needed the database while it was down."""
        return any(start < time.monotonic() and began < end + 2 for start, end in self.down)


def free_ports(count: int) -> list[int]:
    import socket

    with ExitStack() as opened:
        found = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


@contextmanager
def team(root: Path) -> Generator[Team]:
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
    database = PostgresServer(folder)
    proxy_port, *ports = free_ports(NODES + 1)
    made = Team(ServedProject(root), database, ports, f"http://127.0.0.1:{proxy_port}", root / "spent")
    made.log.touch()
    made.place.declare(
        {"echo": [sys.executable, "-c", SERVER, str(made.log)]},
        'strategy = "flat"\n[tools."echo__guarded"]\napproval = true\n',
    )
    servers = "\n".join(f"  server node{at} 127.0.0.1:{port}" for at, port in enumerate(ports))
    (root / "haproxy.cfg").write_text(PROXY.format(port=proxy_port, servers=servers), "utf-8")
    assert HAPROXY is not None
    proxy = None
    try:
        database.start()
        for node in range(NODES):
            made.start(node)
            asyncio.run(made.ready(node))
        proxy = subprocess.Popen([HAPROXY, "-db", "-q", "-f", str(root / "haproxy.cfg")])
        time.sleep(1)
        yield made
    finally:
        for process in (*made.nodes.values(), *([proxy] if proxy else [])):
            process.kill()
            process.wait()
        database.kill()
        shutil.rmtree(folder, ignore_errors=True)


class Client:
    """A client that connects again when its session is gone, as a host application does."""

    def __init__(self, team: Team, number: int) -> None:
        self.team, self.number, self.turn = team, number, 0
        self.http = httpx2.AsyncClient(base_url=team.proxy, timeout=60)
        self.link: Downstream | None = None

    async def ask(self, method: str, **params: Any) -> dict[str, Any] | None:
        """Send a request; None if it failed."""
        began = time.monotonic()
        for _ in range(5):
            try:
                if self.link is None:
                    self.link = Downstream(self.http, OLD if self.number % 2 else NEW, "/mcp", {})
                    if self.number % 2:
                        await self.link.open()
                answer = await self.link.ask(method, **params)
            except (httpx2.HTTPError, json.JSONDecodeError, KeyError) as error:
                self.link = None
                self.team.counts["failed"] += 1
                if not self.team.is_explained(began):
                    self.team.unexplained.append(
                        f"{time.monotonic() - self.team.began:.1f} s: {method}: {error!r}"
                    )
                return None
            if answer.get("error", {}).get("message") == "Session not found":
                self.link = None
                self.team.counts["reconnected"] += 1
                continue
            self.team.times.append(time.monotonic() - began)
            return answer
        return None

    async def call(self, name: str, **arguments: Any) -> dict[str, Any] | None:
        began = time.monotonic()
        answer = await self.ask("tools/call", name=name, arguments=arguments)
        is_down = answer is not None and answer.get("error", {}).get("message") == STORE_DOWN
        if is_down and name == "discover_tools" and self.team.was_down(began):
            self.team.counts["searches refused without the database"] += 1  # this node never searched before
            return None
        if answer is not None and "result" not in answer:
            self.team.wrong.append(f"{name}: {answer}")
            return None
        return None if answer is None else answer["result"]

    async def work(self, until: float) -> None:
        try:
            while time.monotonic() < until:
                self.turn += 1
                await self.echo()
                if self.turn % 5 == 0:
                    await self.list()
                if self.turn % 7 == 0:
                    await self.discover()
                if self.turn % 10 == 0:
                    await self.spend()
        finally:
            await self.http.aclose()

    async def echo(self) -> None:
        text = f"{self.number}-{self.turn}"
        answer = await self.call("echo__echo", text=text)
        if answer is not None:
            self.team.counts["calls"] += 1
            if answer["content"][0]["text"] != text:
                self.team.wrong.append(f"echo {text}: {answer}")

    async def list(self) -> None:
        answer = await self.ask("tools/list")
        if answer is not None:
            self.team.counts["lists"] += 1
            names = {tool["name"] for tool in answer.get("result", {}).get("tools", ())}
            if not names >= {"echo__echo", "echo__guarded"}:
                self.team.wrong.append(f"list: {answer}")

    async def discover(self) -> None:
        answer = await self.call("discover_tools", query="say a text again")
        if answer is not None:
            self.team.counts["discoveries"] += 1
            if "echo__echo" not in answer["content"][0]["text"]:
                self.team.wrong.append(f"discover: {answer}")

    async def spend(self) -> None:
        """Request approval, answer it as a person would, and try to spend it twice at once."""
        text, began = f"guarded-{self.number}-{self.turn}", time.monotonic()
        asked = await self.call("echo__guarded", text=text)
        if asked is None:
            return
        id: str | None = asked.get("structuredContent", {}).get("approval")
        if id is None:
            self.team.counts["refused without the database"] += 1
            if not self.team.was_down(began) or "cannot be checked now" not in asked["content"][0]["text"]:
                self.team.wrong.append(f"approval: {asked}")
            return
        try:
            is_answered = await asyncio.to_thread(approve, self.team, id)
        except StoreUnavailableError:
            return  # not acknowledged
        if not is_answered:
            self.team.wrong.append(f"lost approval {id}")
            return
        self.team.counts["approvals"] += 1
        self.team.approved[text] = True
        other = Client(self.team, self.number + 1)  # of the other era
        try:
            for _ in range(50):
                found = await asyncio.gather(
                    self.call("echo__guarded", text=text), other.call("echo__guarded", text=text)
                )
                if None in found:
                    self.team.approved[text] = False  # an answer may be lost with its node
                    return
                texts = [each["content"][0]["text"] for each in found if each is not None]
                if text in texts:
                    return
                await asyncio.sleep(0.2)  # the database is down
            self.team.wrong.append(f"never spent: {text}")
        finally:
            await other.http.aclose()


def approve(team: Team, id: str) -> bool:
    store = open_store(team.database.address())
    try:
        at = time.time_ns() // 1_000_000
        return store.approvals.answer(id, locate(str(team.place.project)), at, is_approved=True) is not None
    finally:
        store.close()


async def disturb(team: Team, began: float) -> None:
    """Kill a node and start it again, kill the database, and end a node properly."""

    async def at(part: float) -> None:
        await asyncio.sleep(max(0.0, began + part * SECONDS - time.monotonic()))

    await at(0.2)
    team.kills.append(time.monotonic())
    team.nodes[1].send_signal(signal.SIGKILL)
    await asyncio.to_thread(team.nodes[1].wait)
    team.start(1)
    await at(0.5)
    start = time.monotonic()
    team.down = [(start, start + 3600)]
    await asyncio.to_thread(team.database.kill)
    await asyncio.sleep(OUTAGE)
    await asyncio.to_thread(team.database.start)
    team.down = [(start, time.monotonic())]
    await at(0.75)
    team.nodes[2].send_signal(signal.SIGTERM)
    await asyncio.to_thread(team.nodes[2].wait)
    team.start(2)


async def run(team: Team) -> None:
    began = team.began = time.monotonic()
    clients = [Client(team, number).work(began + SECONDS) for number in range(CLIENTS)]
    await asyncio.gather(disturb(team, began), *clients)
    for node in range(NODES):
        await asyncio.wait_for(team.ready(node), 60)


async def recorded(team: Team) -> int:
    """Wait until no calls wait in a spool, and count the recorded ones."""
    import psycopg

    spools = [team.place.root / f"data-{node}/call-spool" for node in range(NODES)]
    end = time.monotonic() + 60
    while any(path.is_dir() and any(path.glob("*.json")) for path in spools):
        assert time.monotonic() < end, "calls stay in a spool"
        await asyncio.sleep(0.1)
    await asyncio.sleep(1)  # the last batches
    with psycopg.connect(team.database.address()) as connection:
        found = connection.execute(
            "select count(*) from remit.audit where tool = 'mcp__echo__echo' and outcome = 'done'"
        ).fetchall()
    return found[0][0]


def test_a_team_loses_no_write_and_spends_no_approval_twice(tmp_path: Path, capsys: Any) -> None:
    with team(tmp_path.resolve()) as made:
        asyncio.run(run(made))
        kept = asyncio.run(recorded(made))
        spent = Counter(made.log.read_text("utf-8").split())
        lost = [text for text, is_certain in made.approved.items() if is_certain and spent[text] != 1]
        twice = [text for text, count in spent.items() if count > 1]
        times = sorted(1000 * each for each in made.times)
        with capsys.disabled():
            print(  # noqa: T201 - the figures are what this is run for
                f"\n{CLIENTS} clients, {SECONDS:g} s: {dict(made.counts)}; wrong answers {len(made.wrong)}, "
                f"failures without a killed node {len(made.unexplained)}, "
                f"acknowledged approvals lost {len(lost)}, spent twice {len(twice)}, "
                f"calls recorded {kept} of {made.counts['calls']}; "
                f"p50 {percentile(times, 0.5):.0f} ms, p99 {percentile(times, 0.99):.0f} ms"
            )
    assert made.wrong[:5] == []
    assert made.unexplained[:5] == []
    assert (lost, twice) == ([], [])
