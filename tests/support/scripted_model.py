"""A model on the loopback that does what a test tells it, for the real Claude Code to talk to.

A test's script is asked at every turn what to do, with the request as the client sent it: its answer is the
call of a tool, or nothing, which ends the conversation.
"""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple

Request = dict[str, Any]


class ToolCall(NamedTuple):
    name: str
    arguments: Mapping[str, Any] | str  # text is sent as it is


Script = Callable[[Request], ToolCall | None]


@contextmanager
def scripted_model(script: Script) -> Generator[str]:
    """Serve the model; gives its URL."""
    numbers = count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def do_HEAD(self) -> None:
            self.say(b"")

        def do_GET(self) -> None:
            self.say(b"{}")

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if "count_tokens" in self.path:
                self.say(b'{"input_tokens": 1}')
            elif "/v1/messages" not in self.path:
                self.say(b"{}")
            else:
                # Without tools, the client asks for something else than the next turn: a title, say.
                turn = Turn(next(numbers), asked.get("model"), script(asked) if asked.get("tools") else None)
                if asked.get("stream"):
                    self.say(turn.streamed(), "text/event-stream")
                else:
                    self.say(json.dumps(turn.whole()).encode())

        def say(self, body: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class Turn(NamedTuple):
    """What the model says once."""

    number: int
    model: str | None
    call: ToolCall | None

    @property
    def message(self) -> dict[str, Any]:
        said = {"id": "msg", "type": "message", "role": "assistant", "model": self.model}
        return {**said, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}

    @property
    def reason(self) -> str:
        return "end_turn" if self.call is None else "tool_use"

    def block(self, given: Mapping[str, Any] | str) -> dict[str, Any]:
        """What it says: words, or a call, whose arguments may come later."""
        if self.call is None:
            return {"type": "text", "text": "done"}
        return {"type": "tool_use", "id": f"toolu_{self.number}", "name": self.call.name, "input": given}

    def whole(self) -> dict[str, Any]:
        given: Mapping[str, Any] | str = self.call.arguments if self.call else {}
        return {**self.message, "content": [self.block(given)], "stop_reason": self.reason}

    def streamed(self) -> bytes:
        delta = (
            {"type": "text_delta", "text": ""}
            if self.call is None
            else {"type": "input_json_delta", "partial_json": json.dumps(self.call.arguments)}
        )
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**self.message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": self.block({})},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": self.reason}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
