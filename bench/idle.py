"""Measures what an idle gateway costs, and how soon it announces a change.

`idle.py [--seconds N] [--times N]` prints the figures and stores them in `results/idle.json`. The CPU time of
`remit serve`, with a client that listens and asks for nothing, is a percentage of one core. A change is a
file that a state depends on, or a workflow state that another process sets.
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path

from gateway_changes import AIM, Figures, changing_client, latencies
from gateway_client import NEW, OLD, machine
from remit import __version__

RESULTS = Path(__file__).parent / "results" / "idle.json"
SECONDS, TIMES = 20, 20
CPU_AIM = 0.1  # percent of a core
SETTLED = 20.0  # seconds after the first list; until then worker threads end and caches are written


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the gateway is idle")
    parser.add_argument("--times", type=int, default=TIMES, help="how often each change is made")
    given = parser.parse_args()
    cpu, announced = dict[str, float](), dict[str, Figures]()
    with tempfile.TemporaryDirectory() as folder:
        for era in (OLD, NEW):
            root = Path(folder).resolve() / era
            with changing_client(root, era) as changing:
                time.sleep(SETTLED)
                cpu[era] = idle_cpu(changing.pipes.process.pid, given.seconds)
                announced[era] = latencies(changing, given.times, ("file", "state"))
    content = {
        "remit": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        **machine(),
        "seconds": given.seconds,
        "idle_cpu_percent": cpu,
        "ms_until_a_change_is_announced": announced,
    }
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    print_figures(cpu, announced)


def idle_cpu(pid: int, seconds: float) -> float:
    """The CPU time that a process uses while nothing happens, as a percentage of one core."""
    before, began = cpu_seconds(pid), time.perf_counter()
    time.sleep(seconds)
    used, took = cpu_seconds(pid) - before, time.perf_counter() - began
    return round(100 * used / took, 3)


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process, with that of threads that ended."""
    return time.clock_gettime((~pid << 3) | 2)  # Linux: the process's own CPU clock


def print_figures(cpu: dict[str, float], announced: dict[str, Figures]) -> None:
    for era, percent in cpu.items():
        met = "yes" if percent <= CPU_AIM else "NO"
        print(f"{'idle CPU ' + era:26} {percent:8.3f} % of a core   at most {CPU_AIM}: {met}")
    for era, kinds in announced.items():
        for kind, one in kinds.items():
            met = "yes" if one["p95"] <= AIM else "NO"
            figures = f"p50 {one['p50']:6.1f} ms  p95 {one['p95']:6.1f} ms"
            print(f"{kind + ' ' + era:26} {figures}   at most {AIM}: {met}")


if __name__ == "__main__":
    main()
