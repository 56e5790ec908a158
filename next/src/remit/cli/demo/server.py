"""A small MCP server for `remit demo`: `python server.py NAME DATA` serves `orders` or `deploy` on stdio.

It does what its tools say, to the records in the JSON file `DATA`. It needs only the standard library and
none of Remit's modules, so it starts in milliseconds.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PROTOCOL = "2025-11-25"
_NO_METHOD = -32601

Records = list[dict[str, Any]]


def find_orders(records: Records, customer: str = "") -> str:
    """List the orders of a customer, newest first, each with its number, its total and its status."""
    found = [order for order in records if customer.lower() in order["customer"].lower()]
    return "\n".join(map(_order, reversed(found))) or "Nothing found."


def read_order(records: Records, number: int) -> str:
    """Show one order with its items."""
    order = _find(records, number)
    return "\n".join([_order(order), *order["items"]])


def refund_order(records: Records, number: int, reason: str) -> str:
    """Pay an order back to its customer. The payment provider books it at once, and nothing undoes it."""
    order = _find(records, number)
    order.update(status="refunded", reason=reason)
    return f"Refunded {order['total']:.2f} euros for order {number}."


def deployment_status(records: Records) -> str:
    """Name the version that runs in production, and how it came there."""
    return f"Production runs {records[-1]['version']}."


def release(records: Records, version: str) -> str:
    """Release a version to production: build it, switch all traffic to it, and tell the team."""
    before = records[-1]["version"]
    records.append({"version": version})
    return f"Released {version} to production. Before: {before}."


def rollback(records: Records) -> str:
    """Bring the version before this one back to production."""
    if len(records) < 2:
        raise LookupError("there is no version before this one")
    records.pop()
    return deployment_status(records)


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
Tool = tuple[Callable[..., str], Mapping[str, Any], tuple[str, ...]]  # with its parameters
TOOLS: Mapping[str, tuple[Tool, ...]] = {
    "orders": (
        (find_orders, {"customer": {**_TEXT, "description": "A part of the name; empty for all."}}, ()),
        (read_order, {"number": {**_NUMBER, "description": "The number of the order."}}, ("number",)),
        (refund_order, {"number": _NUMBER, "reason": _TEXT}, ("number", "reason")),
    ),
    "deploy": (
        (deployment_status, {}, ()),
        (release, {"version": {**_TEXT, "description": "Such as 2.4.0."}}, ("version",)),
        (rollback, {}, ()),
    ),
}


def _find(records: Records, number: int) -> dict[str, Any]:
    for record in records:
        if record["number"] == number:
            return record
    raise LookupError(f"there is no order {number}")


def _order(order: Mapping[str, Any]) -> str:
    return f"{order['number']} {order['customer']}: {order['total']:.2f} euros, {order['status']}"


def _definition(tool: Tool) -> dict[str, Any]:
    function, properties, required = tool
    schema = {"type": "object", "properties": dict(properties), "required": [*required]}
    return {"name": function.__name__, "description": function.__doc__, "inputSchema": schema}


def _answer(method: str, params: Mapping[str, Any], name: str, data: Path) -> dict[str, Any] | None:
    if method == "initialize":
        server = {"name": name, "version": "1.0"}
        return {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [_definition(tool) for tool in TOOLS[name]]}
    if method == "tools/call":
        return _call(params, name, data)
    return {} if method == "ping" else None


def _call(params: Mapping[str, Any], name: str, data: Path) -> dict[str, Any]:
    functions = {function.__name__: function for function, _, _ in TOOLS[name]}
    records = json.loads(data.read_text("utf-8"))
    try:
        text, is_error = functions[params["name"]](records, **params.get("arguments", {})), False
    except (LookupError, TypeError) as error:
        text, is_error = str(error), True
    data.write_text(json.dumps(records), "utf-8")
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def main(name: str, data: str) -> None:
    """Serve until the client closes its end."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = _answer(message["method"], message.get("params", {}), name, Path(data))
        answer = {"result": result} if result is not None else {"error": {"code": _NO_METHOD, "message": "?"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
