"""Asking: has the person before the client say yes or no to one call."""

from collections.abc import Mapping
from typing import Any

from remit.protocol.json_rpc import JsonRpcError, as_object
from remit.upstream.ports import RequestContext


def can_elicit(capabilities: Mapping[str, Any]) -> bool:
    """Tell whether a client can put a question to its user; one that says nothing else can show a form."""
    ways = as_object(capabilities.get("elicitation"))
    return "elicitation" in capabilities and (not ways or "form" in ways)


async def ask_person(name: str, reason: str, arguments: str, caller: RequestContext) -> bool | None:
    """Ask whether a call may go ahead; None where there is no answer."""
    question: dict[str, Any] = {
        "message": f"Allow this call of `{name}`?\n{reason}\narguments: {arguments}",
        "requestedSchema": {"type": "object", "properties": {}},
    }
    try:
        answer = await caller.send_request("elicitation/create", question)
    except JsonRpcError:
        return None
    return {"accept": True, "decline": False}.get(answer.get("action", ""))
