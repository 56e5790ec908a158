"""The approval service: requests, answers and consumes approvals of tool calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from remit.approvals.approvals import (
    LIFETIME,
    PROMPT_LIFETIME,
    Approval,
    ApprovalStatus,
    PromptedCall,
    readable,
)
from remit.approvals.call_binding import Binding, bind
from remit.audit.audit_log import AuditEntry, AuditOutcome, page_entry
from remit.decision.context import Context, project_option
from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.declarations import Key
from remit.decision.projects import Workspace
from remit.decision.tools import Definition
from remit.errors import ApprovalError, UnknownApprovalError
from remit.text.redaction import environment_secrets

if TYPE_CHECKING:
    from remit.store.approval_store import SqlApprovals
    from remit.text.times import Clock

MOST_WAITING = 1_000  # pending approvals in one project
_KEPT = 86_400_000  # milliseconds for which an approval is kept after it expires


class Permit(NamedTuple):
    """Whether a call may go ahead."""

    is_allowed: bool
    decision: Decision
    approval: Approval | None = None  # the consumed, the pending or the denied one

    @property
    def is_denied(self) -> bool:
        """Whether a person said no to this call."""
        return self.approval is not None and self.approval.is_approved is False

    @property
    def is_pending(self) -> bool:
        """Whether the call waits for a person's answer."""
        return self.approval is not None and self.approval.is_approved is None


SHORTEST_PREFIX = 3  # characters of an id that may stand for it


class ApprovalService:
    """Asks a person to approve calls; an approval counts for exactly one call, once, until it expires."""

    def __init__(
        self,
        store: SqlApprovals,
        clock: Clock,
        find: Callable[[str, Context, Key | None], ToolDecision],
        define: Callable[[ToolDecision, Context], Definition | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._find = find
        self._define = define

    def permit(
        self,
        name: str,
        arguments: Mapping[str, object],
        context: Context,
        *,
        principal: str | None = None,
        call_id: str | None = None,
        row: Key | None = None,
    ) -> Permit:
        """Tell whether a call may go ahead; if it needs approval, consume or request it.

        Several declarations may have one name: `row` is the one that would answer the call, if that is known.
        A call that the client's own rules ask about goes ahead if the client asked about this `call_id`.

        Raises:
            ApprovalError: the arguments are not valid JSON, or too many approvals are pending.
        """
        found = self._find(name, context, row)
        if found.decision.verdict is not Verdict.ASK:
            return Permit(found.decision.verdict is Verdict.VISIBLE, found.decision)
        binding = self._binding(found, arguments, context, principal)
        return self.permit_bound(binding, found.decision, arguments, context, call_id=call_id)

    def permit_bound(
        self,
        binding: Binding,
        decision: Decision,
        arguments: Mapping[str, object],
        context: Context,
        *,
        call_id: str | None = None,
    ) -> Permit:
        """Consume or request the approval of a call that is already decided about, of any tool.

        Raises:
            ApprovalError: too many approvals are pending.
        """
        if decision.asked_by_client and self._was_prompted(binding, context, call_id):
            return Permit(True, decision)
        used = self._store.use(binding, context.workspace, self._clock())
        if used is not None:
            return Permit(True, decision, used)
        return Permit(False, decision, self._request(binding, decision, arguments, context))

    def request(
        self,
        name: str,
        arguments: Mapping[str, object],
        context: Context,
        *,
        principal: str | None = None,
    ) -> Approval:
        """Request approval of a call, or return the unused request for the same call.

        Raises:
            ApprovalError: the call needs no approval, is not allowed at all, or too many are pending.
        """
        found = self._find(name, context, None)
        if found.decision.verdict is not Verdict.ASK:
            raise ApprovalError(f"`{name}` is {found.decision.verdict}: {found.decision.reason}")
        binding = self._binding(found, arguments, context, principal)
        return self._request(binding, found.decision, arguments, context)

    def waiting(self, context: Context) -> list[Approval]:
        """List the pending approvals of the project, oldest first."""
        return list(self._store.waiting(context.workspace, self._clock()))

    def find(self, id: str, context: Context) -> Approval:
        """Find an approval in the project by its id, or a pending one by the beginning of its id.

        Raises:
            UnknownApprovalError: the approval does not exist, or several ids begin like that.
        """
        found = self._store.approval(id, context.workspace)
        if found is None and len(id) >= SHORTEST_PREFIX:
            pending = [each for each in self.waiting(context) if each.id.startswith(id)]
            found = pending[0] if len(pending) == 1 else None
        if found is None:
            raise UnknownApprovalError(
                f"no approval `{id}` here",
                hint=f"`remit approve{project_option(context)}` lists the pending ones",
            )
        return found

    def answer(self, id: str, context: Context, *, approve: bool, by: str | None = None) -> Approval:
        """Approve or deny a pending approval, on behalf of a person.

        The log of calls names the principal `by`, who cannot approve a call of their own: whatever made the
        call may hold their token, too.

        Raises:
            UnknownApprovalError: the approval does not exist.
            ApprovalError: it is already answered or expired, or a call of this principal.
        """
        at = self._clock()
        record = None
        if by is not None:
            if approve and is_call_of(self.find(id, context), by):
                raise ApprovalError("this call is your own", hint="someone else has to approve it")
            outcome = AuditOutcome.APPROVED if approve else AuditOutcome.DENIED
            record = partial(_record, outcome, by=by, client=context.client, at=at)
        answered = self._store.answer(id, context.workspace, at, is_approved=approve, record=record)
        if answered is None:
            status = self.find(id, context).status(at)
            raise ApprovalError(
                f"`{id}` is {status} and can no longer be answered",
                hint="call the tool again to request approval",
            )
        return answered

    def settle(
        self, asked: Permit, context: Context, *, approve: bool | None, permit_again: Callable[[], Permit]
    ) -> Permit:
        """Record the user's answer to the client's question about a call, and decide about the call anew.

        Without an answer (None), one that a person gave elsewhere meanwhile counts.
        """
        approval = asked.approval
        if approval is None or approve is None:
            return permit_again()
        if settle_question(self._store, context.workspace, approval, at=self._clock(), approve=approve):
            return permit_again()
        return asked._replace(approval=approval._replace(is_approved=False))

    def status(self, approval: Approval) -> ApprovalStatus:
        """Return the current status of an approval."""
        return approval.status(self._clock())

    def _was_prompted(self, binding: Binding, context: Context, call_id: str | None) -> bool:
        if call_id is None or context.client is None:
            return False
        call = PromptedCall(context.client, call_id, binding.tool, binding.arguments)
        return self._store.use_prompt(call, context.workspace, self._clock() - PROMPT_LIFETIME)

    def _request(
        self,
        binding: Binding,
        decision: Decision,
        arguments: Mapping[str, object],
        context: Context,
    ) -> Approval:
        asked = request_approval(
            self._store,
            context.workspace,
            binding,
            arguments=arguments,
            reason=decision.full_reason,
            at=self._clock(),
        )
        if asked is None:
            raise ApprovalError(
                f"too many pending approvals: {MOST_WAITING:,}",
                hint="`remit approve` lists them; each goes away when it expires",
            )
        return asked

    def _binding(
        self, found: ToolDecision, arguments: Mapping[str, object], context: Context, principal: str | None
    ) -> Binding:
        whoever = principal_of(context) if principal is None else principal
        return bind(whoever, found.tool.name, self._define(found, context), arguments)


def request_approval(
    store: SqlApprovals,
    workspace: Workspace,
    binding: Binding,
    *,
    arguments: Mapping[str, object],
    reason: str,
    at: int,
) -> Approval | None:
    """Request approval, or return the earlier request for the same call; None if too many are pending.

    If a person denied the call since, the denial is returned, once.

    Raises:
        ApprovalError: the arguments are too long for a person to read.
    """
    wanted = Approval(
        id=new_id(),
        binding=binding,
        shown=readable(arguments, environment_secrets(os.environ)),
        reason=reason,
        requested_at=at,
        expires_at=at + int(LIFETIME * 1000),
    )
    return store.request(wanted, workspace, forget_before=at - _KEPT, most=MOST_WAITING)


def settle_question(
    store: SqlApprovals, workspace: Workspace, asked: Approval, *, at: int, approve: bool
) -> bool:
    """Record the user's answer to the client's question; return whether the call may be tried now.

    A no is not stored as a denial, because a client without a user declines by itself: the next call asks
    again, and until then a person can answer in a terminal. A yes counts for the call that asked, even if the
    request expired meanwhile or another call used it up. A denial in a terminal outranks it.
    """
    if not approve:
        store.decline(asked.id, workspace, at)
        return False
    if store.answer(asked.id, workspace, at, is_approved=True) is not None:
        return True
    found = store.approval(asked.id, workspace)
    status = ApprovalStatus.EXPIRED if found is None else found.status(at)
    if status in (ApprovalStatus.DENIED, ApprovalStatus.APPROVED):
        return status is ApprovalStatus.APPROVED
    lifetime = asked.expires_at - asked.requested_at
    anew = asked._replace(id=new_id(), requested_at=at, expires_at=at + lifetime)
    open_request = store.request(anew, workspace, forget_before=at - _KEPT, most=MOST_WAITING)
    if open_request is None:
        return False
    return store.answer(open_request.id, workspace, at, is_approved=True) is not None


def new_id() -> str:
    """Create the id of an approval."""
    return os.urandom(5).hex()


def caller_of(context: Context, principal: str | None) -> str:
    """Name the caller that an approval is bound to; several agents may share a token."""
    whoever = principal_of(context)
    return whoever if principal is None else f"{whoever}{_by(principal)}"


def is_call_of(approval: Approval, principal: str) -> bool:
    """Tell whether a principal makes the call of an approval."""
    return approval.binding.principal.endswith(_by(principal))


def _by(principal: str) -> str:
    return f", by `{principal}`"


def _record(outcome: AuditOutcome, approval: Approval, *, by: str, client: str | None, at: int) -> AuditEntry:
    return page_entry(approval.binding.tool, outcome, by=by, client=client, at=at)


def principal_of(context: Context) -> str:
    """Name the caller: the client, then the agents down to the calling one."""
    agent = context.agent
    chain = () if agent is None else (*(each.name for each in reversed(agent.parents)), agent.name)
    return " > ".join((context.client or "all", *chain))
