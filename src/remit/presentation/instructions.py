"""Instructions: what a model is told at the start about what an endpoint serves."""

from collections.abc import Mapping

from remit.presentation.own_tools import OwnTool
from remit.presentation.plan import ServingPlan

_MOST = 4_000  # characters of all servers' words together
_LEAST = 200  # of each server's, however many there are
_MOST_NAMED = 60  # servers
_FINDING = "Not all tools are listed: find them with `discover_tools` and call them with `call_tool`."
_HOW = {
    **dict.fromkeys(("auto", "state", "flat", "manifest"), _FINDING),
    "search": "Most tools are not listed: find them with `discover_tools` and call them with `call_tool`.",
    "namespace": "Tools are grouped: call a group to get its tools, then call one with `call_tool`.",
    "rooms": "Tools are in rooms: read a `room://` resource for its tools, then call one with `call_tool`.",
}


def instructions(
    plan: ServingPlan, deferred: Mapping[str, int], servers: Mapping[str, str | None]
) -> str | None:
    """Put together how tools are reached, which servers have more of them, and what servers say."""
    parts: list[str] = []
    if deferred and plan.strategy in _HOW and OwnTool.CALL in plan.own_tools:
        parts.append(f"{_HOW[plan.strategy]} Not listed are tools of: {_counted(deferred)}.")
    said = {server: words for server, words in servers.items() if words}
    most = max(_LEAST, _MOST // max(1, len(said)))
    parts += [f"# {server}\n{words[:most]}" for server, words in said.items()]
    return "\n\n".join(parts) or None


def _counted(deferred: Mapping[str, int]) -> str:
    named = [f"{server} ({count})" for server, count in deferred.items()]
    more = f" and {len(named) - _MOST_NAMED} more servers" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more
