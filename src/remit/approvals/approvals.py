"""Approvals: a person's consent to one call of a tool, bound to the exact caller, tool and arguments."""

import json
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from remit.approvals.call_binding import Binding
from remit.errors import ApprovalError
from remit.text.redaction import hidden
from remit.text.untrusted_text import make_visible

LIFETIME = 300.0  # seconds from the request within which an approval must be given and used
PROMPT_LIFETIME = 86_400_000  # milliseconds; a client may show its prompt for hours
CLOCK_ERROR = 60_000  # milliseconds: if the request is further in the future, the clock was set back
_ONE_LINE = 200  # characters
MOST_SHOWN = 8 * 2**20  # characters; more are refused, never cut


class ApprovalStatus(StrEnum):
    """The status of an approval."""

    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"
    EXPIRED = "expired"


class PromptedCall(NamedTuple):
    """A call about which the client itself asked its user."""

    client: str
    call_id: str
    tool: str
    arguments: str  # digest


class Approval(NamedTuple):
    """A request for approval, and the answer."""

    id: str
    binding: Binding
    shown: str  # readable arguments; empty once answered
    reason: str
    requested_at: int
    expires_at: int
    is_approved: bool | None = None
    used_at: int | None = None
    declined_at: int | None = None  # a client declined the question; a person may still answer it

    def status(self, at: int) -> ApprovalStatus:
        """Return its status at a time."""
        if self.used_at is not None:
            return ApprovalStatus.USED
        if self.is_approved is False:
            return ApprovalStatus.DENIED
        if not self.requested_at - CLOCK_ERROR <= at < self.expires_at:
            return ApprovalStatus.EXPIRED
        return ApprovalStatus.WAITING if self.is_approved is None else ApprovalStatus.APPROVED


def readable(arguments: Mapping[str, object], secrets: Collection[str] = ()) -> str:
    """Format arguments for the person who approves them: whole, with invisible characters escaped.

    Only a value that equals a secret of the environment is hidden, and its length is shown.

    Raises:
        ApprovalError: the arguments are too long to be read.
    """
    text = json.dumps(dict(arguments), ensure_ascii=False)
    if len(text) > _ONE_LINE:
        text = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    if len(text) > MOST_SHOWN:
        raise ApprovalError(
            f"the arguments have {len(text):,} characters; at most {MOST_SHOWN:,} can be approved",
            hint="pass less in one call",
        )
    for secret in secrets:  # in its quotes, so only a whole value matches
        text = text.replace(json.dumps(secret, ensure_ascii=False), json.dumps(hidden(secret)))
    return "\n".join(map(make_visible, text.split("\n")))  # line breaks inside values are escaped
