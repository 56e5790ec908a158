"""Measures Remit on this machine, prints the figures beside their aims, and stores them as JSON.

Process times are ratios to a bare `python -c pass` of the same run, so that a slow machine changes nothing.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from remit import __version__
from remit.bootstrap import open_states
from remit.decision.decide import decide, explain
from remit.files.bounded_reader import Machine
from remit.registry import Registry
from remit.scanning.client_files import ClientFiles
from remit.search.engine import SearchEngine
from remit.store.open_store import open_store

RESULTS = Path(__file__).parent / "results" / "registry.json"
SERVERS, TOOLS_EACH = 200, 49  # 10,000 rows with the servers' own
ROUNDS = 31

LIST_COLD = """
import sys, time
from remit.files.checkout import locate
from remit.store.open_store import open_store
from remit.decision.projects import DEFAULT_FLAGS
here = locate(sys.argv[2])
start = time.perf_counter()
tools = open_store(sys.argv[1]).catalog(here, DEFAULT_FLAGS)
print(time.perf_counter() - start, len(tools))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, large_catalog(Path(folder)) as registry:
        root = Path(folder)
        figures = {
            "decide_us_per_tool": figure(decide_one(registry, root), aim=20),
            "explain_us_per_tool": figure(explain_one(registry, root)),
            "catalog_cold_ms": figure(catalog_cold(root), aim=150),
            **process_ratios(root),
        }
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "tools": SERVERS * (TOOLS_EACH + 1), **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:24} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


def figure(samples: list[float], *, aim: float | None = None) -> dict[str, float]:
    ordered = sorted(samples)
    measured = {
        "p50": statistics.median(ordered),
        "p95": ordered[int(len(ordered) * 0.95)],
        "n": len(ordered),
    }
    return {**measured, "aim": aim} if aim is not None else measured


@contextmanager
def large_catalog(root: Path) -> Generator[Registry]:
    """A home with 200 servers in three scopes, and all their tools known."""
    project = root / "project"
    (project / ".git").mkdir(parents=True)
    (root / "home").mkdir()
    labels = [f"server{number:03}" for number in range(SERVERS)]
    entries = [{label: {"command": label} for label in labels[start::3]} for start in range(3)]
    state = {"mcpServers": entries[0], "projects": {str(project): {"mcpServers": entries[1]}}}
    (root / "home/.claude.json").write_text(json.dumps(state))
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": entries[2]}))
    for file in (root / "home/.claude.json", project / ".mcp.json"):
        os.utime(file, ns=(0, 0))  # long settled
    machine = Machine(home=str(root / "home"), variables={})
    clock = iter(range(10**6, 10**9))
    store = open_store(str(root / "data/remit.db"))
    states = open_states(store, machine)
    with Registry(store, ClientFiles(machine), states, SearchEngine({}), lambda: next(clock)) as registry:
        here = registry.at(str(project))
        registry.scan(here)
        for label in labels:
            for number in range(TOOLS_EACH):
                name = f"mcp__{label}__tool_{number}"
                registry.usage.report_tool(
                    name, here, description=f"Does thing {number} of {label}, and says how it went."
                )
                if number < 5:
                    registry.usage.record(name, here)
        yield registry


def decide_one(registry: Registry, root: Path) -> list[float]:
    here = registry.at(str(root / "project"))
    tools = [item.tool for item in registry.tools(here)]
    assert len(tools) == SERVERS * (TOOLS_EACH + 1)
    return [timed(lambda: [decide(tool, here) for tool in tools]) / len(tools) * 1e6 for _ in range(ROUNDS)]


def explain_one(registry: Registry, root: Path) -> list[float]:
    here = registry.at(str(root / "project"))
    tools = [item.tool for item in registry.tools(here)]
    return [timed(lambda: [explain(tool, here) for tool in tools]) / len(tools) * 1e6 for _ in range(ROUNDS)]


def catalog_cold(root: Path) -> list[float]:
    """The first listing of a process that has just opened the database."""
    command = [sys.executable, "-c", LIST_COLD, str(root / "data/remit.db"), str(root / "project")]
    samples: list[float] = []
    for _ in range(11):
        seconds, count = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert int(count) == SERVERS * (TOOLS_EACH + 1)
        samples.append(float(seconds) * 1e3)
    return samples


def process_ratios(root: Path) -> dict[str, dict[str, float]]:
    """Whole processes, on a home of ordinary size, each round beside a bare interpreter."""
    home, project = root / "small", root / "shop"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    (home / ".claude.json").write_text(
        json.dumps({"mcpServers": {f"s{n}": {"command": "x"} for n in range(30)}})
    )
    os.utime(home / ".claude.json", ns=(0, 0))
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "REMIT_HOME": str(home / "data")}
    remit = [sys.executable, "-m", "remit"]
    commands = {
        "bare": [sys.executable, "-c", "pass"],
        "tools": [*remit, "tools"],
        "tools_of_a_new_directory": [*remit, "tools", "--project"],
        "record_use": [sys.executable, "-c", "import remit; remit.record_use('mcp__s1__run')"],
    }
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(ROUNDS):
        fresh = root / "fresh" / str(number)
        fresh.mkdir(parents=True)
        for name, command in commands.items():
            words = [*command, str(fresh)] if name == "tools_of_a_new_directory" else command
            start = time.perf_counter()
            subprocess.run(words, cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL)
            samples[name].append(time.perf_counter() - start)
    bare = samples.pop("bare")
    aims = {"tools": 10.0, "record_use": 4.0}
    ratios = {
        name: [sample / statistics.median(bare) for sample in taken[1:]] for name, taken in samples.items()
    }
    figures = {f"{name}_ratio": figure(taken, aim=aims.get(name)) for name, taken in ratios.items()}
    return {**figures, "bare_python_ms": figure([sample * 1e3 for sample in bare])}


def timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
