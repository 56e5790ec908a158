"""The real Claude Code, once, with a model that follows a script: what it is sent, and what comes of it.

The model is a server on loopback. It makes the calls of its script, one in each answer or all in one, then it
is done.
"""

import json
import os
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Call = tuple[str, Mapping[str, object]]  # a tool and its arguments
NumberedCall = tuple[str, str, Mapping[str, object]]  # its id, then the same
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
USAGE = {"input_tokens": 10, "output_tokens": 5}


@dataclass
class Session:
    """What happened in one run of the client."""

    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def sent(self) -> str:
        """All that the first request with tools told the model."""
        return json.dumps(self.requests[0]["messages"], ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        """The names of the definitions that the model was sent."""
        return [tool["name"] for tool in self.requests[0]["tools"]]

    @property
    def results(self) -> list[str]:
        """What the calls came to, in their order."""
        last = self.requests[-1]["messages"]
        blocks = [
            block for message in last if isinstance(message["content"], list) for block in message["content"]
        ]
        found = [block for block in blocks if block.get("type") == "tool_result"]
        found.sort(key=lambda block: block["tool_use_id"])  # batched calls end in any order
        return [json.dumps(block["content"]) for block in found]


def run(
    client: str,
    home: Path,
    directory: Path,
    *,
    calls: Sequence[Call] = (),
    prompt: str = "hello",
    variables: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    is_batched: bool = False,
) -> Session:
    """Run the client in a directory until its model is done; batched, it makes all calls in one answer."""
    session = Session()
    numbered = [(f"toolu_{at:02}", *call) for at, call in enumerate(calls, start=1)]
    script = [numbered] if is_batched and numbered else [[call] for call in numbered]
    with _model(script, session) as address:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ANTHROPIC_API_KEY": "not-a-key",
            "ANTHROPIC_BASE_URL": address,
            **(variables or {}),
        }
        command = [client, *options, "-p", prompt, "--output-format", "stream-json", "--verbose"]
        subprocess.run(command, cwd=directory, env=environment, capture_output=True, check=True, timeout=180)
    return session


@contextmanager
def _model(script: list[list[NumberedCall]], session: Session) -> Generator[str]:
    lock = threading.Lock()

    class Model(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            self._answer(b"{}", "application/json")

        def do_HEAD(self) -> None:
            self._answer(b"", "application/json")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if "count_tokens" in self.path:
                self._answer(b'{"input_tokens": 10}', "application/json")
            elif "/v1/messages" not in self.path:
                self._answer(b"{}", "application/json")
            else:
                self._reply(request)

        def _reply(self, request: dict[str, Any]) -> None:
            blocks: list[dict[str, object]] = [{"type": "text", "text": "done"}]
            with lock:
                if request.get("tools"):
                    session.requests.append(request)
                    if script:
                        blocks = [
                            {"type": "tool_use", "id": id, "name": name, "input": given}
                            for id, name, given in script.pop(0)
                        ]
            stop = "tool_use" if blocks[0]["type"] == "tool_use" else "end_turn"
            if request.get("stream"):
                self._answer(_stream(blocks, stop).encode(), "text/event-stream")
            else:
                whole = {**MESSAGE, "content": blocks, "stop_reason": stop, "usage": USAGE}
                self._answer(json.dumps(whole).encode(), "application/json")

        def _answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _stream(blocks: Sequence[dict[str, object]], stop: str) -> str:
    """Write an answer as the events that a client reads."""
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None, "usage": USAGE}},
    ]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start: dict[str, object] = {"type": "text", "text": ""}
            delta: dict[str, object] = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    usage: dict[str, object] = {"output_tokens": 5}
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
