"""The story of `remit demo`: real commands in its world, and an agent that calls a tool."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from remit.cli.demo.world import World
from remit.cli.render import Line

_REMIT = (sys.executable, "-m", "remit")
_HIDDEN, _SERVED = "mcp__deploy__release", "deploy__release"
_ARGUMENTS = {"version": "2.4.0"}
_ID = re.compile(r"remit approve (\w+)")
_SECONDS = 30


class Called(NamedTuple):
    """The answer to a call, and the approval that it waits for."""

    text: str
    approval: str | None


def tell(world: World) -> Generator[Line]:
    """Run the commands of the story, and yield what they print."""
    yield _title("1. What your agents have here, and what it costs.")
    yield from _command(world, "tools", "--refresh")
    yield _title("2. A hidden tool says why, and what unlocks it.")
    yield from _command(world, "why", _HIDDEN)
    yield from _command(world, "states", "set", "tests-passed")
    yield _title("3. Search finds a tool by what it does.")
    yield from _command(world, "search", "--limit", "2", "ship a new version")
    yield _title("4. The agent calls a tool through Remit. It runs once you approve.")
    with open_agent(world) as agent:
        refused = agent.call(_SERVED, _ARGUMENTS)
        yield from _call(refused)
        yield from _command(world, "approve", refused.approval or "", "--yes")
        yield from _call(agent.call(_SERVED, _ARGUMENTS))
    yield _title("5. All of it on one screen.")
    yield from _command(world)


def _title(text: str) -> Line:
    return ((text, "title"),)


def _command(world: World, *words: str) -> Iterator[Line]:
    yield ((f"~/shop $ {shlex.join(('remit', *words))}", "dim"),)
    done = subprocess.run(  # noqa: S603 - this Remit
        [*_REMIT, *words],
        cwd=world.shop,
        env=world.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    yield from (*done.stdout.splitlines(), "")


def _call(answer: Called) -> Iterator[Line]:
    yield ((f"agent calls {_SERVED} {json.dumps(_ARGUMENTS)}", "dim"),)
    yield from (*answer.text.splitlines(), "")


@contextmanager
def open_agent(world: World) -> Generator["Agent"]:
    """Start the gateway as a client does."""
    words: Sequence[str] = (*_REMIT, "serve", "--headless")
    with subprocess.Popen(  # noqa: S603 - this Remit
        words,
        cwd=world.shop,
        env=world.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as process:
        try:
            yield Agent(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


class Agent:
    """A client of the gateway with one session."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._id = 0
        client = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "demo", "version": "1"},
        }
        self._request("initialize", client)
        self._send({"method": "notifications/initialized"})

    def call(self, name: str, arguments: dict[str, Any]) -> Called:
        """Call a tool."""
        answer = self._request("tools/call", {"name": name, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in answer.get("content", ()))
        found = _ID.search(text)
        return Called(text, None if found is None else found[1])

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._id and "method" not in message:
                return message.get("result") or {"content": [{"text": message["error"]["message"]}]}
        return {"content": [{"text": "the gateway ended"}]}

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()
