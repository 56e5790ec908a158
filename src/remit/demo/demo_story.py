"""The story of `remit demo`: real commands and real calls, one after the other in the demo's world.

Its agent is a client of the gateway, which speaks the protocol over stdio.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, NamedTuple

from remit.demo.demo_world import DemoWorld

PROTOCOL = "2025-11-25"
_HELLO = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "demo", "version": "1.0.0"}}
_PATIENCE = 5  # seconds for a gateway to end
REMIT = (sys.executable, "-m", "remit")
PERSON = (sys.executable, "-m", "remit.cli.onboarding.demo_person")
HIDDEN = "mcp__deploy__release"
SERVED = "deploy__release"  # as the gateway calls it
ARGUMENTS = {"version": "2.4.0"}
QUERY = "go back to the version that worked"


class ToolAnswer(NamedTuple):
    """What a call returned: a text for the model, and the id of the approval that it waits for, if any."""

    text: str
    approval: str | None


class DemoAgent:
    """One session with a gateway."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers
        self._last = 0
        self._ask("initialize", _HELLO)
        self._send({"method": "notifications/initialized"})

    def tools(self) -> list[str]:
        """List the names of the tools that each request contains."""
        return [tool["name"] for tool in self._ask("tools/list", {})["tools"]]

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool."""
        answer = self._ask("tools/call", {"name": name, "arguments": arguments})
        return ToolAnswer(answer["content"][0]["text"], answer.get("structuredContent", {}).get("approval"))

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        for line in self._answers:
            message = json.loads(line)
            if message.get("id") == self._last and "result" in message:
                return message["result"]
        raise EOFError("the gateway ended")

    def _send(self, message: Mapping[str, Any]) -> None:
        self._requests.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._requests.flush()


@contextmanager
def open_agent(
    gateway: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> Generator[DemoAgent]:
    """Start a gateway in a project, and end it when the block ends."""
    process = subprocess.Popen(  # noqa: S603 - this Remit
        gateway,
        cwd=directory,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    assert process.stdin is not None  # noqa: S101 - a pipe
    assert process.stdout is not None  # noqa: S101 - a pipe
    try:
        yield DemoAgent(process.stdin, process.stdout)
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=_PATIENCE)  # closes its input, which ends it
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


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
