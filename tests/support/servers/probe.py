"""A server without dependencies whose tool `run` runs a shell command, to see what its sandbox lets it do."""

import json
import signal
import subprocess
import sys
from typing import Any

RUN = {"name": "run", "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = params["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "p", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [RUN]}
    done = subprocess.run(
        ["/bin/sh", "-c", params["arguments"]["command"]],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    text = done.stdout + done.stderr
    return {"content": [{"type": "text", "text": text}], "isError": done.returncode != 0}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def leave(farewell: str) -> None:
    with open(farewell, "w"):
        sys.exit(0)


def main(farewell: str | None = None) -> None:
    if (
        farewell is not None
    ):  # a file to write when asked to end, which takes a signal: it ignores its input's end
        signal.signal(signal.SIGTERM, lambda _, __: leave(farewell))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and message.get("method") in ("initialize", "tools/list", "tools/call"):
            result = answer(message["method"], message.get("params", {}))
            say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        elif "id" in message:
            error = {"code": -32601, "message": "no such method"}
            say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))
    if farewell is not None:
        signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
