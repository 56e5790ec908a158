"""The question by which a client asks its user to approve a call, and what its answer means.

Only a yes that a person must have chosen counts. Some clients accept forms without fields by themselves, so
the form has a required field without a default, and its value is checked.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from remit.approvals.approvals import Approval
from remit.protocol.json_rpc import JsonRpcError
from remit.text.json_values import as_object

LONGEST_SHOWN = 4_000  # characters of arguments; clients cut longer questions, or let them scroll away
FIELD = "approve"
ELICIT = "elicitation/create"
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        FIELD: {
            "type": "boolean",
            "title": "Run this call?",
            "description": "Yes runs it once, with exactly these arguments.",
        }
    },
    "required": [FIELD],
}

SendRequest = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]


def can_elicit(capabilities: Mapping[str, Any]) -> bool:
    """Check whether a client supports form elicitation, which is the default mode."""
    ways = as_object(capabilities.get("elicitation"))
    return "elicitation" in capabilities and (not ways or "form" in ways)


async def ask_user(name: str, approval: Approval, send: SendRequest) -> bool | None:
    """Ask the client's user whether to run a call; return None if nobody answers."""
    try:
        answer = await send(ELICIT, question(name, approval))
    except JsonRpcError:
        return None
    return read_answer(answer, approval)


def question(name: str, approval: Approval) -> dict[str, Any]:
    """Return the parameters of the request: the whole call, or where to read it if it does not fit.

    A person approves what they have read, so a call that does not fit can only be declined here.
    """
    message = _question(name, approval) if _fits(approval) else _notice(name, approval)
    return {"message": message, "requestedSchema": dict(_SCHEMA)}


def read_answer(answer: Mapping[str, Any], approval: Approval) -> bool | None:
    """Read a client's answer: yes, no, or None if it is neither."""
    match answer.get("action"):
        case "decline":
            return False
        case "accept":
            chosen = as_object(answer.get("content")).get(FIELD)
            if chosen is True:
                return True if _fits(approval) else None
            return False if chosen is False else None
        case _:
            return None


def _fits(approval: Approval) -> bool:
    return len(approval.shown) <= LONGEST_SHOWN


def _question(name: str, approval: Approval) -> str:
    return f"Allow this call of `{name}`?\n{approval.reason}\narguments: {approval.shown}"


def _notice(name: str, approval: Approval) -> str:
    return (
        f"A call of `{name}` needs your approval: {approval.reason}\n"
        f"Its arguments have {len(approval.shown):,} characters, too many to show here. To read and approve "
        f"them, run `remit approve {approval.id}` in this project. Declining here denies the call."
    )
