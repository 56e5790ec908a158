"""Instructions: what a model is told at the start about what an endpoint serves."""

from collections.abc import Mapping

from remit.core.serving.own_tools import Own
from remit.core.serving.plan import Plan

_MOST = 2_000  # characters of one server's words
_HOW = {
    "auto": "Not all tools may be listed: `discover_tools` finds more, `call_tool` calls them.",
    "search": "Most tools are not listed: `discover_tools` finds them, `call_tool` calls them.",
    "namespace": "Tools are grouped: call a group to get its tools, then call one by `call_tool`.",
    "rooms": "Tools are in rooms: read a `room://` resource to get its tools, then call one by `call_tool`.",
}


def instructions(plan: Plan, servers: Mapping[str, str | None]) -> str | None:
    """Put together how tools are reached, and what their servers say."""
    how = _HOW.get(plan.strategy) if Own.CALL in plan.own_tools else None
    parts = [how] if how is not None else []
    for server, words in servers.items():
        if words:
            parts.append(f"# {server}\n{words[:_MOST]}")
    return "\n\n".join(parts) or None
