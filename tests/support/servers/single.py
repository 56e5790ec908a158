"""A server that must run once: `python single.py LOG`. It notes that it starts, and who else runs then."""

import json
import os
import sys
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[1])
TOOL = {"name": "who", "description": "Say which process answers.", "inputSchema": {"type": "object"}}


def note(word: str) -> None:
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"{word} {os.getpid()}\n")


def runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def result(method: str) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "single", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    return {"content": [{"type": "text", "text": str(os.getpid())}]}


if any(runs(line.split()[1]) for line in LOG.read_text("utf-8").splitlines()):
    note("overlap")
note("start")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result(asked["method"])}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
