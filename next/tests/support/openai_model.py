"""A model on the loopback that does what a test tells it, for frameworks that talk to OpenAI's APIs."""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple

Request = dict[str, Any]


class ToolCall(NamedTuple):
    """A call that the model makes."""

    name: str
    arguments: Mapping[str, Any] | str  # text is sent as it is


Script = Callable[[Request], ToolCall | None]  # asked at every turn; None ends the conversation

_USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
_DETAILS = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}


@contextmanager
def openai_model(script: Script, said: str = "done") -> Generator[str]:
    """Serve the model; gives its base URL. When the script calls nothing more, the model answers in words."""
    numbers = count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            answer = _response if self.path.endswith("/responses") else _completion
            body = json.dumps(answer(asked, script(asked), next(numbers), said)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.send_header("connection", "close")  # frameworks do not close what they keep open
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()


def offered(asked: Request) -> list[str]:
    """List the names of the tools in a request of either API."""
    return [each.get("function", each)["name"] for each in asked.get("tools", [])]


def turns(asked: Request) -> int:
    """Count the calls that the model made so far in the conversation of a request."""
    messages: list[Request] = asked.get("messages", [])
    items: list[Request] = asked.get("input", [])
    calls = sum(len(each.get("tool_calls") or ()) for each in messages)
    return calls + sum(item.get("type") == "function_call" for item in items)


def _written(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(dict(call.arguments))


def _completion(asked: Request, call: ToolCall | None, number: int, said: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said if call is None else None}
    if call is not None:
        function = {"name": call.name, "arguments": _written(call)}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if call is None else "tool_calls"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": f"chat_{number}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.get("model"),
        "choices": [choice],
        "usage": usage,
    }


def _response(asked: Request, call: ToolCall | None, number: int, said: str) -> dict[str, Any]:
    if call is None:
        text: dict[str, Any] = {"type": "output_text", "text": said, "annotations": []}
        output: dict[str, Any] = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "content": [text],
        }
    else:
        output = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": call.name,
        }
        output["arguments"] = _written(call)
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": asked.get("model"),
        "status": "completed",
        "output": [{**output, "status": "completed"}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**_USAGE, **_DETAILS},
    }
