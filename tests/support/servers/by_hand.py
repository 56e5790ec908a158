"""A server of plain Python, which is there within milliseconds, and misbehaves as it is told.

    by_hand.py [--era old|new|both] [--tools COUNT | --list FILE] [--fault FAULT] [--at METHOD]
               [--deaf] [--note FILE] [--summarizes]

A fault happens when the method is asked for; at `start`, before anything is. A deaf server heeds neither the
end of its input nor a request to end, and has a child that outlives it. With `--summarizes` it has one more
tool for clients that it can ask for a sample.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any

from definitions import tools

NEW, OLD = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
VERSION, SUBSCRIPTION = f"{META}protocolVersion", f"{META}subscriptionId"
CAPABILITIES = {"tools": {"listChanged": True}, "resources": {}}
INFO = {"name": "by-hand", "version": "1.0.0"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
OWN = (
    {"name": "echo", "description": "Say the same again.", "inputSchema": TEXT},
    {"name": "fail", "description": "Fail.", "inputSchema": NOTHING},
    {"name": "change", "description": "Let another tool come or go, and tell of it.", "inputSchema": NOTHING},
    {"name": "work", "description": "Tell of progress, then be done.", "inputSchema": NOTHING},
    {"name": "where", "description": "Tell where and how it runs.", "inputSchema": NOTHING},
)
SUMMARIZE = {"name": "summarize", "description": "Ask a model.", "inputSchema": NOTHING}
PASSING = {"name": "passing", "description": "Come and go.", "inputSchema": NOTHING}
LONG_LINE, DRIPS, NOTES = 30 * 2**20, 1_000, 50_000

Request = Mapping[str, Any]
Result = dict[str, Any]


class UnknownError(Exception):
    """There is no such method, or no such tool."""


@dataclass
class Server:
    era: str
    others: list[Result]  # the tools besides its own
    summarizes: bool = False
    client: Mapping[str, Any] = field(default_factory=dict[str, Any])  # its capabilities
    passing: bool = False
    listening: dict[Any, bool] = field(default_factory=dict[Any, bool])  # the requests that wait for changes
    unanswered: list[Request] = field(default_factory=list[Request])

    def answer(self, request: Request) -> None:
        if "id" not in request:
            self.hear(request)
            return
        try:
            result = self.result(request)
        except UnknownError as unknown:
            error = {
                "code": -32601 if unknown.args[0] == "method" else -32602,
                "message": f"no such {unknown}",
            }
            say({"jsonrpc": "2.0", "id": request["id"], "error": error})
            return
        if result is not None:
            say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def hear(self, notification: Request) -> None:
        """What was to be answered too late is answered once nobody waits for it."""
        if notification["method"] == "notifications/cancelled":
            late = [one for one in self.unanswered if one["id"] == notification["params"]["requestId"]]
            for request in late:
                self.unanswered.remove(request)
                self.answer(request)

    def result(self, request: Request) -> Result | None:
        params = request.get("params", {})
        modern = VERSION in params.get("_meta", {})
        if (modern and self.era == "old") or (not modern and self.era == "new"):
            raise UnknownError("method")
        if modern or request["method"] == "initialize":
            declared = params["_meta"].get(f"{META}clientCapabilities") if modern else params["capabilities"]
            self.client = declared or {}
        match request["method"]:
            case "initialize":
                result: Result = {"protocolVersion": OLD, "capabilities": CAPABILITIES, "serverInfo": INFO}
            case "server/discover":
                result = {"supportedVersions": [NEW], "capabilities": CAPABILITIES}
            case "subscriptions/listen":
                self.listen(request["id"])
                return None
            case "tools/list":
                passing = [PASSING] if self.passing else []
                more = [SUMMARIZE] if self.summarizes and "sampling" in self.client else []
                result = {"tools": [*OWN, *more, *passing, *self.others]}
            case "tools/call":
                result = self.called(params, request)
            case "resources/list":
                result = {"resources": []}
            case "resources/templates/list":
                result = {"resourceTemplates": []}
            case "ping":
                return {}
            case _:
                raise UnknownError("method")
        return {**result, **_of_the_new_era(request["method"])} if modern else result

    def called(self, params: Mapping[str, Any], request: Request) -> Result:
        arguments: Result = params.get("arguments") or {}
        match params["name"]:
            case "fail":
                return {"content": [text("it failed")], "isError": True}
            case "change":
                self.passing = not self.passing
                self.tell_of_change(modern=VERSION in params.get("_meta", {}))
                return {"content": [text("changed")]}
            case "work":
                self.work(params)
                return {"content": [text("done")]}
            case "where":
                told = {"cwd": os.getcwd(), "pid": os.getpid(), "env": dict(os.environ)}
                return {"content": [text(json.dumps(told))]}
            case name if name == "echo" or name in {tool["name"] for tool in self.others}:
                return {"content": [text(str(arguments.get("text", request["id"])))]}
            case "summarize" if self.summarizes and "sampling" in self.client:
                return {"content": [text("in short")]}
            case "passing" if self.passing:
                return {"content": [text("here")]}
            case _:
                raise UnknownError("tool")

    def listen(self, id: Any) -> None:
        self.listening[id] = True
        told = {"_meta": {SUBSCRIPTION: id}, "notifications": {"toolsListChanged": True}}
        note("notifications/subscriptions/acknowledged", told)

    def tell_of_change(self, *, modern: bool) -> None:
        if not modern:
            note("notifications/tools/list_changed")
        for id in self.listening:
            note("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: id}})

    def work(self, params: Mapping[str, Any]) -> None:
        token = params.get("_meta", {}).get("progressToken")
        for done in (1, 2, 3) if token is not None else ():
            note("notifications/progress", {"progressToken": token, "progress": done, "total": 3})


def _of_the_new_era(method: str) -> Result:
    kept = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "public"}
    return {"resultType": "complete", "_meta": {f"{META}serverInfo": INFO}, **kept}


def text(words: str) -> Result:
    return {"type": "text", "text": words}


def note(method: str, params: Result | None = None) -> None:
    say({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def say(message: Result) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def hang(*_: object) -> None:
    """Never answer, but go on."""


def crash(*_: object) -> None:
    sys.stderr.write("cannot go on\n")
    sys.exit(3)


def complain(_: Server, request: Request) -> None:
    """Answer with an error of its own."""
    error = {"code": -32603, "message": "the database cannot be reached"}
    say({"jsonrpc": "2.0", "id": request.get("id"), "error": error})


def garble(server: Server, request: Request) -> None:
    """Say what is no message, then answer."""
    sys.stdout.write('Starting...\n\n{"jsonrpc": "2.0", "id"\n[1, 2\n\x00\x01\n"text"\n{"id": 7}\n')
    server.answer(request)


def say_too_much(_: Server, request: Request) -> None:
    """Answer with one line that is longer than anyone should read."""
    result = {"content": [text("x" * LONG_LINE)], "resultType": "complete"}
    say({"jsonrpc": "2.0", "id": request.get("id"), "result": result})


def drip(__: Server, request: Request) -> None:
    """Answer so slowly that it never ends."""
    sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {json.dumps(request.get("id"))}, "result": {{"x": "')
    for _ in range(DRIPS):
        sys.stdout.write("x")
        sys.stdout.flush()
        sleep(1)


def flood(server: Server, request: Request) -> None:
    """Tell more than anyone wants to hear, then answer."""
    for number in range(NOTES):
        note("notifications/message", {"level": "info", "data": f"line {number}"})
    for _ in range(NOTES // 10):
        note("notifications/tools/list_changed")
    server.answer(request)


def answer_too_late(server: Server, request: Request) -> None:
    server.unanswered.append(request)


FAULTS: Mapping[str, Callable[[Server, Request], None]] = {
    "hang": hang,
    "crash": crash,
    "complain": complain,
    "garbage": garble,
    "long-line": say_too_much,
    "drip": drip,
    "flood": flood,
    "late": answer_too_late,
}


def become_deaf() -> int:
    """Heed no signal that can be ignored, and have a child; its process is the answer."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).pid


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=("old", "new", "both"), default="both")
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--list", type=Path, help="a file with the tools to list besides its own")
    parser.add_argument("--fault", choices=tuple(FAULTS))
    parser.add_argument("--at", default="tools/call")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--note", help="a file for the processes' ids, a line for each start")
    parser.add_argument("--summarizes", action="store_true")
    given = parser.parse_args()
    others = json.loads(given.list.read_text("utf-8")) if given.list else tools(given.tools)
    server = Server(given.era, others, given.summarizes)
    processes = [os.getpid(), *([become_deaf()] if given.deaf else [])]
    if given.note:
        with open(given.note, "a", encoding="utf-8") as opened:
            opened.write(" ".join(map(str, processes)) + "\n")
    if given.fault and given.at == "start":
        FAULTS[given.fault](server, {"method": "start"})
    for line in sys.stdin:
        request = json.loads(line)
        if given.fault and request.get("method") == given.at:
            FAULTS[given.fault](server, request)
        elif "method" in request:
            server.answer(request)
    while given.deaf:
        signal.pause()


if __name__ == "__main__":
    main()
