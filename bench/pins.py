"""Measures what pins add on this machine: to a list of 500 tools, to a call, and to storing a server's list.

Each figure with pins is a ratio to the same step without them, in turns, so a busy machine changes little.
"""

import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest.mock import patch

import anyio

from remit import __version__
from remit.bootstrap import open_registry
from remit.bootstrap_gateway import open_endpoint, open_upstream_pool
from remit.decision import decide
from remit.decision.declarations import Declaration
from remit.decision.gates import Gate
from remit.decision.tools import Definition
from remit.gateway.inventory_refresh import InventoryRefresher
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.call_metrics import CallMetrics
from remit.registry import Registry
from remit.store import server_store
from remit.store.sqlite import sqlite_database
from remit.upstream.upstream_model import Offer, ServerExtras
from support.gateway_fakes import FakeCaller

RESULTS = Path(__file__).parent / "results" / "pins.json"
SERVERS, TOOLS_EACH, ROUNDS, CALLS = 10, 50, 61, 401
COLUMNS = "d.described, a.danger, p.verdict, p.reason, p.detail"
PINS = "left join pins p indexed by pins_changed on p.tool_id = t.id and p.verdict is not null\n"
JOINS = (PINS, "left join definitions a on a.id = p.definition_id\n")
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    info = {"name": "x", "version": "1"}
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info},
        "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "done"}]},
    }
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {})}
        print(json.dumps(answer), flush=True)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        project = make_machine(root)
        with open_registry() as registry:
            figures = {**listings(registry, project), **stores(registry, project)}
        figures |= anyio.run(calls, project)
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "tools": SERVERS * TOOLS_EACH, **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        told = "  ".join(f"{key} {measured[key]:.3f}" for key in ("with_ms", "without_ms", "ratio"))
        print(f"{name:12} {told}{aim}")


def make_machine(root: Path) -> Path:
    """Make a home with ten servers and one that answers."""
    home, project = root / "home", root / "shop"
    (project / ".git").mkdir(parents=True)
    (home / ".claude").mkdir(parents=True)
    (root / "server.py").write_text(SERVER)
    entries: dict[str, dict[str, object]] = {
        f"server{number}": {"command": f"run-{number}"} for number in range(SERVERS)
    }
    entries["live"] = {"command": sys.executable, "args": [str(root / "server.py")]}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": entries}))
    os.environ.update({"HOME": str(home), "REMIT_HOME": str(root / "data")})
    time.sleep(2.1)  # a file is believed to be settled after two seconds
    return project


def definitions(server: str) -> list[Definition]:
    def definition(number: int) -> Definition:
        schema = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(4)}}
        text = f"Find item {number} of {server}. Results are sorted."
        return Definition(
            name=f"mcp__{server}__find_{number}",
            server=server,
            tool=f"find_{number}",
            description=text,
            input_schema=json.dumps(schema),
            raw=json.dumps({"description": text, "inputSchema": schema}),
        )

    return [definition(number) for number in range(TOOLS_EACH)]


def declared(registry: Registry, project: Path) -> list[Declaration]:
    context = registry.at(str(project))
    found = [item.declaration for item in registry.catalog.resolved(context)]
    return [each for each in found if each.server is not None and each.server.startswith("server")]


def keep(registry: Registry, project: Path, declarations: list[Declaration]) -> None:
    for each in declarations:
        offer = Offer(tools=definitions(each.server or ""), extras=ServerExtras())
        registry.catalog.keep(each, offer, registry.at(str(project)))


def skip(*_: object) -> None:
    """Do nothing in the place of a step."""


def stores(registry: Registry, project: Path) -> dict[str, dict[str, float]]:
    """Store the same lists again."""
    declarations = declared(registry, project)

    def without() -> None:
        with patch.object(server_store, "pin_listing", skip):
            keep(registry, project, declarations)

    return {"store_again": compared(lambda: keep(registry, project, declarations), without, ROUNDS)}


def listings(registry: Registry, project: Path) -> dict[str, dict[str, float]]:
    """List all tools, with their decisions."""
    context = registry.at(str(project))
    keep(registry, project, declared(registry, project))
    gates = tuple(row for row in decide.GATES if row[0] is not Gate.DEFINITION)
    queries = sqlite_database._QUERIES  # pyright: ignore[reportPrivateUsage] - the query without pins is no part of Remit
    plain = queries["catalog"]
    for part in JOINS:
        assert part in plain
        plain = plain.replace(part, "")
    assert COLUMNS in plain
    plain = plain.replace(COLUMNS, "null, null, null, null, null")
    changed = {name: queries[name] for name in queries.names()} | {"catalog": plain}

    def without() -> None:
        with patch.object(sqlite_database, "_QUERIES", changed), patch.object(decide, "GATES", gates):
            assert len(registry.tools(context)) >= SERVERS * TOOLS_EACH

    def with_pins() -> None:
        assert len(registry.tools(context)) >= SERVERS * TOOLS_EACH

    return {"list": compared(with_pins, without, ROUNDS, aim=1.03)}


async def calls(project: Path) -> dict[str, dict[str, float]]:
    """Call a tool of a process through the gateway."""
    spec = EndpointSpec(str(project))
    async with open_upstream_pool() as pool, open_endpoint(spec, pool, calls=CallMetrics()) as endpoint:
        await endpoint.tools({})

        async def call() -> None:
            answer = await endpoint.call({"name": "live__look", "arguments": {}}, FakeCaller())
            assert answer["content"][0]["text"] == "done", answer

        async def pass_by(*_: object) -> bool:
            return False

        async def without() -> None:
            with patch.object(InventoryRefresher, "list_first", pass_by):
                await call()

        for _ in range(20):
            await call()
        samples: tuple[list[float], list[float]] = ([], [])
        for number in range(CALLS):
            turns: list[tuple[list[float], Callable[[], Awaitable[None]]]] = [
                (samples[0], call),
                (samples[1], without),
            ]
            for into, step in turns if number % 2 else reversed(turns):
                began = time.perf_counter()
                await step()
                into.append((time.perf_counter() - began) * 1e3)
    return {"call": ratio(*samples, aim=1.03)}


def compared(
    one: Callable[[], None], other: Callable[[], None], rounds: int, *, aim: float | None = None
) -> dict[str, float]:
    samples: tuple[list[float], list[float]] = ([], [])
    one()
    other()
    for number in range(rounds):
        turns = [(samples[0], one), (samples[1], other)]
        for into, step in turns if number % 2 else reversed(turns):
            began = time.perf_counter()
            step()
            into.append((time.perf_counter() - began) * 1e3)
    return ratio(*samples, aim=aim)


def ratio(one: list[float], other: list[float], *, aim: float | None) -> dict[str, float]:
    """Compare the fastest quarter of both, which other work on the machine disturbs least."""
    fast, base = (statistics.mean(sorted(each)[: max(1, len(each) // 4)]) for each in (one, other))
    found = {"with_ms": fast, "without_ms": base, "ratio": fast / base, "n": len(one)}
    return found if aim is None else {**found, "aim": aim}


if __name__ == "__main__":
    main()
