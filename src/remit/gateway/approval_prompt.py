"""Asks the user to approve a call, through the client's elicitation."""

from collections.abc import Mapping
from typing import Any

from remit.protocol.json_rpc import JsonRpcError, as_object
from remit.upstream.ports import RequestContext


def can_elicit(capabilities: Mapping[str, Any]) -> bool:
    """Check whether a client supports form elicitation, which is the default mode."""
    ways = as_object(capabilities.get("elicitation"))
    return "elicitation" in capabilities and (not ways or "form" in ways)


async def ask_person(name: str, reason: str, arguments: str, caller: RequestContext) -> bool | None:
    """Ask the user whether to allow a call; return None if there is no answer."""
    question: dict[str, Any] = {
        "message": f"Allow this call of `{name}`?\n{reason}\narguments: {arguments}",
        "requestedSchema": {"type": "object", "properties": {}},
    }
    try:
        answer = await caller.send_request("elicitation/create", question)
    except JsonRpcError:
        return None
    return {"accept": True, "decline": False}.get(answer.get("action", ""))
