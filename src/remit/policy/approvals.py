"""Approvals: a person's consent to one call of a tool, bound to the exact caller, tool and arguments."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple, cast

from remit.decision.tools import Definition
from remit.errors import ApprovalError
from remit.text.redaction import HIDDEN, redact
from remit.text.secrets import may_be_secret, names_a_secret, secrets_in

LIFETIME = 300.0  # seconds from the request within which an approval must be given and used
LONGEST = 86_400.0
PROMPT_LIFETIME = 86_400_000  # milliseconds; a client may show its prompt for hours
CLOCK_ERROR = 60_000  # milliseconds: if the request is further in the future, the clock was set back
_MOST_SHOWN = 20_000  # characters
_DEEPEST = 32


class ApprovalStatus(StrEnum):
    """The status of an approval."""

    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"
    EXPIRED = "expired"


class Binding(NamedTuple):
    """The call that an approval is for: the caller, the tool's definition and the exact arguments."""

    principal: str
    tool: str
    definition: str  # digest
    arguments: str  # digest


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
    shown: str  # readable arguments, without secrets
    reason: str
    requested_at: int
    expires_at: int
    is_approved: bool | None = None
    used_at: int | None = None

    def status(self, at: int) -> ApprovalStatus:
        """Return its status at a time."""
        if self.used_at is not None:
            return ApprovalStatus.USED
        if self.is_approved is False:
            return ApprovalStatus.DENIED
        if not self.requested_at - CLOCK_ERROR <= at < self.expires_at:
            return ApprovalStatus.EXPIRED
        return ApprovalStatus.WAITING if self.is_approved is None else ApprovalStatus.APPROVED


def digest_of_arguments(arguments: Mapping[str, object]) -> str:
    """Return the digest of a call's arguments, independent of key order.

    Raises:
        ApprovalError: the arguments are not valid JSON.
    """
    try:
        text = json.dumps(dict(arguments), sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise ApprovalError("the arguments are nothing that JSON could write") from None
    return sha256(text.encode()).hexdigest()


def digest_of_definition(definition: Definition | None) -> str:
    """Return the digest of a tool's complete definition."""
    content = {} if definition is None else asdict(definition)
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def readable(arguments: Mapping[str, object]) -> str:
    """Format arguments for the person who approves them, with possible secrets hidden."""
    text = json.dumps(_shown(dict(arguments), "", 0), ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text):,} characters)"


def _shown(value: object, name: str, depth: int) -> object:
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(key): _shown(each, str(key), depth + 1) for key, each in members.items()}
    if isinstance(value, list | tuple):
        return [_shown(each, name, depth + 1) for each in cast("list[object]", value)]
    if names_a_secret(name):
        return HIDDEN
    if not isinstance(value, str):
        return value
    plain = redact(value, secrets_in(value, name))
    if plain != value:
        return plain
    # Word by word: one random-looking word must not hide the text around it.
    return re.sub(r"\S+", lambda word: HIDDEN if may_be_secret(word[0], name) else word[0], value)
