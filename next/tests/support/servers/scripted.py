"""An MCP server on stdio that does what a file says, as it says it at that moment.

python scripted.py FILE      FILE: JSON with `tools` (by name: `definition`, `does`, `needs`), `resources`,
                             `templates`, `prompts`, `instructions`; each call is written to FILE.calls
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

FILE = Path(sys.argv[-1])
number = 0
session = os.urandom(2).hex()
client: dict[str, Any] = {}


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "method" in request and "id" in request:
            write({"jsonrpc": "2.0", "id": request["id"], **answered(request)})


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def says() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def answered(request: dict[str, Any]) -> dict[str, Any]:
    said, params = says(), request.get("params", {})
    match request["method"]:
        case "initialize":
            client.update(params.get("capabilities", {}))
            opening = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "scripted", "version": "1"}}
            capabilities = said.get(
                "capabilities", {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
            )
            instructions = {"instructions": said["instructions"]} if "instructions" in said else {}
            return {"result": {**opening, "capabilities": capabilities, **instructions}}
        case "tools/list":
            if pause := said.get("slow"):
                __import__("time").sleep(pause)
            tools = [
                {"name": name, "inputSchema": {"type": "object"}, **tool.get("definition", {})}
                for name, tool in said.get("tools", {}).items()
                if not tool.get("needs") or tool["needs"] in client
            ]
            return {"result": {"tools": tools}}
        case "resources/list":
            return {"result": {"resources": said.get("resources", [])}}
        case "resources/templates/list":
            return {"result": {"resourceTemplates": said.get("templates", [])}}
        case "prompts/list":
            return {"result": {"prompts": said.get("prompts", [])}}
        case "resources/read":
            text = f"{FILE.stem} has {params['uri']}"
            return {"result": {"contents": [{"uri": params["uri"], "text": text}]}}
        case "prompts/get":
            return {"result": {"messages": [], "description": f"{FILE.stem} says {params['name']}"}}
        case "completion/complete":
            return {"result": {"completion": {"values": [FILE.stem, json.dumps(params["ref"])]}}}
        case "tools/call":
            with open(f"{FILE}.calls", "a", encoding="utf-8") as calls:
                calls.write(json.dumps([session, params["name"], params.get("arguments")]) + "\n")
            return called(said.get("tools", {}).get(params["name"], {}).get("does", {}), params)
        case "ping" | "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "method not found"}}


def called(does: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Answer a call: ask first, tell something, make a file, end; then answer with what the file says."""
    heard = [ask(*question) for question in does.get("asks", ())]
    for method, told in does.get("tells", ()):
        write({"jsonrpc": "2.0", "method": method, "params": told})
    if path := does.get("makes"):
        Path(path).touch()
    if does.get("ends"):
        sys.exit(1)
    if "error" in does:
        return {"error": does["error"]}
    words = does.get("text", json.dumps(heard or [params["name"], params.get("arguments", {})]))
    plain = {"content": [{"type": "text", "text": words}]}
    return {"result": does.get("result", plain)}


def ask(method: str, params: dict[str, Any]) -> Any:
    """Ask the client, and return its answer."""
    global number
    number += 1
    write({"jsonrpc": "2.0", "id": f"ask-{number}", "method": method, "params": params})
    for line in sys.stdin:
        answer = json.loads(line)
        if answer.get("id") == f"ask-{number}" and "method" not in answer:
            return answer.get("result", answer.get("error"))
    return None


if __name__ == "__main__":
    main()
