"""A server of two teams, one under each path: `team_server.py LOG` prints its port.

It speaks the older era, without sessions, and writes what `guarded` was called with into LOG.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

NAMES = ("echo", "guarded", "edited", "private")
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "team", "version": "1"},
}
WRITING = Lock()


class TeamHandler(BaseHTTPRequestHandler):
    """Answers one message at a time."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in asked:
            self._send(202, b"")
            return
        answer = self._answer(asked["method"], asked.get("params", {}))
        found = (
            {"result": answer} if answer is not None else {"error": {"code": -32601, "message": "unknown"}}
        )
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], **found}).encode())

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        team = self.path.strip("/")
        if method == "initialize":
            return HELLO
        if method == "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            described = {name: f"Say a text again, {name} of team {team}." for name in NAMES}
            return {
                "tools": [
                    {"name": name, "description": text, "inputSchema": schema}
                    for name, text in described.items()
                ]
            }
        if method == "tools/call":
            text: str = params["arguments"]["text"]
            if params["name"] == "guarded":
                with WRITING, open(sys.argv[1], "a", encoding="utf-8") as log:
                    log.write(f"{text}\n")
            return {"content": [{"type": "text", "text": f"{team}: {text}"}]}
        return {} if method == "ping" else None

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class TeamServer(ThreadingHTTPServer):
    """Takes all nodes at once."""

    request_queue_size = 512
    daemon_threads = True


if __name__ == "__main__":
    server = TeamServer(("127.0.0.1", 0), TeamHandler)
    print(server.server_address[1], flush=True)  # noqa: T201 - how its port is found
    server.serve_forever()
