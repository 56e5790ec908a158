"""The real Claude Code, run once with a model that follows a plan, on loopback alone where that is permitted.

`make test-clients` installs the client and names it in `REMIT_TEST_CLAUDE`.
"""

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

Call = tuple[str, Mapping[str, object]]  # a tool's name and its arguments


class Run(NamedTuple):
    """What the client said of itself, every request to its model, and every event it printed."""

    init: dict[str, Any]
    requests: list[dict[str, Any]]
    events: list[dict[str, Any]]
    stderr: str

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The requests of the conversation: the client asks for titles and the like without tools."""
        return [request for request in self.requests if request.get("tools")]

    @property
    def tools(self) -> list[str]:
        """The names of the definitions in the first request."""
        return [tool["name"] for tool in self.turns[0]["tools"]]

    @property
    def results(self) -> list[str]:
        """What the calls of the plan came to, in order, as JSON."""
        blocks: Iterable[Any] = (
            block for message in self.turns[-1]["messages"] for block in message["content"]
        )
        return [
            json.dumps(block["content"], ensure_ascii=False)
            for block in blocks
            if isinstance(block, dict) and block["type"] == "tool_result"
        ]


def run_claude(
    home: Path,
    cwd: Path,
    *,
    plan: Sequence[Call] = (),
    prompt: str = "hello",
    extra: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Run:
    """Run the client until its model has made the calls of the plan, one per turn, and is done."""
    alone = (
        shutil.which("unshare")
        and subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0
    )
    client = [
        os.environ["REMIT_TEST_CLAUDE"],
        "-p",
        prompt,
        "--output-format",
        "stream-json",
        "--verbose",
        *extra,
    ]
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ANTHROPIC_API_KEY": "not-a-key",
        **(env or {}),
    }
    task = {"alone": bool(alone), "client": client, "env": variables, "plan": plan}
    command = [*(["unshare", "-n"] if alone else []), sys.executable, __file__]
    process = subprocess.run(
        command, cwd=cwd, input=json.dumps(task), stdout=subprocess.PIPE, text=True, check=True, timeout=110
    )
    return Run(**json.loads(process.stdout))


class _Model(ThreadingHTTPServer):
    """Answers each turn with the next call of the plan, then with "done"."""

    def __init__(self, plan: list[Call]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plan = plan
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.requests.append({key: request.get(key) for key in ("tools", "system", "messages")})
            if not (request.get("tools") and self.plan):
                return {"type": "text", "text": "done"}
            name, given = self.plan.pop(0)
            return {"type": "tool_use", "id": f"toolu_{len(self.requests):03}", "name": name, "input": given}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Model  # pyright: ignore[reportIncompatibleVariableOverride]  # the server that made it

    def log_message(self, format: str, *args: object) -> None: ...

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_GET(self) -> None:
        self._send(b"{}")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            return self._send(b'{"input_tokens": 10}')
        if "/v1/messages" not in self.path:
            return self._send(b"{}")
        block = self.server.reply(request)
        reason = {
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
        }
        usage = {"usage": {"input_tokens": 10, "output_tokens": 5}}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request.get("model"),
            **usage,
        }
        if not request.get("stream"):
            return self._send(json.dumps({**message, **reason, "content": [block]}).encode())
        start: dict[str, Any]
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events: list[dict[str, Any]] = [
            {
                "type": "message_start",
                "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None},
            },
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": reason, **usage},
            {"type": "message_stop"},
        ]
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return self._send("".join(lines).encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _main() -> None:
    task = json.load(sys.stdin)
    if task["alone"]:  # a new network namespace has loopback, but down: SIOCSIFFLAGS, IFF_UP and IFF_RUNNING
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", 0x41))
    with _Model(task["plan"]) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        variables = {**task["env"], "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}"}
        client = subprocess.run(
            task["client"],
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        model.shutdown()
    events = [json.loads(line) for line in client.stdout.splitlines() if line.startswith("{")]
    inits = [event for event in events if event.get("subtype") == "init"]
    run = Run(inits[0] if inits else {}, model.requests, events, client.stderr)
    json.dump(run._asdict(), sys.stdout)


if __name__ == "__main__":
    _main()
