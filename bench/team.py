"""Measures gateways on PostgreSQL beside SQLite and ContextForge: `team.py PEERS [--artifacts N]`.

One run, the same server behind all of them. Gateways that are compared are open at once and asked in turn, so
a slow moment of the machine is everyone's. PEERS is an environment with ContextForge, which speaks the older
era and has no search of tools. The figures go to `results/team.json`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from definitions import tools

from gateway_client import NEW, OLD, Client, Web
from search_figures import latency, machine
from support.haproxy import haproxy
from support.postgres import Databases, postgres_databases
from support.processes import Listener, ServedProject, listening, server_command
from team_fill import memory_growth, spread_over_projects
from team_peer import context_forge

RESULTS = Path(__file__).parent / "results" / "team.json"
FEW, MANY, PROJECTS = 500, 10_000, 1_000
STORED = 100_000  # tools of all projects
NODES = (1, 2, 4)
CLIENTS, REQUESTS = 8, 400
WORDS = "the same again"
QUERIES = (
    "delete an old record",
    "archive a build",
    "list open invoices",
    "send a message",
    "find a customer",
)
Figures = dict[str, Any]


@dataclass
class StoredProject(ServedProject):
    """A machine whose store is a PostgreSQL database, if it has an address."""

    address: str | None = None
    own: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def environment(self) -> dict[str, str]:
        chosen = {} if self.address is None else {"REMIT_STORE": self.address}
        return {**super().environment, **chosen, **self.own}

    def run(self, *words: str) -> None:
        command = [sys.executable, "-m", "remit", *words]
        subprocess.run(command, env=super().environment, check=True, stdout=subprocess.DEVNULL)


PARTS = ("few", "many", "projects", "nodes", "memory")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("peers", type=Path)
    parser.add_argument("--artifacts", type=int, default=100_000, help="the most artifacts of memory")
    parser.add_argument("--only", choices=PARTS, nargs="*")
    parser.add_argument("--tools", type=int, default=MANY, help="of one server, in `many` and `projects`")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, postgres_databases() as databases:
        bench = Bench(Path(folder).resolve(), given.peers.absolute(), databases)
        for part in given.only or PARTS:
            for name, figures in measured(part, bench, given):
                save(given.results, name, figures)
    print(given.results.read_text("utf-8"))


def measured(part: str, bench: "Bench", given: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Measure one part; each result is saved when it is there."""
    many = given.tools
    if part == "few":
        yield f"{FEW} tools", bench.compared(FEW, 'strategy = "state"\n', lists=20, calls=60)
    elif part == "many":
        yield f"{many} tools", bench.compared(many, "", lists=20, calls=40, most_of_peer=3)
    elif part == "projects":
        figures = bench.compared(many, "", lists=20, calls=40, spread=True, with_peer=False)
        yield f"{STORED} tools of {PROJECTS} projects", figures
    elif part == "nodes":
        rows: list[Figures] = []
        for count in NODES:
            rows.append(bench.nodes(count))
            yield "nodes", rows
    else:
        grown: list[Figures] = []
        for row in memory_growth(bench.databases, given.artifacts):
            grown.append(row)
            yield "memory", grown


def save(results: Path, name: str, figures: Any) -> None:
    """Merge figures into the results, with the machine at that time; parts that did not run keep theirs."""
    content: Figures = json.loads(results.read_text("utf-8")) if results.exists() else {}
    content[name] = figures
    content.setdefault("machines", {})[name] = machine()
    content.pop("machine", None)
    content["aims"] = aims(content)
    results.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    print(f"saved: {name}", file=sys.stderr)


class Bench:
    """Opens gateways on new stores, and measures them."""

    def __init__(self, folder: Path, peers: Path, databases: Databases) -> None:
        self.folder, self.peers, self.databases = folder, peers, databases
        self._number = 0

    def compared(
        self,
        count: int,
        configuration: str,
        *,
        lists: int,
        calls: int,
        most_of_peer: int = 1_000,
        spread: bool = False,
        with_peer: bool = True,
    ) -> Figures:
        """Ask all gateways in turn, with so many tools behind them."""
        print(f"measuring {count} tools", file=sys.stderr)
        with ExitStack() as stack:
            server = stack.enter_context(self.server(count))
            place = self.place(server, configuration)
            place.learn()
            if spread:
                spread_over_projects(place.root / "data/remit.db", STORED, PROJECTS)
            opened = {"sqlite": stack.enter_context(place.serving())}
            on_postgres = self.copied(place)
            opened["postgres"] = stack.enter_context(on_postgres.serving())
            clients = {name: Client(Web(each.port), OLD) for name, each in opened.items()}
            figures: Figures = {}
            for name, each in opened.items():
                figures[f"first discover, {name}"] = {"seconds": settle(clients[name], each)}
            limits = dict.fromkeys(clients, 1_000)
            if with_peer:
                address = self.databases.create_empty()
                place_of_peer = self.new_folder("peer")
                peer = stack.enter_context(context_forge(self.peers, place_of_peer, address, server))
                clients["ContextForge"] = Client(Web(peer.port), OLD)
                limits["ContextForge"] = most_of_peer
                figures["ContextForge learns the tools"] = {"seconds": peer.registered_s}
            figures |= in_turn("list", {name: listed(one) for name, one in clients.items()}, lists, limits)
            figures |= in_turn("echo", {name: echo(one) for name, one in clients.items()}, calls, limits)
            ours = {name: discovery(clients[name]) for name in ("sqlite", "postgres")}
            return figures | in_turn("discover", ours, calls, limits)

    def nodes(self, count: int) -> Figures:
        """Measure processor time a request, of so many nodes behind HAProxy."""
        print(f"measuring {count} nodes", file=sys.stderr)
        with ExitStack() as stack:
            server = stack.enter_context(self.server(FEW))
            place = self.place(server, 'strategy = "state"\n')
            place.learn()
            first = self.copied(place)
            opened = [
                stack.enter_context(
                    StoredProject(first.root, address=first.address, own={"REMIT_HOME": str(home)}).serving()
                )
                for home in (self.new_folder("node") for _ in range(count))
            ]
            for each in opened:
                settle(Client(Web(each.port), NEW), each)
            port = stack.enter_context(haproxy(self.new_folder("proxy"), [each.port for each in opened]))
            figures: Figures = {"nodes": count}
            for name, make in (("list", listed), ("echo", echo), ("discover", discovery)):
                figures[name] = together(port, make, [each.pid for each in opened])
            return figures

    @contextmanager
    def server(self, count: int) -> Generator[str]:
        file = self.new_folder("server") / "tools.json"
        file.write_text(json.dumps(tools(count - 1)), "utf-8")
        with listening(server_command("echo.py", "http", str(file))) as listener:
            yield f"{listener.url}/mcp"

    def place(self, server: str, configuration: str) -> StoredProject:
        place = StoredProject(self.new_folder("place"))
        place.declare({"bench": server}, configuration)
        return place

    def copied(self, place: StoredProject) -> StoredProject:
        """Copy its store into a new database, which a gateway then uses."""
        address = self.databases.create_empty()
        source = f"sqlite:{place.root / 'data/remit.db'}"
        place.run("store", "copy", "--from", source, "--to", address)
        self.databases.analyze(address)
        home = str(self.new_folder("data"))
        return StoredProject(place.root, address=address, own={"REMIT_HOME": home})

    def new_folder(self, name: str) -> Path:
        self._number += 1
        made = self.folder / f"{name}-{self._number}"
        made.mkdir()
        return made


Step = Callable[[], bytes]


def listed(one: Client) -> Step:
    return lambda: one.request("tools/list")


def echo(one: Client) -> Step:
    """Call a tool by the name that a gateway gives it."""
    names = [tool["name"] for tool in one.tools() if tool["name"].endswith("echo")]
    said = {"name": names[0] if names else "bench__echo", "arguments": {"text": WORDS}}
    answer = one.result("tools/call", said)
    assert answer["content"][0]["text"] == WORDS, answer
    return lambda: one.request("tools/call", said)


def discovery(one: Client) -> Step:
    asked = [{"name": "discover_tools", "arguments": {"query": query}} for query in QUERIES]
    assert "bench__" in one.result("tools/call", asked[0])["content"][0]["text"]
    numbers = iter(range(10**9))
    return lambda: one.request("tools/call", asked[next(numbers) % len(asked)])


def in_turn(kind: str, steps: Mapping[str, Step], rounds: int, limits: Mapping[str, int]) -> Figures:
    """Time steps round by round, after two that make things ready."""
    taken = {name: list[float]() for name in steps}
    for at in range(-2, rounds):
        for name, step in steps.items():
            if at >= limits[name] or (at < -1 and limits[name] < rounds):
                continue
            start = time.perf_counter()
            step()
            if at >= 0:
                taken[name].append(1000 * (time.perf_counter() - start))
    return {f"{kind}, {name}": latency(each) for name, each in taken.items()}


def settle(one: Client, node: Listener) -> float:
    """Let a gateway index its tools, which it does once; return the seconds of the first search."""
    one.request("tools/list")
    start = time.perf_counter()
    try:
        discovery(one)
    except ConnectionError as error:
        raise ConnectionError(f"{error}: {''.join(node.said[-5:])}") from None
    first = time.perf_counter() - start
    while True:
        discovery(one)()
        before = processor_ms([node.pid])
        time.sleep(0.5)
        if processor_ms([node.pid]) - before < 50:
            return round(first, 2)


def together(port: int, make: Callable[[Client], Step], nodes: list[int]) -> Figures:
    """Let several clients ask at once, and take the processor time of nodes and database."""
    steps = [make(Client(Web(port), NEW)) for _ in range(CLIENTS)]
    taken: list[float] = []

    def work(step: Step) -> None:
        for _ in range(REQUESTS // CLIENTS):
            start = time.perf_counter()
            step()
            taken.append(1000 * (time.perf_counter() - start))

    threads = [threading.Thread(target=work, args=(step,)) for step in steps]
    for each in steps:
        each()
    before, start = (processor_ms(nodes), processor_ms(database_processes())), time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    seconds = time.perf_counter() - start
    of_nodes = processor_ms(nodes) - before[0]
    of_database = processor_ms(database_processes()) - before[1]
    return {
        "node_cpu_ms": round(of_nodes / len(taken), 3),
        "database_cpu_ms": round(of_database / len(taken), 3),
        "requests_a_second": round(len(taken) / seconds),
        **latency(taken),
    }


def database_processes() -> list[int]:
    """List the processes of the database that this program started."""
    commands = {pid: command_of(pid) for pid in descendants()}
    return [pid for pid, words in commands.items() if b"postgres: " in words or b"/postgres\0" in words]


def descendants() -> list[int]:
    """List all processes that this one started, and those that they started."""
    parents: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                words = Path(entry.path, "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(words[1])
    found, new = [os.getpid()], [os.getpid()]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found[1:]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def processor_ms(pids: list[int]) -> float:
    """Sum up the processor time of processes and of their children that ended."""
    tick, total = os.sysconf("SC_CLK_TCK"), 0
    for pid in pids:
        try:
            words = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, words[11:15]))
    return 1000 * total / tick


def aims(content: Mapping[str, Any]) -> dict[str, Any]:
    """Hold the figures to the aims: within 1.2 times of SQLite, discovery 3 times, ahead of ContextForge."""
    found: dict[str, Any] = {}
    for size in (name for name in content if name.endswith(("tools", "projects"))):
        row = content[size]
        for kind, most in (("list", 1.2), ("echo", 1.2), ("discover", 3.0)):
            ours, sqlite = (row[f"{kind}, {name}"]["p50_ms"] for name in ("postgres", "sqlite"))
            aim = {"times_sqlite": round(ours / sqlite, 2), "at_most": most, "met": ours <= most * sqlite}
            if peer := row.get(f"{kind}, ContextForge"):
                aim |= {"times_faster_than_contextforge": round(peer["p50_ms"] / ours, 1)}
            found[f"{size}, {kind}"] = aim
    return found


if __name__ == "__main__":
    main()
