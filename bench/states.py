"""Measures states on this machine: a snapshot, and what a state that flips does to a large catalog."""

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from remit import __version__
from remit.bootstrap import open_states
from remit.configuration.condition_rules import RuleCondition
from remit.configuration.config_model import ToolEntry
from remit.decision.context import Context
from remit.decision.decision_index import DecisionIndex
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.requirements import Requirement, Requirements, StateScope
from remit.decision.scopes import Scope
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.decision.tools import Tool
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from remit.states.state_service import StateService
from remit.store.open_store import open_store
from run import figure

RESULTS = Path(__file__).parent / "results" / "states.json"
TOOLS, STATES, DETECTORS, ROUNDS = 10_000, 30, 30, 101


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        states, here = with_detectors(root)
        figures = {
            "snapshot_ms": figure(snapshots(states, here), aim=1),
            "first_snapshot_ms": figure(first_snapshots(root)),
            "flip_of_one_condition_each_ms": figure(flips(shared=False), aim=10),
            "flip_of_all_tools_ms": figure(flips(shared=True), aim=10),
        }
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    sizes = {"tools": TOOLS, "detectors": DETECTORS}
    content = {"remit": __version__, **sizes, **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:30} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


def with_detectors(root: Path) -> tuple[StateService, Context]:
    """A project with as many cheap detectors as the aim names, besides those that are built in."""
    project = root / "project"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    kinds = ('file = "file{}"', 'directory = "dir{}"', 'env = "VARIABLE{}"', 'git = {{ branch = "x{}" }}')
    states = (f"[states.s{n}]\n{kinds[n % len(kinds)].format(n)}" for n in range(DETECTORS))
    (project / "remit.toml").write_text("\n".join(states) + '\n[tools.x]\nstates = ["s1"]\n')
    return opened(root), context(project)


def context(project: Path) -> Context:
    return Context(workspace=locate(str(project)), client="claude-code")


def opened(root: Path) -> StateService:
    machine = Machine(home=str(root / "home"), variables={}, root=str(root / "machine"))
    store = open_store(str(root / "data/remit.db"))
    return open_states(store, machine, now_ns=lambda: time.time_ns() + 10**10)


def snapshots(states: StateService, here: Context) -> list[float]:
    take(states, here)
    return [timed(lambda: take(states, here)) * 1e3 for _ in range(ROUNDS)]


def first_snapshots(root: Path) -> list[float]:
    """The first of a process, which recalls the configuration from the store."""
    here = context(root / "project")
    samples: list[float] = []
    for _ in range(ROUNDS):
        states = opened(root)
        samples.append(timed(lambda states=states: take(states, here)) * 1e3)
    return samples


def take(states: StateService, here: Context) -> Snapshot:
    snapshot = states.snapshot(here)
    assert len(snapshot.states) > DETECTORS
    return snapshot


def flips(*, shared: bool) -> list[float]:
    """From one snapshot to the next, in which one state is another, to the new list of all tools.

    The tools either have a condition each, of which the state moves one in thirty, or all need that state.
    """
    workspace = locate("/")
    conditions = 1 if shared else TOOLS
    needed = [
        Requirement(
            "*" if shared else f"mcp__server__tool_{n}",
            RuleCondition(
                ToolEntry("", states=StateScope(all=(f"s{n % STATES}",)), when=f"client != 'c{n}'")
            ),
            "",
        )
        for n in range(conditions)
    ]
    context = Context(workspace=workspace, client="claude-code", requirements=Requirements(needed))
    index = DecisionIndex(map(tool, range(TOOLS)), context)
    index.at(reading(False))
    samples = [timed(lambda at=at: index.at(reading(at % 2 == 0))) * 1e3 for at in range(ROUNDS)]
    counts = [sum(item.decision.is_available for item in index.at(reading(holds))) for holds in (True, False)]
    assert counts == [TOOLS, 0] if shared else counts[0] - counts[1] == len(range(0, TOOLS, STATES))
    return samples


def reading(holds: bool) -> Snapshot:
    states = {f"s{n}": StateValue(holds if n == 0 else True, "so") for n in range(STATES)}
    return Snapshot(states=states, variables={"client": "claude-code"})


def tool(number: int) -> Tool:
    return Tool(
        name=f"mcp__server__tool_{number}",
        kind=Kind.MCP_TOOL,
        client="claude-code",
        scope=Scope.GLOBAL,
        source="/home/ada/.claude.json",
        authority=Authority.CONFIG,
        server="server",
        config_status=ConfigStatus.ENABLED,
    )


def timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
