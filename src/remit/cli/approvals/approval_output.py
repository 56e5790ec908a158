"""Shows approvals: each call whole, as text or JSON."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from remit.cli.output.json_output import Shape
from remit.text.times import local_time, moment

if TYPE_CHECKING:
    from remit.approvals.approval_service import ApprovalService
    from remit.approvals.approvals import Approval


def approval_lines(found: Iterable[Approval], approvals: ApprovalService) -> Iterator[str]:
    """Describe what each call would do."""
    for at, item in enumerate(found):
        first, *more = item.shown.split("\n")
        if at:
            yield ""
        yield f"{item.id}  {item.binding.tool}: {approvals.status(item)}"
        yield f"  for        {item.binding.principal}"
        yield f"  because    it {item.reason}"
        if item.shown:
            yield f"  arguments  {first}"
            yield from (f"  {line}" for line in more)
        if item.declined_at is not None:
            yield "  note       declined in the client, perhaps without asking anyone"
        yield f"  until      {deadline(item.expires_at, time.time() * 1000)}"


def approval_shape(item: Approval, approvals: ApprovalService) -> Shape:
    """Return an approval as JSON."""
    return {
        "id": item.id,
        "status": approvals.status(item),
        "tool": item.binding.tool,
        "principal": item.binding.principal,
        "reason": item.reason,
        "arguments": item.shown or None,
        "requested_at": moment(item.requested_at),
        "expires_at": moment(item.expires_at),
        "declined_at": None if item.declined_at is None else moment(item.declined_at),
    }


def deadline(milliseconds: int, now: float) -> str:
    """Write a time of today in the person's time zone, with the minutes left."""
    at = local_time(milliseconds, "%H:%M")
    left = max(0, milliseconds - now) / 60_000
    return f"{at} ({round(left)} min)" if left >= 1 else f"{at} (less than 1 min)"
