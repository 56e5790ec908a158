"""An MCP server on stdio that offers the definitions of a file, and answers each call with its own words.

python recorded.py FILE         FILE: JSON with `tools`, and maybe `serverInfo`
"""

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer until the input ends."""
    offer = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], **_answer(request, offer)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _answer(request: dict[str, Any], offer: dict[str, Any]) -> dict[str, Any]:
    parameters = request.get("params", {})
    result: dict[str, Any] = {}
    match request["method"]:
        case "initialize":
            result = {
                "protocolVersion": min(parameters["protocolVersion"], "2025-11-25"),
                "capabilities": {"tools": {}},
                "serverInfo": offer.get("serverInfo", {"name": "recorded", "version": "1"}),
            }
        case "ping":
            pass
        case "tools/list":
            result = {"tools": offer["tools"]}
        case "tools/call":
            words = json.dumps([parameters["name"], parameters.get("arguments", {})], sort_keys=True)
            result = {"content": [{"type": "text", "text": words}]}
        case _:
            return {"error": {"code": -32601, "message": "method not found"}}
    return {"result": result}


if __name__ == "__main__":
    main()
