"""The real Codex, Gemini CLI and opencode, once, with a model that follows a script.

The model is a server on loopback that speaks the protocol of each client: OpenAI Responses, Gemini and OpenAI
Chat Completions. It makes the calls of its script, one in each answer, then it is done.
"""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

Call = tuple[str, Mapping[str, object]]  # a tool and its arguments
Request = dict[str, Any]

PROGRAMS = {
    "codex": os.environ.get("REMIT_TEST_CODEX", ""),
    "gemini-cli": os.environ.get("REMIT_TEST_GEMINI", ""),
    "opencode": os.environ.get("REMIT_TEST_OPENCODE", ""),
}


class Protocol(NamedTuple):
    """How a client speaks with its model."""

    path: str  # part of the URL of a turn
    tools: Callable[[Request], list[str]]
    results: Callable[[Request], list[str]]  # of calls, in their order
    answer: Callable[[int, Call | None, Request], str]  # events; without a call, the last words


@dataclass
class ClientSession:
    """What happened in one run of the client."""

    protocol: Protocol
    requests: list[Request] = field(default_factory=list[Request])
    output: str = ""

    @property
    def tools(self) -> list[str]:
        """The names of the definitions that the model was sent first."""
        return self.protocol.tools(self.requests[0])

    @property
    def last_tools(self) -> list[str]:
        """The names of the definitions that the model was sent last."""
        return self.protocol.tools(self.requests[-1])

    @property
    def results(self) -> list[str]:
        """What the calls came to, in their order."""
        return self.protocol.results(self.requests[-1])


def run_client(
    client: str,
    home: Path,
    directory: Path,
    *,
    calls: Sequence[Call] = (),
    variables: Mapping[str, str] | None = None,
) -> ClientSession:
    """Run a client in a directory until its model is done."""
    session = ClientSession(PROTOCOLS[client])
    with _model(list(calls), session) as address:
        command, own = COMMANDS[client](address)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **own,
            **(variables or {}),
        }
        done = subprocess.run(
            [PROGRAMS[client], *command],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        session.output = done.stdout + done.stderr
    assert done.returncode == 0, session.output
    return session


def _codex(address: str) -> tuple[list[str], dict[str, str]]:
    provider = f'{{name="scripted", base_url="{address}/v1", wire_api="responses"}}'
    settings = ("model_provider=scripted", f"model_providers.scripted={provider}", "model=scripted")
    options = [word for setting in settings for word in ("-c", setting)]
    # Without a terminal, Codex refuses every call of a tool that it would ask about.
    return ["exec", "--dangerously-bypass-approvals-and-sandbox", *options, "--json", "hello"], {}


def _gemini(address: str) -> tuple[list[str], dict[str, str]]:
    own = {
        "GEMINI_API_KEY": "not-a-key",
        "GOOGLE_GEMINI_BASE_URL": address,
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return ["--approval-mode", "yolo", "--model", "gemini-2.5-pro", "--prompt", "hello"], own


def _opencode(address: str) -> tuple[list[str], dict[str, str]]:
    model = {"name": "scripted", "limit": {"context": 200_000, "output": 8_000}, "tool_call": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{address}/v1", "apiKey": "not-a-key"},
        "models": {"scripted": model},
    }
    own = {
        "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"scripted": provider}, "snapshot": False}),
        "OPENCODE_PURE": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }
    return ["run", "--model", "scripted/scripted", "hello"], own


COMMANDS: Mapping[str, Callable[[str], tuple[list[str], dict[str, str]]]] = {
    "codex": _codex,
    "gemini-cli": _gemini,
    "opencode": _opencode,
}


@contextmanager
def _model(script: list[Call], session: ClientSession) -> Generator[str]:
    lock = threading.Lock()
    protocol = session.protocol

    class Model(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            self._say(b"{}", "application/json")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if protocol.path not in self.path:
                self._say(b"{}", "application/json")
                return
            call = None
            with lock:
                if protocol.tools(request):  # without tools, it asks for a title, say
                    session.requests.append(request)
                    call = script.pop(0) if script else None
                text = protocol.answer(len(session.requests), call, request)
            self._say(text.encode(), "text/event-stream")

        def _say(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def _responses_tools(request: Request) -> list[str]:
    """List the tools of a Responses request; a namespace holds the tools of one server."""
    found: list[str] = []
    for tool in request.get("tools", ()):
        inner = tool.get("tools")
        prefix = f"{tool['name']}__" if inner else ""
        found += [f"{prefix}{each['name']}" for each in inner or [tool] if "name" in each]
    return found


def _responses_results(request: Request) -> list[str]:
    found = [item for item in request["input"] if item.get("type") == "function_call_output"]
    return [json.dumps(item["output"]) for item in found]


def _responses(number: int, call: Call | None, request: Request) -> str:
    if call is None:
        content = [{"type": "output_text", "text": "done"}]
        item: dict[str, object] = {"type": "message", "role": "assistant", "id": "m", "content": content}
    else:
        name, given = call
        item = {"type": "function_call", "id": f"f{number}", "call_id": f"call_{number}", "name": name}
        spaces = [tool["name"] for tool in request["tools"] if tool.get("tools")]
        if space := next((each for each in spaces if name.startswith(f"{each}__")), None):
            item |= {"namespace": space, "name": name.removeprefix(f"{space}__")}
        item["arguments"] = json.dumps(given)
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": f"r{number}", "object": "response", "output": [item], "usage": usage}
    return _events(
        {"type": "response.created", "response": {"id": f"r{number}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "status": "completed"}},
    )


def _gemini_tools(request: Request) -> list[str]:
    return [
        each["name"] for group in request.get("tools", ()) for each in group.get("functionDeclarations", ())
    ]


def _gemini_results(request: Request) -> list[str]:
    parts = [part for content in request["contents"] for part in content.get("parts", ())]
    return [json.dumps(part["functionResponse"]) for part in parts if "functionResponse" in part]


def _gemini_answer(_number: int, call: Call | None, _request: Request) -> str:
    part: dict[str, object] = {"text": "done"}
    if call is not None:
        part = {"functionCall": {"name": call[0], "args": call[1]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return _events({"candidates": [candidate], "usageMetadata": usage})


def _chat_tools(request: Request) -> list[str]:
    return [tool["function"]["name"] for tool in request.get("tools", ())]


def _chat_results(request: Request) -> list[str]:
    return [json.dumps(each["content"]) for each in request["messages"] if each["role"] == "tool"]


def _chat(number: int, call: Call | None, _request: Request) -> str:
    delta: dict[str, object] = {"role": "assistant", "content": "done"}
    if call is not None:
        name, given = call
        function = {"name": name, "arguments": json.dumps(given)}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function"}],
        }
        delta["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
    chunk = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    end: dict[str, object] = {"index": 0, "finish_reason": "stop" if call is None else "tool_calls"}
    end["delta"] = dict[str, object]()
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return (
        _events(
            {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**chunk, "choices": [end], "usage": usage},
        )
        + "data: [DONE]\n\n"
    )


def _events(*events: Mapping[str, object]) -> str:
    named = ((f"event: {event['type']}\n" if "type" in event else "", event) for event in events)
    return "".join(f"{name}data: {json.dumps(event)}\n\n" for name, event in named)


PROTOCOLS: Mapping[str, Protocol] = {
    "codex": Protocol("/responses", _responses_tools, _responses_results, _responses),
    "gemini-cli": Protocol("streamGenerateContent", _gemini_tools, _gemini_results, _gemini_answer),
    "opencode": Protocol("/chat/completions", _chat_tools, _chat_results, _chat),
}
