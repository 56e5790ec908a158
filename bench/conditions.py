"""Measures 10,000 distinct conditions next to other CEL engines in one run; stores the figures as JSON.

The peers get the states as a map, because they have no `state(...)`; all must give the same answers. Each
round runs every engine once, so a busy machine affects all of them.
"""

import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from remit import __version__
from remit.conditions.condition import Condition, condition
from remit.decision.state_snapshot import Snapshot, StateValue
from run import figure, timed

RESULTS = Path(__file__).parent / "results" / "conditions.json"
COUNT, STATES = 10_000, 60
ROUNDS = 31
VARIABLES = {"agent": {"role": "r7"}, "entities": {"count": 5000}, "git": {"branch": "b3"}}

# A peer reads texts and variables; then each line it gets has it evaluate all, and tell seconds and truths.
PEER = """
import json, sys, time
texts, variables = json.loads(sys.stdin.readline())
start = time.perf_counter()
{prepare}
print(json.dumps([time.perf_counter() - start, []]), flush=True)
for _ in sys.stdin:
    start = time.perf_counter()
    truths = {evaluate}
    print(json.dumps([time.perf_counter() - start, truths]), flush=True)
"""
CEL_EXPR_PYTHON = PEER.format(
    prepare="""
from cel_expr_python import cel
env = cel.NewEnv(variables={name: cel.Type.DYN for name in variables})
programs = [env.compile(text) for text in texts]
here = env.Activation(variables)
""",
    evaluate="[program.eval(here).value() for program in programs]",
)
COMMON_EXPRESSION_LANGUAGE = PEER.format(
    prepare="""
import cel
programs = [cel.compile(text) for text in texts]
here = cel.Context(variables=variables)
""",
    evaluate="[program.execute(here) for program in programs]",
)


def main(python: str) -> None:
    ours = [condition(when=written(number, "state('s{}')")) for number in range(COUNT)]
    theirs = {
        "cel_expr_python": Peer(python, CEL_EXPR_PYTHON),
        "common_expression_language": Peer(python, COMMON_EXPRESSION_LANGUAGE),
    }
    figures = {**rounds(ours, theirs), **costs(ours)}
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "conditions": COUNT, **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:40} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


def written(number: int, state: str) -> str:
    """Write one of the conditions, all of which are different."""
    one, two, three = (state.format(number * factor % STATES) for factor in (1, 7, 13))
    rest = f"agent.role == 'r{number % 50}' && entities.count > {number} && git.branch != 'b{number % 9}'"
    return f"{one} && {two} && !{three} || ({rest})"


def snapshot(**changed: StateValue) -> Snapshot:
    states = {f"s{number}": StateValue(number % 3 != 0, "") for number in range(STATES)}
    return Snapshot(states={**states, **changed}, variables=VARIABLES)


class Peer:
    """Another engine, in a process and an environment of its own."""

    def __init__(self, python: str, script: str) -> None:
        self._process = subprocess.Popen(
            [python, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        texts = [written(number, "states['s{}']") for number in range(COUNT)]
        self.ask(json.dumps([texts, {**VARIABLES, "states": snapshot().known}]))

    def ask(self, line: str = "again") -> tuple[float, list[bool]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        seconds, truths = cast("tuple[float, list[bool]]", json.loads(self._process.stdout.readline()))
        return seconds, truths

    def close(self) -> None:
        self._process.communicate()


def rounds(ours: Sequence[Condition], peers: dict[str, Peer]) -> dict[str, dict[str, float]]:
    """Ask all conditions of everyone, again and again."""
    here = snapshot()
    expected = [each.truth(here) for each in ours]
    taken: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        taken["evaluate_ms"].append(timed(lambda: [each.truth(here) for each in ours]) * 1e3)
        for name, peer in peers.items():
            seconds, truths = peer.ask()
            assert truths == expected, f"{name} gives other answers"
            taken[f"{name}_ms"].append(seconds * 1e3)
    for name, peer in peers.items():
        peer.close()
        pairs = zip(taken[f"{name}_ms"], taken["evaluate_ms"], strict=True)
        taken[f"{name}_ratio"] = [theirs / mine for theirs, mine in pairs]
    return {name: figure(samples) for name, samples in taken.items()}


def costs(ours: Sequence[Condition]) -> dict[str, dict[str, float]]:
    """Measure reading one, living with an unknown state, and following a state that flips."""
    texts = [written(number, "state('s{}')") for number in range(0, COUNT, 10)]
    index: dict[str, list[Condition]] = defaultdict(list)
    for each in ours:
        for name in each.mentions.states:
            index[name].append(each)
    unknown, flipped = snapshot(s1=StateValue(None, "timed out")), snapshot(s1=StateValue(False, "gone"))
    samples = {
        "evaluate_with_an_unknown_state_ms": lambda: [each.truth(unknown) for each in ours],
        "flip_of_one_state_ms": lambda: [each.truth(flipped) for each in index["s1"]],
    }
    aims = {"flip_of_one_state_ms": 10.0}
    found = {
        name: figure([timed(step) * 1e3 for _ in range(ROUNDS)], aim=aims.get(name))
        for name, step in samples.items()
    }
    reading = [timed(lambda text=text: condition(when=text)) * 1e6 for text in texts]
    return {**found, "read_us": figure(reading)}


if __name__ == "__main__":
    main(sys.argv[1])
