"""Measures the gateway beside a plain connection and beside FastMCP's proxy: `gateway.py PEERS [DATA]`.

One run, the same tools, both eras. All that are compared on a row are open at once and asked in turn, so that
a slow moment of the machine is everyone's. PEERS is an environment with FastMCP; DATA holds `real-mcp-tools`,
without it the definitions are made up. The figures go to `results/gateway.json`.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from definitions import tools

from gateway_changes import changes, print_changes
from gateway_client import NEW, OLD, Client, Pipes, Web, Wire, machine
from gateway_tokens import tokens
from remit import __version__
from remit.search.evaluation import percentile
from support.processes import ServedProject, listening, server_command

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "gateway.json"
TOOLS, LISTS, CALLS, TRAPPED = 500, 25, 200, 10
STATE = 'strategy = "state"\n'
WORDS = "the same again"


class Row(NamedTuple):
    """Between whom messages pass, and how."""

    front: str
    back: str
    era: str

    @property
    def name(self) -> str:
        return f"{self.front}->{self.back} {self.era}"


ROWS = [
    Row(front, back, era)
    for front, back in (("stdio", "stdio"), ("http", "stdio"), ("http", "http"))
    for era in (OLD, NEW)
]
Figures = dict[str, dict[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("peers", type=Path)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--lists", type=int, default=LISTS, help="how often each list is asked for")
    parser.add_argument("--calls", type=int, default=CALLS, help="how often each tool is called")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), given.peers.absolute(), chosen(given.data), given.lists, given.calls)
        rows = {row.name: bench.compared(row) for row in ROWS}
        trap = bench.trapped()
        told = changes(Path(folder).resolve() / "changes")
        offered = tokens(Path(folder) / "tokens", chosen(given.data, 2_000))
    content = {
        "remit": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        **machine(),
        "tools": len(bench.tools),
        "bytes_of_tools": len(json.dumps(bench.tools, separators=(",", ":"))),
        "definitions": "real" if given.data else "made up",
        "rows": rows,
        "fastmcp_as_it_comes_http_2026": trap,
        "ms_until_a_change_is_told": told,
        "tokens_of_list": offered,
    }
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    print_rows(rows)
    print(f"\nFastMCP without the schema hook, http->stdio {NEW}: call p50 {trap['call']['p50']:.2f} ms")
    print_changes(told)
    print_tokens(offered)


def chosen(data: Path | None, count: int = TOOLS) -> list[dict[str, Any]]:
    """As many tools as asked for, of different names: of real servers, or made up."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((data / "real-mcp-tools").glob("*.json")) if data else ():
        for tool in json.loads(file.read_text("utf-8"))["tools"]:
            if tool.get("inputSchema", {}).get("type") == "object" and not tool["name"].endswith("echo"):
                found.setdefault(tool["name"], tool)
    real = list(found.values())
    return (real[:: max(len(real) // count, 1)] + tools(count))[:count]


class Bench:
    """The tools, in a file for the server behind, and ways to open each system."""

    def __init__(
        self, folder: Path, peers: Path, tools: list[dict[str, Any]], lists: int, calls: int
    ) -> None:
        self.folder, self.peers, self.tools = folder, peers, tools
        self.lists, self.calls = lists, calls
        self.file = folder / "tools.json"
        self.file.write_text(json.dumps(tools), "utf-8")

    def compared(self, row: Row) -> dict[str, Figures]:
        """Open all systems on a row, and ask each in turn."""
        print(f"measuring {row.name}", file=sys.stderr)
        with ExitStack() as stack:
            open_one = stack.enter_context
            clients = {"direct": open_one(client(self.direct(row), row.era))}
            back = self.behind(stack, row)
            clients["FastMCP"] = open_one(client(self.fastmcp(row.front, back, hooked=True), row.era))
            clients["Remit"] = open_one(client(self.remit(row.front, back), row.era))
            return asked_in_turn(clients, self.lists, self.calls)

    def trapped(self) -> Figures:
        """FastMCP as it comes, where the SDK lists all tools before it calls one."""
        print("measuring FastMCP as it comes", file=sys.stderr)
        back = server_command("echo.py", "stdio", str(self.file))
        with client(self.fastmcp("http", back, hooked=False), NEW) as one:
            return asked_in_turn({"it": one}, TRAPPED, TRAPPED)["it"]

    def behind(self, stack: ExitStack, row: Row) -> list[str] | str:
        """The server that gateways stand before: a command, or the URL of one that runs."""
        if row.back == "stdio":
            return server_command("echo.py", "stdio", str(self.file))
        return stack.enter_context(listening(server_command("echo.py", "http", str(self.file)))).url + "/mcp"

    @contextmanager
    def direct(self, row: Row) -> Generator[Wire]:
        if row.front == "stdio":
            yield Pipes(server_command("echo.py", "stdio", str(self.file)))
        else:
            with listening(server_command("echo.py", "http", str(self.file))) as listener:
                yield Web(listener.port)

    @contextmanager
    def fastmcp(self, front: str, back: list[str] | str, *, hooked: bool) -> Generator[Wire]:
        target = back if isinstance(back, str) else json.dumps(back)
        command = [str(self.peers / "bin/python"), str(HERE / "gateway_peers.py"), front, target]
        command += [str(self.file)] if hooked else []
        if front == "stdio":
            yield Pipes(command)
        else:
            with listening(command) as listener:
                yield Web(listener.port)

    @contextmanager
    def remit(self, front: str, back: list[str] | str) -> Generator[Wire]:
        with tempfile.TemporaryDirectory(dir=self.folder) as root:
            place = ServedProject(Path(root))
            place.declare({"bench": back}, STATE)
            place.learn()
            if front == "stdio":
                yield Pipes(place.command(), environment=place.environment, cwd=place.project)
            else:
                with place.serving() as listener:
                    yield Web(listener.port)


@contextmanager
def client(way: Any, era: str) -> Generator[Client]:
    with way as wire:
        try:
            yield Client(wire, era)
        finally:
            wire.close()


def asked_in_turn(clients: Mapping[str, Client], lists: int, calls: int) -> dict[str, Figures]:
    """Time lists and calls, after some that make things ready."""
    steps: dict[str, dict[str, Callable[[], bytes]]] = {}
    for name, one in clients.items():
        listed = one.tools()
        assert len(listed) > TOOLS, f"{name} lists {len(listed)} tools"
        echo = next(tool["name"] for tool in listed if tool["name"].endswith("echo"))
        said = {"name": echo, "arguments": {"text": WORDS}}
        assert one.result("tools/call", said)["content"][0]["text"] == WORDS
        steps[name] = {
            "list": lambda one=one: one.request("tools/list"),
            "call": lambda one=one, said=said: one.request("tools/call", said),
        }
    samples = timed(steps, lists, calls)
    return {name: {kind: figure(samples[kind][name]) for kind in samples} for name in clients}


def timed(
    steps: Mapping[str, Mapping[str, Callable[[], bytes]]], lists: int, calls: int
) -> dict[str, dict[str, list[float]]]:
    samples = {kind: {name: list[float]() for name in steps} for kind in ("list", "call")}
    for kind, rounds in (("list", lists), ("call", calls)):
        for at in range(-3, rounds):
            for name, step in steps.items():
                start = time.perf_counter()
                step[kind]()
                if at >= 0:
                    samples[kind][name].append(1000 * (time.perf_counter() - start))
    return samples


def figure(samples: list[float]) -> dict[str, float]:
    return {f"p{at}": round(percentile(samples, at / 100), 3) for at in (5, 50, 95)}


def print_rows(rows: Mapping[str, dict[str, Figures]]) -> None:
    """Print what was measured beside the aims, and whether they are met."""
    print(f"{'ms, p50 (p95)':26} {'':6} {'direct':>18} {'FastMCP':>18} {'Remit':>18}   Remit / direct   aims")
    for name, systems in rows.items():
        for kind in ("list", "call"):
            parts = [f"{one[kind]['p50']:9.2f} ({one[kind]['p95']:7.2f})" for one in systems.values()]
            print(f"{name:26} {kind:6} {' '.join(parts)}  {judged(name, kind, systems)}")


def judged(name: str, kind: str, systems: Mapping[str, Figures]) -> str:
    direct, peer, ours = (systems[one][kind]["p50"] for one in ("direct", "FastMCP", "Remit"))
    aims = {"ahead of FastMCP": ours < peer}
    if kind == "list":
        aims["faster than direct"] = ours < direct
    elif name.startswith("stdio"):
        aims["at most 1.6 times direct"] = ours <= 1.6 * direct
    said = ", ".join(f"{aim}: {'yes' if met else 'NO'}" for aim, met in aims.items())
    return f"{ours / direct:6.2f}           {said}"


def print_tokens(offered: Mapping[str, Mapping[str, int]]) -> None:
    sizes = list(offered)
    print(f"\n{'tokens of the list':20} " + " ".join(f"{size + ' tools':>12}" for size in sizes))
    for strategy in offered[sizes[0]]:
        print(f"{strategy:20} " + " ".join(f"{offered[size][strategy]:12,}" for size in sizes))


if __name__ == "__main__":
    main()
