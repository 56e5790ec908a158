"""Small MCP servers for `remit demo`: `python demo_server.py NAME DATA` serves one of them on stdio.

Each server really does what its tools say, to the records in the JSON file `DATA`. It needs only the standard
library and none of Remit's modules, so it starts in milliseconds.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PROTOCOL = "2025-11-25"
DEFINITIONS = Path(__file__).with_name("demo_tools.json")
_NO_METHOD = -32601

Record = dict[str, Any]
Records = list[Record]


class DemoToolError(Exception):
    """A tool cannot do what was asked; a model reads the message."""


def list_tickets(records: Records, status: str | None = None, limit: int = 20) -> str:
    """List tickets, newest first."""
    found = [each for each in reversed(records) if status in (None, each["status"])][:limit]
    return _lines(f"#{each['number']} {each['title']} ({each['status']})" for each in found)


def read_ticket(records: Records, number: int) -> str:
    """Show a ticket with its comments."""
    ticket = _find(records, "number", number)
    return _lines([f"#{number} {ticket['title']} ({ticket['status']})", ticket["body"], *ticket["comments"]])


def create_ticket(records: Records, title: str, body: str = "") -> str:
    """Add a ticket."""
    number = max((each["number"] for each in records), default=0) + 1
    records.append({"number": number, "title": title, "body": body, "status": "open", "comments": []})
    return f"Created ticket #{number}."


def comment_on_ticket(records: Records, number: int, text: str) -> str:
    """Add a comment."""
    _find(records, "number", number)["comments"].append(text)
    return f"Commented on ticket #{number}."


def close_ticket(records: Records, number: int) -> str:
    """Close a ticket."""
    _find(records, "number", number)["status"] = "closed"
    return f"Ticket #{number} is closed."


def find_orders(records: Records, customer: str = "", status: str | None = None) -> str:
    """List the orders that match."""
    found = [each for each in _orders_of(customer, records) if status in (None, each["status"])]
    return _lines(map(_order, reversed(found)))


def read_order(records: Records, number: int) -> str:
    """Show an order with its items."""
    order = _find(records, "number", number)
    return _lines([_order(order), *order["items"]])


def cancel_order(records: Records, number: int, reason: str = "") -> str:
    """Cancel an order that is paid and not shipped."""
    order = _find(records, "number", number)
    if order["status"] != "paid":
        raise DemoToolError(f"Order {number} is already {order['status']}.")
    order.update(status="cancelled", reason=reason)
    return f"Canceled order {number}."


def refund_order(records: Records, number: int, reason: str) -> str:
    """Pay an order back."""
    order = _find(records, "number", number)
    if order["status"] == "refunded":
        raise DemoToolError(f"Order {number} is already refunded.")
    order.update(status="refunded", reason=reason)
    return f"Refunded {order['total']:.2f} euros for order {number}."


def sales_report(records: Records, customer: str = "") -> str:
    """Add up the orders that count."""
    totals = [
        each["total"] for each in _orders_of(customer, records) if each["status"] in ("paid", "shipped")
    ]
    average = sum(totals) / len(totals) if totals else 0
    return f"{len(totals)} orders, {sum(totals):.2f} euros, {average:.2f} on average."


def deployment_status(records: Records) -> str:
    """Name the version in production."""
    return f"Production runs {records[-1]['version']} (by {records[-1]['by']})."


def list_releases(records: Records, limit: int = 10) -> str:
    """List the releases."""
    return _lines(f"{each['version']} (by {each['by']})" for each in records[-limit:])


def release(records: Records, version: str) -> str:
    """Release a version."""
    if records[-1]["version"] == version:
        raise DemoToolError(f"Production already runs {version}.")
    records.append({"version": version, "by": "release"})
    return f"Released {version} to production. Before: {records[-2]['version']}."


def rollback(records: Records) -> str:
    """Bring the version before this one back."""
    running = records[-1]["version"]
    before = next((each["version"] for each in reversed(records) if each["version"] != running), None)
    if before is None:
        raise DemoToolError(f"No version ran before {running}.")
    records.append({"version": before, "by": "rollback"})
    return f"Production runs {before} again."


def list_articles(records: Records, status: str | None = None) -> str:
    """List articles."""
    return _lines(
        f"{each['title']} ({each['status']})" for each in records if status in (None, each["status"])
    )


def read_article(records: Records, title: str) -> str:
    """Show the text of an article."""
    return _find(records, "title", title)["text"]


def write_article(records: Records, title: str, text: str) -> str:
    """Create a draft, or replace a text."""
    for each in records:
        if each["title"] == title:
            each["text"] = text
            return f"Replaced the text of “{title}”."
    records.append({"title": title, "text": text, "status": "draft"})
    return f"Created the draft “{title}”."


def publish_article(records: Records, title: str) -> str:
    """Publish an article."""
    _find(records, "title", title)["status"] = "published"
    return f"Published “{title}”."


TOOLS: Mapping[str, tuple[Callable[..., str], ...]] = {
    "tickets": (list_tickets, read_ticket, create_ticket, comment_on_ticket, close_ticket),
    "orders": (find_orders, read_order, cancel_order, refund_order, sales_report),
    "deploy": (deployment_status, list_releases, release, rollback),
    "articles": (list_articles, read_article, write_article, publish_article),
}


def answer(request: Mapping[str, Any], name: str, data: Path) -> Record:
    """Answer one request of a client."""
    params = request.get("params", {})
    match request["method"]:
        case "initialize":
            info = {"name": name, "version": "1.0.0"}
            return {
                "result": {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": info}
            }
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": json.loads(DEFINITIONS.read_text("utf-8"))[name]}}
        case "tools/call":
            return {"result": _call(params["name"], params.get("arguments") or {}, name, data)}
        case method:
            return {"error": {"code": _NO_METHOD, "message": f"Method not found: {method}"}}


def _call(tool: str, arguments: Mapping[str, Any], name: str, data: Path) -> Record:
    known = {each.__name__: each for each in TOOLS[name]}
    records: Records = json.loads(data.read_text("utf-8"))
    try:
        text = known[tool](records, **arguments)
    except (DemoToolError, TypeError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    except KeyError:
        return {"content": [{"type": "text", "text": f"Unknown tool: {tool}"}], "isError": True}
    data.write_text(json.dumps(records, indent=2), "utf-8")
    return {"content": [{"type": "text", "text": text}]}


def main(name: str, data: str) -> None:
    """Serve until stdin ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], **answer(request, name, Path(data))}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


def _find(records: Records, key: str, value: object) -> Record:
    for each in records:
        if each[key] == value:
            return each
    raise DemoToolError(f"Nothing has the {key} {value}.")


def _orders_of(customer: str, records: Records) -> Records:
    return [each for each in records if customer.lower() in each["customer"].lower()]


def _order(order: Record) -> str:
    return f"{order['number']} {order['customer']}, {order['total']:.2f} euros ({order['status']})"


def _lines(lines: Any) -> str:
    return "\n".join(lines) or "Nothing found."


if __name__ == "__main__":
    main(*sys.argv[1:])
