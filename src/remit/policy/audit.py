"""The audit: one entry for each call that came through the gateway, and for each that a hook refused; never
what was said in it.
"""

from enum import StrEnum
from typing import NamedTuple

AUDIT_LIFETIME = 90 * 86_400_000  # milliseconds
MOST_AUDITED = 100_000  # entries


class Outcome(StrEnum):
    """What became of a call."""

    DONE = "done"
    FAILED = "failed"  # the tool says so itself
    ERROR = "error"  # its server answers with an error
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    WAITING = "waiting"  # for a person's approval
    UNKNOWN = "unknown"  # there is no such tool
    CANCELLED = "cancelled"
    ASKS_BACK = "asks_back"  # the caller is to answer a question first


class AuditEntry(NamedTuple):
    """One call."""

    called_at: int
    endpoint: str
    client: str
    agent: str | None
    principal: str | None
    tool: str  # canonical
    verdict: str
    gate: str | None
    outcome: str
    duration_ms: int
    bytes_in: int
    bytes_out: int
