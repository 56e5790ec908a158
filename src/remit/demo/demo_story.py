"""The story of `remit demo`: real commands and real calls, one after the other in the demo's world."""

import json
import shlex
import subprocess
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from remit.demo.demo_agent import ToolAnswer, open_agent
from remit.demo.demo_world import DemoWorld

REMIT = (sys.executable, "-m", "remit")
PERSON = (sys.executable, "-m", "remit.cli.onboarding.demo_person")
HIDDEN = "mcp__deploy__release"
SERVED = "deploy__release"  # as the gateway calls it
ARGUMENTS = {"version": "2.4.0"}
QUERY = "go back to the version that worked"


class LineKind(StrEnum):
    """What a line of the story is."""

    TOLD = "told"  # by the demo
    TYPED = "typed"  # a command of a person, or a call of the agent
    OUTPUT = "output"  # what came back


class StoryLine(NamedTuple):
    """A line of the story."""

    text: str
    kind: LineKind = LineKind.OUTPUT


def tell(world: DemoWorld) -> Generator[StoryLine]:
    """Play the story, line by line."""
    shop, blog = world.shop, world.blog
    with ThreadPoolExecutor() as at_once:
        for project in (shop, blog):
            at_once.submit(_run, world, project, "scan", "--connect")
    yield _title("1. Each project has its own tools.")
    yield from _command(world, shop, "tools")
    yield from _command(world, blog, "tools")
    yield _title("2. A hidden tool says why, and what unlocks it.")
    yield from _command(world, shop, "why", HIDDEN)
    yield from _command(world, shop, "states", "set", "tests-passed")
    yield _title("3. Search finds a tool by what it does.")
    yield from _command(world, shop, "search", "--limit", "2", QUERY)
    yield _title("4. The agent calls a tool through Remit. It runs once you approve.")
    with open_agent((*REMIT, "serve"), shop, world.environment) as agent:
        refused = agent.call(SERVED, ARGUMENTS)
        yield from _call(refused)
        yield from _command(world, shop, "approve", str(refused.approval), "--yes")
        yield from _call(agent.call(SERVED, ARGUMENTS))
    yield _title("5. Definitions cost tokens. This client sends all of them; Remit sends a few.")
    yield from _command(world, shop)


def _title(text: str) -> StoryLine:
    return StoryLine(text, LineKind.TOLD)


def _command(world: DemoWorld, project: Path, *words: str) -> Iterator[StoryLine]:
    yield StoryLine(f"~/{project.name} $ {shlex.join(('remit', *words))}", LineKind.TYPED)
    yield from _output(_run(world, project, *words))


def _call(answer: ToolAnswer) -> Iterator[StoryLine]:
    yield StoryLine(f"agent calls {SERVED} {json.dumps(ARGUMENTS)}", LineKind.TYPED)
    yield from _output(answer.text)


def _output(text: str) -> Iterator[StoryLine]:
    yield from map(StoryLine, text.splitlines())
    yield StoryLine("")


def _run(world: DemoWorld, project: Path, *words: str) -> str:
    # `why` warns that no client has Remit here; the agent of the story starts the gateway itself.
    notes = subprocess.DEVNULL if "why" in words else subprocess.STDOUT
    ran = subprocess.run(  # noqa: S603 - this Remit
        [*(PERSON if words[:1] in (("approve",), ("states",)) else REMIT), *words],
        cwd=project,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=notes,
        encoding="utf-8",
    )
    return ran.stdout
