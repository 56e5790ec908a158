"""Real servers written by hand, in both eras: `python two_era_server.py ERA [NOTE]`, ERA is `old` or `new`.

Each tool does one thing that a gateway has to cope with, good or bad.
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

Message = dict[str, Any]

VERSION = "2026-07-28"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}}
    for name in ("echo", "count", "crash", "hang", "progress", "log", "ask", "change", "heard")
]


def write(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value: object) -> Message:
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


class Server:
    """Answers one message after the other; what it waits for, it remembers."""

    def __init__(self, era: str) -> None:
        self.is_new = era == "new"
        self.count = 0
        self.heard: list[Message] = []  # all that is no request
        self.greeting: Message = {}
        self.asked: dict[str, object] = {}  # a request of its own to the one it belongs to
        self.listening: dict[str, object] = {}  # a subscription by what it is to
        self.subscribed: set[str] = set()

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self.resume(message)
            elif "id" not in message:
                self.note(message)
            else:
                self.answer(message["id"], message["method"], message.get("params", {}))

    def note(self, message: Message) -> None:
        self.heard.append(message)
        cancelled = message.get("params", {}).get("requestId")
        self.listening = {what: number for what, number in self.listening.items() if number != cancelled}

    def answer(self, number: object, method: str, params: Message) -> None:
        done = {"resultType": "complete"} if self.is_new else {}
        if method == os.environ.get("SILENT_ABOUT"):
            return
        match method:
            case "initialize" if not self.is_new:
                self.greeting = params
                info = {"name": "speaking", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": self.offer(), "serverInfo": info}
            case "server/discover" if self.is_new:
                result = {"supportedVersions": [VERSION], "capabilities": self.offer(), "instructions": "Hi"}
            case "tools/list":
                result = {"tools": TOOLS}
            case "resources/list":
                if not self.is_new:  # it asks out of turn
                    write({"id": "early", "method": "roots/list"})
                    write({"id": "ping", "method": "ping"})
                result = {"resources": [{"uri": "note://a", "name": "a"}]}
            case "resources/templates/list":
                result = {"resourceTemplates": [{"uriTemplate": "note://{name}", "name": "note"}]}
            case "resources/subscribe" if not self.is_new:
                self.subscribed.add(params["uri"])
                result = {}
            case "resources/unsubscribe" if not self.is_new:
                self.subscribed.discard(params["uri"])
                result = {}
            case "subscriptions/listen" if self.is_new:
                self.listen(number, params["notifications"])
                return
            case "logging/setLevel" if not self.is_new:
                self.heard.append({"method": method, "params": params})
                result = {}
            case "tools/call":
                self.call(number, params["name"], params.get("arguments", {}), params)
                return
            case _:
                write({"id": number, "error": {"code": -32601, "message": "no such method", "data": method}})
                return
        write({"id": number, "result": {**result, **done}})

    def offer(self) -> Message:
        changing = {"listChanged": True}
        return {"tools": changing, "resources": {**changing, "subscribe": True}, "logging": {}}

    def listen(self, number: object, wanted: Message) -> None:
        for what in [name for name in wanted if name.endswith("ListChanged")]:
            self.listening[what] = number
        for uri in wanted.get("resourceSubscriptions", []):
            self.listening[uri] = number
        self.tell("subscriptions/acknowledged", {"notifications": wanted}, number)

    def tell(self, method: str, params: Message, subscription: object = None) -> None:
        if subscription is not None:
            params = {**params, "_meta": {SUBSCRIPTION: subscription}}
        write({"method": f"notifications/{method}", "params": params})

    def call(self, number: object, name: str, given: Message, params: Message) -> None:
        result: object = None
        match name:
            case "echo":
                result = given
            case "count":
                self.count += 1
                result = [self.count, os.getpid()]
            case "heard":
                result = {"heard": self.heard, "greeting": self.greeting, "meta": params.get("_meta", {})}
            case "environment":
                result = dict(os.environ)
            case "progress":
                token = params["_meta"]["progressToken"]
                for step in range(1, given["steps"] + 1):
                    self.tell("progress", {"progressToken": token, "progress": step, "message": "so far"})
                result = token
            case "log":
                self.tell("message", {"level": "info", "data": "words"})
                result = "logged"
            case "ask":
                self.ask(number, given, params)
                return
            case "change":
                self.change()
                result = "changed"
            case "fail":
                write({"id": number, "error": {"code": -32042, "message": "not today", "data": {"why": 1}}})
                return
            case "deny":
                result = "denied"
            case _:
                misbehave(name, number, params)
                return
        write({"id": number, "result": text(result)})

    def ask(self, number: object, given: Message, params: Message) -> None:
        question = {"method": given["method"], "params": {"message": "Which?"}}
        if not self.is_new:
            name = f"ask-{number}"
            self.asked[name] = number
            write({"id": name, **question})
        elif "inputResponses" in params:
            got = {"responses": params["inputResponses"], "state": params.get("requestState")}
            write({"id": number, "result": {**text(got), "resultType": "complete"}})
        else:
            wanted = {"resultType": "input_required", "requestState": "s1", "inputRequests": {"q": question}}
            write({"id": number, "result": wanted})

    def resume(self, message: Message) -> None:
        number = self.asked.pop(message["id"], None)
        got = {"result": message.get("result"), "error": message.get("error")}
        if number is None:
            self.heard.append(message)
        else:
            write({"id": number, "result": text(got)})

    def change(self) -> None:
        if not self.is_new:
            self.tell("tools/list_changed", {})
            for uri in sorted(self.subscribed):
                self.tell("resources/updated", {"uri": uri})
            return
        for what, number in self.listening.items():
            if what == "toolsListChanged":
                self.tell("tools/list_changed", {}, number)
            elif not what.endswith("ListChanged"):
                self.tell("resources/updated", {"uri": what}, number)


def misbehave(name: str, number: object, params: Message) -> None:
    given = params.get("arguments", {})
    match name:
        case "hang":
            return
        case "freeze":
            signal.pause()
        case "crash":
            sys.stderr.write(f"out of luck with {os.environ.get('PASSWORD')}\n")
            sys.stderr.flush()
            os._exit(7)
        case "long":
            write({"id": number, "result": text("x" * given["size"])})
        case "noise":
            sys.stdout.write("Starting up...\n" * given["lines"])
            write({"id": number, "result": text("quiet now")})
        case "unreadable":
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"x": {"1" * 5_000}}}}}\n')
            sys.stdout.flush()
        case "latin":
            line = json.dumps({"jsonrpc": "2.0", "id": number, "result": text("café")}, ensure_ascii=False)
            sys.stdout.buffer.write(f"{line}\n".encode("latin-1"))
            sys.stdout.flush()
        case "slowly":
            slowly(number, given["seconds"], tells="progressToken" in params.get("_meta", {}))
        case "flood":
            while True:
                write({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        case _:
            write({"id": number, "result": {**text(f"no tool {name}"), "isError": True}})


def slowly(number: object, seconds: float, *, tells: bool) -> None:
    """Answer late, and tell of it meanwhile: a request is its own token here."""
    for _ in range(8):
        time.sleep(seconds / 8)
        if tells:
            write({"method": "notifications/progress", "params": {"progressToken": number, "progress": 1}})
    write({"id": number, "result": text("at last")})


def bear(note: str) -> None:
    """Start a child that heeds nothing, note all processes, and heed nothing either."""
    for signed in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signed, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
    with open(note, "w", encoding="utf-8") as opened:
        opened.write(f"{os.getpid()} {child.pid}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        bear(sys.argv[2])
    Server(sys.argv[1]).run()
    if len(sys.argv) > 2:
        while True:
            signal.pause()
