"""Approvals: a person's word for one call of a tool, bound to all that the person saw."""

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

LIFETIME = 300.0  # seconds in which an approval is to be given and used
LONGEST = 86_400.0
CLOCK_ERROR = 60_000  # milliseconds: what was asked for later than that, a clock says that was set back since
_MOST_SHOWN = 20_000  # characters
_DEEPEST = 32


class ApprovalStatus(StrEnum):
    """What became of it."""

    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"
    EXPIRED = "expired"


class Binding(NamedTuple):
    """What an approval is for: whoever calls, the tool as it is defined, and the very arguments."""

    principal: str
    tool: str
    definition: str  # digests, as is the next
    arguments: str


class Approval(NamedTuple):
    """What a person was asked, and the answer."""

    id: str
    binding: Binding
    shown: str  # the arguments for a person to read, without secrets
    reason: str
    requested_at: int
    expires_at: int
    is_approved: bool | None = None
    used_at: int | None = None

    def status(self, at: int) -> ApprovalStatus:
        """Tell what became of it, at a time."""
        if self.used_at is not None:
            return ApprovalStatus.USED
        if self.is_approved is False:
            return ApprovalStatus.DENIED
        if not self.requested_at - CLOCK_ERROR <= at < self.expires_at:
            return ApprovalStatus.EXPIRED
        return ApprovalStatus.WAITING if self.is_approved is None else ApprovalStatus.APPROVED


def digest_of_arguments(arguments: Mapping[str, object]) -> str:
    """Tell one call's arguments from another's, whatever the order of their keys.

    Raises:
        ApprovalError: they are nothing that JSON could write.
    """
    try:
        text = json.dumps(dict(arguments), sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise ApprovalError("the arguments are nothing that JSON could write") from None
    return sha256(text.encode()).hexdigest()


def digest_of_definition(definition: Definition | None) -> str:
    """Tell one definition of a tool from another, in all that its server says."""
    content = {} if definition is None else asdict(definition)
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def readable(arguments: Mapping[str, object]) -> str:
    """Write arguments for the person who judges them; what may be a secret is hidden."""
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
    # By the word: one that looks random would else hide all that is written around it from who judges it.
    return re.sub(r"\S+", lambda word: HIDDEN if may_be_secret(word[0], name) else word[0], value)
