"""Small real servers, run as programs of their own: `python small_server.py KIND [ARGUMENT]`."""

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any

HEADED = {"type": "string", "x-mcp-header": "Place"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def offered(*names: str) -> list[object]:
    return [{"name": name, "description": f"does {name}", "inputSchema": SCHEMA} for name in names]


PAGES: Mapping[str, list[list[object]]] = {
    "old": [offered("read", "write"), offered("do.it")],
    "bad": [
        [
            *offered("good"),
            {"name": "untyped", "inputSchema": {"properties": {}}},
            {"inputSchema": SCHEMA},
            "not a tool",
            {"name": "schemaless"},
            {"name": "wordy", "inputSchema": SCHEMA, "description": ["no", "text"]},
            *offered("do.it", "do_it", "also-good"),
        ]
    ],
    "long": [
        [
            *offered("n" * 257, "n" * 256),
            {"name": "titled", "inputSchema": SCHEMA, "title": "x" * 2**20},
            {"name": "boundless", "inputSchema": {"type": "object", "x": float("inf")}},
            {"name": "noted", "inputSchema": SCHEMA, "annotations": {"x": "x" * 2**20}},
        ]
    ],
    "headed": [
        [
            {"name": "good", "inputSchema": {"type": "object", "properties": {"a": HEADED}}},
            {"name": "split", "inputSchema": {"type": "object", "properties": {"a": HEADED, "b": HEADED}}},
        ]
    ],
    "endless": [offered("a"), offered("b")],
    "toolless": [],
}


def answer_as_in_2024(pages: list[list[object]], *, ends: bool = True, complaint: str = "") -> None:
    """Speak the protocol of the first era by hand, with whatever tools are given."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = _reply(request, pages, ends=ends)
        if complaint and request["method"] == "tools/list":
            reply = {"error": {"code": 1, "message": complaint}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
        sys.stdout.flush()


def _reply(request: dict[str, Any], pages: list[list[object]], *, ends: bool) -> dict[str, object]:
    if request["method"] == "initialize":
        info = {"name": "small", "version": "1.2.3"}
        return {
            "result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}
        }
    if request["method"] == "tools/list" and pages:
        at = int(request.get("params", {}).get("cursor", "0"))
        following = at + 1 if ends else (at + 1) % len(pages)
        more = {"nextCursor": str(following)} if following < len(pages) else {}
        return {"result": {"tools": pages[at], **more}}
    return {"error": {"code": -32601, "message": "no such method"}}


def sdk() -> Any:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("small", version="4.5.6")

    @server.tool(title="Read a file")
    def read(path: str) -> str:  # pyright: ignore[reportUnusedFunction] - the SDK calls it
        """Read one file."""
        return path

    @server.tool()
    def where() -> dict[str, str]:  # pyright: ignore[reportUnusedFunction] - the same
        """Tell where the server runs."""
        return dict(os.environ)

    return server


def serve(app: Any) -> None:
    """Serve an application on a free port of the loopback, and print the port."""
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])


def guarded(app: Any, refuse: Callable[[Mapping[str, str], bytes], int | None]) -> Any:
    """Refuse requests by their headers and body, with a status."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        event = await receive()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        status = refuse(headers, event.get("body", b""))
        if status is not None:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        events = iter([event])

        async def again() -> Any:
            return next(events, None) or await receive()

        await app(scope, again, send)

    return guard


def crash() -> None:
    sys.stderr.write(f"cannot log in\nwith {os.environ.get('PASSWORD')}\n")
    sys.exit(3)


def flood() -> None:
    sys.stderr.write("noise\n" * 500_000)
    sys.stderr.flush()
    answer_as_in_2024([offered("heard")])


def family(note: str) -> None:
    """Start a child that outlives its parent, note its process, and end without a word."""
    child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
    with open(note, "w", encoding="utf-8") as opened:
        opened.write(str(child.pid))
    answer_as_in_2024([offered("bear")])


def nursery(note: str) -> None:
    """Start a child, note both processes, and never answer."""
    child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
    with open(note, "w", encoding="utf-8") as opened:
        opened.write(f"{os.getpid()} {child.pid}")
    child.wait()


def deaf(note: str) -> None:
    """Heed no request to end, note the process, and never answer."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with open(note, "w", encoding="utf-8") as opened:
        opened.write(str(os.getpid()))
    while True:
        signal.pause()


def unreadable(request: Mapping[str, Any]) -> str:
    """Answer with a number that nobody can read."""
    return f'{{"jsonrpc": "2.0", "id": {json.dumps(request["id"])}, "result": {{"tools": {"1" * 5_000}}}}}'


def answer_unreadably() -> None:
    for line in sys.stdin:
        sys.stdout.write(unreadable(json.loads(line)) + "\n")
        sys.stdout.flush()


def answering(body: Callable[[Mapping[str, Any]], Iterable[bytes]], *headers: tuple[bytes, bytes]) -> Any:
    """Answer every request of HTTP with a body of JSON, by pieces."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        request = json.loads((await receive())["body"])
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": [(b"content-type", b"application/json"), *headers]})
        for piece in body(request):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return answer


def farewell(note: str) -> None:
    """Serve, and write a word when there is nothing more to answer."""
    answer_as_in_2024([offered("leave")])
    with open(note, "w", encoding="utf-8") as opened:
        opened.write("bye")


def tell(note: str, *arguments: str) -> None:
    """Write down how it was started, then serve."""
    with open(note, "w", encoding="utf-8") as opened:
        json.dump({"cwd": os.getcwd(), "args": arguments, "env": dict(os.environ)}, opened)
    answer_as_in_2024([offered("told")])


def main(kind: str, arguments: Iterable[str]) -> None:
    match kind:
        case "sdk":
            sdk().run()
        case "http":
            serve(sdk().streamable_http_app())
        case "http-old":
            old = guarded(
                sdk().streamable_http_app(), lambda _, body: 400 if b"server/discover" in body else None
            )
            serve(old)
        case "http-closed":
            serve(guarded(sdk().streamable_http_app(), lambda headers, _: _unless_known(headers)))
        case "sse":
            serve(sdk().sse_app())
        case "many":
            answer_as_in_2024([offered(*(f"t{at}" for at in range(10_001)))])
        case "heavy":
            answer_as_in_2024([[{"name": f"t{at}", "description": "x" * 2**23}] for at in range(9)])
        case "complain":
            answer_as_in_2024([], complaint="no " * 1_000_000)
        case "unreadable":
            answer_unreadably()
        case "http-unreadable":
            serve(answering(lambda request: [unreadable(request).encode()]))
        case "http-heavy":
            serve(answering(lambda _: repeat(b" " * 2**20, 700)))
        case "http-packed":
            serve(answering(lambda _: [gzip.compress(b"{}")], (b"content-encoding", b"gzip")))
        case "hang":
            subprocess.run(["sleep", "1000"], check=False)
        case "crash":
            crash()
        case "flood":
            flood()
        case "family":
            family(*arguments)
        case "nursery":
            nursery(*arguments)
        case "deaf":
            deaf(*arguments)
        case "farewell":
            farewell(*arguments)
        case "tell":
            tell(*arguments)
        case _:
            answer_as_in_2024(PAGES[kind], ends=kind != "endless")


def _unless_known(headers: Mapping[str, str]) -> int | None:
    return None if headers.get("authorization") == "Bearer sesame-opens" else 401


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
