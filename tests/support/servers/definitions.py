"""Definitions of as many tools as are asked for, each as large as the tools of real servers are."""

from typing import Any

AREAS = ("issue", "page", "record", "branch", "message", "invoice", "metric", "device", "query", "build")
ACTIONS = ("create", "read", "update", "delete", "list", "search", "export", "archive")
FIELDS = ("owner", "project", "filter", "limit", "cursor", "format", "since", "labels")


def tools(count: int) -> list[dict[str, Any]]:
    return [_tool(number) for number in range(count)]


def _tool(number: int) -> dict[str, Any]:
    action, area = ACTIONS[number % len(ACTIONS)], AREAS[number // len(ACTIONS) % len(AREAS)]
    wanted = FIELDS[: 2 + number % (len(FIELDS) - 2)]
    return {
        "name": f"{action}_{area}_{number}",
        "title": f"{action.title()} {area}s",
        "description": f"{action.title()} one {area} of set {number}, as its owner sees it. "
        f"Answers with the {area} in full, or says which of the given fields does not fit and why.",
        "inputSchema": {
            "type": "object",
            "properties": {name: _field(name, area) for name in wanted},
            "required": [*wanted[:1]],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": action in ("read", "list", "search"), "openWorldHint": True},
    }


def _field(name: str, area: str) -> dict[str, Any]:
    about = f"The {name} that the {area} has to have; left out, every {name} will do."
    if name == "limit":
        return {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": about}
    if name == "labels":
        return {"type": "array", "items": {"type": "string"}, "description": about}
    return {"type": "string", "description": about}
