"""Requires a person's approval for writes that are visible in every project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.approvals.approval_service import MOST_WAITING, request_approval, settle_question
from remit.approvals.approvals import Approval, ApprovalStatus
from remit.approvals.call_binding import Binding, bind
from remit.decision.projects import Workspace
from remit.errors import NotApprovedError
from remit.memory.pending_writes import Arguments

if TYPE_CHECKING:
    from remit.store.approval_store import SqlApprovals
    from remit.store.memory_store import SqlMemory
    from remit.text.times import Clock

_WHY = "would be seen in every project"
_DEFINITION = "memory-1"  # change it when the same arguments get another meaning
_PRINCIPAL = "memory"


class UnapprovedError(Exception):
    """A write lacks approval and must be rolled back."""


class GlobalWrites:
    """Requests and uses approvals for global writes."""

    def __init__(self, store: SqlMemory, approvals: SqlApprovals, workspace: Workspace, clock: Clock) -> None:
        self._store = store
        self._approvals = approvals
        self._workspace = workspace
        self._clock = clock

    def use(self, tool: str, arguments: Arguments, token: str | None) -> None:
        """Use up an approval in the same transaction as the approved write.

        Raises:
            UnapprovedError: there is no approval, or the token names one for another write.
        """
        binding = _binding(tool, arguments)
        if token is not None:
            named = self._approvals.approval(token, self._workspace)
            if named is None or named.binding != binding:
                raise UnapprovedError
        if not self._store.use_approval(binding, self._workspace, self._clock()):
            raise UnapprovedError

    def ask(self, tool: str, arguments: Arguments, *, why: str = _WHY) -> NotApprovedError:
        """Request approval, and return the error for the caller."""
        at = self._clock()
        asked = request_approval(
            self._approvals,
            self._workspace,
            _binding(tool, arguments),
            arguments=_content(arguments),
            reason=why,
            at=at,
        )
        if asked is None:
            return NotApprovedError(
                f"a person must approve it first: it {why}",
                approval_id=None,
                hint=f"{MOST_WAITING:,} calls are already pending: ask the user to answer some",
            )
        if asked.status(at) is ApprovalStatus.DENIED:
            return denied_write(why)
        return NotApprovedError(
            f"a person must approve it first: it {why}",
            approval_id=asked.id,
            hint=f"ask the user to answer approval `{asked.id}` in Remit, in this project, then call "
            "again with the same arguments",
        )

    def waiting(self, id: str) -> Approval | None:
        """Find a pending request."""
        found = self._approvals.approval(id, self._workspace)
        return found if found is not None and found.status(self._clock()) is ApprovalStatus.WAITING else None

    def answer(self, id: str, *, word: bool) -> None:
        """Record a person's answer, unless the request is already answered or has expired."""
        self._approvals.answer(id, self._workspace, self._clock(), is_approved=word)

    def settle(self, asked: Approval, *, approve: bool) -> bool:
        """Record the user's answer to a question; return whether the write may be tried now."""
        return settle_question(self._approvals, self._workspace, asked, at=self._clock(), approve=approve)


def denied_write(why: str = _WHY) -> NotApprovedError:
    """Return the error for a caller whose write a person denied."""
    return NotApprovedError(
        f"a person denied it: it {why}",
        approval_id=None,
        hint="save it for the project instead, with the scope `project`",
    )


def _binding(tool: str, arguments: Arguments) -> Binding:
    """Bind an approval to a call, ignoring the token that names the approval."""
    return bind(_PRINCIPAL, tool, _DEFINITION, _content(arguments))


def _content(arguments: Arguments) -> dict[str, object]:
    return {key: value for key, value in arguments.items() if key != "governance_token"}
