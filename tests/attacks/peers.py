"""Both sides of the gateway: servers that note what is done to them, and a client that speaks JSON-RPC."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 60.0  # after which an answer will not come

_PROGRAM = """
import json, os, pathlib, sys

name, offered, log = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])

def note(line):
    with log.open("a") as opened:
        opened.write(line + chr(10))

def answer(asked):
    if asked["method"] == "initialize":
        info = {"name": name, "version": "1"}
        more = {"instructions": words["instructions"]} if "instructions" in words else {}
        able = {"tools": {}, "resources": {}}
        return {"protocolVersion": "2025-06-18", "capabilities": able, "serverInfo": info, **more}
    if asked["method"] == "resources/list":
        return {"resources": [{"uri": "note://" + name, "name": name}]}
    if asked["method"] == "resources/read":
        note("read " + asked["params"]["uri"])
        return {"contents": [{"uri": asked["params"]["uri"], "text": "read from " + name}]}
    if asked["method"] == "tools/list":
        return {"tools": json.loads(offered.read_text())}
    if asked["method"] == "tools/call":
        note("called " + asked["params"]["name"])
        for method, params in words.get("asks", []):
            print(json.dumps({"jsonrpc": "2.0", "id": "q", "method": method, "params": params}), flush=True)
            sys.stdin.readline()
        if "error" in words:
            raise ValueError(words["error"])
        return {"content": [{"type": "text", "text": "answered by " + name}]}
    return {}

note("started")
log.with_suffix(".variables").write_text(json.dumps(dict(os.environ)))
said = offered.with_suffix(".words")
words = json.loads(said.read_text()) if said.exists() else {}
while line := sys.stdin.readline():
    asked = json.loads(line)
    if "id" in asked:
        try:
            sent = {"result": answer(asked)}
        except ValueError as error:
            sent = {"error": {"code": -32000, "message": str(error)}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **sent}), flush=True)
"""


def tool(name: str, description: str = "", **annotations: bool) -> dict[str, object]:
    """Define a tool as a server does."""
    said = {"annotations": annotations} if annotations else {}
    return {"name": name, "description": description or name, "inputSchema": {"type": "object"}, **said}


@dataclass(frozen=True)
class Server:
    """A server that notes when it is started and what is called; its tools can be redefined at any time."""

    name: str
    folder: Path

    def offer(self, *tools: Mapping[str, object]) -> None:
        """Define its tools from now on."""
        self._program.write_text(_PROGRAM, encoding="utf-8")
        self._tools.write_text(json.dumps(tools), encoding="utf-8")

    def say(self, **words: object) -> None:
        """Give it `instructions`, an `error`, or requests that it `asks` of the client during a call."""
        self._tools.with_suffix(".words").write_text(json.dumps(words), encoding="utf-8")

    @property
    def entry(self) -> dict[str, Any]:
        """How a client's file declares it."""
        command, *args = self.words
        return {"command": command, "args": args}

    @property
    def words(self) -> list[str]:
        """The words of its command."""
        return [sys.executable, "-IS", str(self._program), self.name, str(self._tools), str(self._log)]

    @property
    def was_started(self) -> bool:
        return self._log.exists()

    @property
    def calls(self) -> list[str]:
        """The tools that were called, in order."""
        lines = self._log.read_text(encoding="utf-8").splitlines() if self.was_started else []
        return [line.removeprefix("called ") for line in lines if line != "started"]

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment that it was started with."""
        return json.loads(self._log.with_suffix(".variables").read_text(encoding="utf-8"))

    @property
    def _program(self) -> Path:
        return self.folder / "server.py"

    @property
    def _tools(self) -> Path:
        return self.folder / f"{self.name}.json"

    @property
    def _log(self) -> Path:
        return self.folder / f"{self.name}.log"


class Gateway:
    """`remit serve` on stdio, spoken to in raw JSON-RPC."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines = queue.Queue[str | None]()
        self.instructions = ""
        self.questions: list[dict[str, Any]] = []  # the gateway's requests to the client
        self.action = "accept"
        self.fills_in = True  # False: a client that accepts forms by itself
        self._id = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def open(self, *capabilities: str) -> None:
        """Shake hands, as a client with these capabilities."""
        info = {"name": "claude-code", "version": "1"}
        able: dict[str, object] = {name: {} for name in capabilities}
        answer = self.ask("initialize", protocolVersion="2025-06-18", capabilities=able, clientInfo=info)
        self.instructions = answer["result"].get("instructions", "")
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a request, and give the whole answer to it."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        while (line := self._next()) is not None:
            said = json.loads(line)
            if "method" in said and "id" in said:
                self.questions.append(said["params"])
                fields = said["params"].get("requestedSchema", {}).get("required", [])
                content = dict.fromkeys(fields, True) if self.fills_in else {}
                result: dict[str, object] = {"action": self.action, "content": content}
                self._send({"jsonrpc": "2.0", "id": said["id"], "result": result})
            elif said.get("id") == self._id:
                return said
        raise RuntimeError(f"the gateway ended before it answered {method}")

    def tools(self) -> list[str]:
        """The names of the tools that are listed."""
        return [tool["name"] for tool in self.ask("tools/list")["result"]["tools"]]

    def call(self, name: str, /, **arguments: object) -> str:
        """Call a tool, and give all that the model would be told."""
        answer = self.ask("tools/call", name=name, arguments=arguments)
        return json.dumps(answer.get("result", answer.get("error")), ensure_ascii=False)

    def end(self) -> None:
        """Hang up, and wait until the gateway is gone."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _send(self, message: Mapping[str, object]) -> None:
        if self._process.stdin is None:
            raise RuntimeError("the gateway has no stdin")
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _next(self) -> str | None:
        try:
            return self._lines.get(timeout=SECONDS)
        except queue.Empty:
            raise RuntimeError("the gateway does not answer") from None

    def _read(self) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)
