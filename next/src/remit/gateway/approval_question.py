"""The question by which a client asks its user to approve a call, and what its answer means.

Only a yes that a person must have chosen counts. Some clients accept forms without fields by themselves, so
the form has a required field without a default, and its value is checked.
"""

from collections.abc import Mapping
from typing import Any

from remit.store import Approval
from remit.text import as_object

LONGEST_SHOWN = 4_000  # characters of arguments; clients cut longer questions, or let them scroll away
ELICIT = "elicitation/create"
_FIELD = "approve"
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        _FIELD: {
            "type": "boolean",
            "title": "Run this call?",
            "description": "Yes runs it once, with exactly these arguments.",
        }
    },
    "required": [_FIELD],
}


def can_elicit(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a client supports form elicitation, which is the default mode."""
    ways = as_object(capabilities.get("elicitation"))
    return "elicitation" in capabilities and (not ways or "form" in ways)


def question(name: str, approval: Approval) -> dict[str, Any]:
    """Return the parameters of the request: the whole call, or where to read it if it does not fit.

    A person approves what they have read, so a call that does not fit can only be declined here.
    """
    if _fits(approval):
        message = f"Allow this call of `{name}`?\n{approval.reason}\narguments: {approval.shown}"
    else:
        message = (
            f"A call of `{name}` needs your approval: {approval.reason}\n"
            f"Its arguments have {len(approval.shown):,} characters, too many to show here. To read and "
            f"approve them, run `remit approve {approval.id}` in this project. Declining denies the call."
        )
    return {"message": message, "requestedSchema": dict(_SCHEMA)}


def read_answer(answer: Mapping[str, Any], approval: Approval) -> bool | None:
    """Read a client's answer: yes, no, or None if it is neither."""
    match answer.get("action"):
        case "decline":
            return False
        case "accept":
            chosen = as_object(answer.get("content")).get(_FIELD)
            if chosen is True:
                return True if _fits(approval) else None
            return False if chosen is False else None
        case _:
            return None


def _fits(approval: Approval) -> bool:
    return len(approval.shown) <= LONGEST_SHOWN
