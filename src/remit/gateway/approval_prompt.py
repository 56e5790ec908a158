"""Asks the user to approve a call, through the client's elicitation."""

from collections.abc import Mapping
from typing import Any

from remit.policy.approvals import Approval
from remit.protocol.json_rpc import JsonRpcError, as_object
from remit.upstream.ports import RequestContext

LONGEST_SHOWN = 4_000  # characters of arguments; clients cut longer questions, or let them scroll away
_NO_FIELDS: Mapping[str, Any] = {"type": "object", "properties": {}}


def can_elicit(capabilities: Mapping[str, Any]) -> bool:
    """Check whether a client supports form elicitation, which is the default mode."""
    ways = as_object(capabilities.get("elicitation"))
    return "elicitation" in capabilities and (not ways or "form" in ways)


async def ask_person(name: str, approval: Approval, caller: RequestContext) -> bool | None:
    """Ask the user whether to allow a call; return None if there is no answer.

    A person approves what they have read, so arguments that do not fit are not approved here: the question
    points to the terminal, and only a refusal counts.
    """
    fits = len(approval.shown) <= LONGEST_SHOWN
    message = _question(name, approval) if fits else _notice(name, approval)
    try:
        answer = await caller.send_request(
            "elicitation/create", {"message": message, "requestedSchema": dict(_NO_FIELDS)}
        )
    except JsonRpcError:
        return None
    return {"accept": True if fits else None, "decline": False}.get(answer.get("action", ""))


def _question(name: str, approval: Approval) -> str:
    return f"Allow this call of `{name}`?\n{approval.reason}\narguments: {approval.shown}"


def _notice(name: str, approval: Approval) -> str:
    return (
        f"A call of `{name}` needs your approval: {approval.reason}\n"
        f"Its arguments have {len(approval.shown):,} characters, too many to show here. To read and approve "
        f"them, run `remit approve {approval.id}` in this project. Declining here denies the call."
    )
