"""Measures how soon a client is told of a change: from the write to `list_changed` on its pipe.

`gateway_changes.py [--times N]` prints the figures; `gateway.py` stores them with its own. What changes is a
rule in the project's `remit.toml`, a file that a state is found by, or a state that is set; each changes the
list, and the client asks for it again before the next.
"""

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gateway_client import META, NEW, OLD, Client, Pipes, machine
from remit.bootstrap import open_registry
from remit.registry import Registry
from remit.search.evaluation import percentile
from support.processes import ServedProject, server_command

TIMES = 40
AIM = 250  # milliseconds
RULES = """
[states.ready]
file = "ready"

[states.going]
kind = "workflow"

[tools."hand__echo"]
states = ["ready"]

[tools."hand__work"]
states = ["going"]
"""
CHANGED = b'"notifications/tools/list_changed"'


class Change(Protocol):
    """Something that changes the list, or changes it back."""

    def __call__(self, *, is_on: bool) -> None: ...


Figures = dict[str, dict[str, float]]


class Changing(NamedTuple):
    """A client that listens to a gateway, and the ways to change what it is served."""

    client: Client
    pipes: Pipes
    kinds: Mapping[str, Change]


def changes(folder: Path, times: int = TIMES) -> dict[str, Figures]:
    """Measure each kind of change, for a client of each era."""
    return {era: _measured(folder / era, era, times) for era in (OLD, NEW)}


def _measured(folder: Path, era: str, times: int) -> Figures:
    with changing_client(folder, era) as changing:
        return latencies(changing, times, changing.kinds)


@contextmanager
def changing_client(folder: Path, era: str) -> Generator[Changing]:
    """Serve a project to a client that listens."""
    place = ServedProject(folder)
    place.declare({"hand": server_command("by_hand.py")}, 'strategy = "state"\n')
    _write(place.project / "remit.toml", RULES)
    place.learn()
    pipes = Pipes(place.command(), environment=place.environment, cwd=place.project)
    try:
        client = Client(pipes, era)
        client.tools()
        if era == NEW:
            _listen(pipes, client)
        with _registry(place) as registry:
            yield Changing(client, pipes, _kinds(place, registry))
    finally:
        pipes.close()


def latencies(changing: Changing, times: int, kinds: Iterable[str]) -> Figures:
    """Measure some kinds of change."""
    client, pipes = changing.client, changing.pipes
    return {kind: _timed(client, pipes, changing.kinds[kind], times) for kind in kinds}


def _kinds(place: ServedProject, registry: Registry) -> Mapping[str, Change]:
    """Ways to change the list, one after the other to and fro."""
    rules, ready = place.project / "remit.toml", place.project / "ready"
    here = registry.at(str(place.project))

    def rule(*, is_on: bool) -> None:
        _write(rules, f'block = ["hand__fail"]\n{RULES}' if is_on else RULES)

    def file(*, is_on: bool) -> None:
        if is_on:
            ready.touch()
        else:
            ready.unlink()

    def state(*, is_on: bool) -> None:
        (registry.states.set if is_on else registry.states.clear)("going", here)

    return {"rule": rule, "file": file, "state": state}


def _timed(client: Client, pipes: Pipes, change: Change, times: int) -> dict[str, float]:
    pauses, took = random.Random(7), list[float]()  # noqa: S311 - so that no period is met by chance
    for turn in range(-2, times):  # the first two load what the writer needs, and do not count
        time.sleep(pauses.uniform(0.05, 0.3))
        before = len(client.tools())
        began = time.perf_counter()
        change(is_on=turn % 2 == 0)
        _heard(pipes)
        took.append(1000 * (time.perf_counter() - began))
        assert len(client.tools()) != before
    return {f"p{part}": round(percentile(took[2:], part / 100), 1) for part in (50, 95, 100)}


@contextmanager
def _registry(place: ServedProject) -> Generator[Registry]:
    """The registry of the machine that the gateway is on."""
    own = dict(os.environ)
    os.environ.update(place.environment)
    try:
        with open_registry() as registry:
            yield registry
    finally:
        os.environ.clear()
        os.environ.update(own)


def _listen(pipes: Pipes, client: Client) -> None:
    wish: dict[str, Any] = {"notifications": {"toolsListChanged": True}, "_meta": client.meta}
    pipes.tell({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen", "params": wish})
    assert META.encode() in _line(pipes)  # acknowledged


def _heard(pipes: Pipes) -> None:
    while CHANGED not in _line(pipes):
        pass


def _line(pipes: Pipes) -> bytes:
    assert pipes.process.stdout is not None
    line = pipes.process.stdout.readline()
    assert line, "the gateway is gone"
    return line


def _write(file: Path, text: str) -> None:
    """Write as editors do: whole, in the place of what was there."""
    beside = file.with_suffix(".new")
    beside.write_text(text, "utf-8")
    beside.replace(file)


def print_changes(measured: Mapping[str, Figures]) -> None:
    print(f"\n{'ms until a change is told':26} {'p50':>8} {'p95':>8} {'most':>8}   aim")
    for era, kinds in measured.items():
        for kind, one in kinds.items():
            met = f"at most {AIM}: {'yes' if one['p95'] <= AIM else 'NO'}"
            print(f"{kind + ' ' + era:26} {one['p50']:8.1f} {one['p95']:8.1f} {one['p100']:8.1f}   {met}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=TIMES, help="how often each is changed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        print_changes(changes(Path(temporary).resolve(), given.times))
    print(json.dumps(machine()))
