"""The agent of `remit demo`: a client of the gateway, which speaks the protocol over stdio."""

import json
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

PROTOCOL = "2025-11-25"
_HELLO = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "demo", "version": "1.0.0"}}
_PATIENCE = 5  # seconds for a gateway to end


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
