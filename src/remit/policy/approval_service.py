"""Approvals: asked for by those who would call a tool, answered by a person, used once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.projects import Workspace
from remit.decision.tools import Definition
from remit.errors import ApprovalError, UnknownApprovalError
from remit.policy.approvals import (
    LIFETIME,
    LONGEST,
    Approval,
    ApprovalStatus,
    Binding,
    digest_of_arguments,
    digest_of_definition,
    readable,
)

if TYPE_CHECKING:
    from remit.store.ports import ApprovalStore, Clock

MOST_WAITING = 1_000  # calls in one project: more than anybody answers
_KEPT = 86_400_000  # milliseconds for which an approval is remembered after its end


class Permit(NamedTuple):
    """Whether a call may go ahead."""

    is_allowed: bool
    decision: Decision
    approval: Approval | None = None  # the one that was used for it, or that it waits for


class ApprovalService:
    """Asks a person about calls; the answer counts for that very call, once, for a while."""

    def __init__(
        self,
        store: ApprovalStore,
        clock: Clock,
        find: Callable[[str, Context], ToolDecision],
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
        lifetime: float = LIFETIME,
    ) -> Permit:
        """Tell whether a call may go ahead now; one that needs approval uses it up, or asks for it.

        Raises:
            ApprovalError: the arguments are nothing that JSON could write, the lifetime is no time, or
                too many calls wait already.
        """
        found = self._find(name, context)
        decision = found.decision
        if decision.verdict is not Verdict.ASK:
            return Permit(decision.verdict is Verdict.VISIBLE, decision)
        binding = self._binding(found, arguments, context, principal)
        used = self._store.use(binding, context.workspace, self._clock())
        if used is not None:
            return Permit(True, decision, used)
        return Permit(False, decision, self._request(binding, decision, arguments, context, lifetime))

    def request(
        self,
        name: str,
        arguments: Mapping[str, object],
        context: Context,
        *,
        principal: str | None = None,
        lifetime: float = LIFETIME,
    ) -> Approval:
        """Ask for approval of a call; what was asked before, and is not used up, is not asked again.

        Raises:
            ApprovalError: the call needs none, would not be allowed with one, or too many wait already.
        """
        found = self._find(name, context)
        if found.decision.verdict is not Verdict.ASK:
            raise ApprovalError(f"`{name}` is {found.decision.verdict}: {found.decision.reason}")
        binding = self._binding(found, arguments, context, principal)
        return self._request(binding, found.decision, arguments, context, lifetime)

    def consume(
        self,
        name: str,
        arguments: Mapping[str, object],
        context: Context,
        *,
        principal: str | None = None,
    ) -> Approval | None:
        """Use up the approval of a call; None where there is none, or the tool is not to be asked about now.

        Raises:
            ApprovalError: the arguments are nothing that JSON could write.
        """
        found = self._find(name, context)
        if found.decision.verdict is not Verdict.ASK:
            return None
        binding = self._binding(found, arguments, context, principal)
        return self._store.use(binding, context.workspace, self._clock())

    def waiting(self, context: Context) -> list[Approval]:
        """List what waits for an answer in the project, the oldest first."""
        return list(self._store.waiting(context.workspace, self._clock()))

    def find(self, id: str, context: Context) -> Approval:
        """Find what was asked in the project.

        Raises:
            UnknownApprovalError: nothing was.
        """
        found = self._store.approval(id, context.workspace)
        if found is None:
            raise UnknownApprovalError(
                f"nothing called `{id}` was asked here", hint="`remit approve` lists what waits"
            )
        return found

    def answer(self, id: str, context: Context, *, approve: bool) -> Approval:
        """Say yes or no to what was asked, for a person.

        Raises:
            UnknownApprovalError: nothing of this name was asked.
            ApprovalError: it was answered before, or it is too late.
        """
        at = self._clock()
        answered = self._store.answer(id, context.workspace, at, is_approved=approve)
        if answered is None:
            status = self.find(id, context).status(at)
            raise ApprovalError(
                f"`{id}` is {status} and cannot be answered any more",
                hint="have the tool called again: that asks anew",
            )
        return answered

    def status(self, approval: Approval) -> ApprovalStatus:
        """Tell what became of an approval, by now."""
        return approval.status(self._clock())

    def _request(
        self,
        binding: Binding,
        decision: Decision,
        arguments: Mapping[str, object],
        context: Context,
        lifetime: float,
    ) -> Approval:
        if not 0 < lifetime <= LONGEST:
            raise ApprovalError(f"an approval lasts for more than 0 and at most {LONGEST:,.0f} seconds")
        asked = request_approval(
            self._store,
            context.workspace,
            binding,
            arguments=arguments,
            reason=decision.reason,
            at=self._clock(),
            lifetime=lifetime,
        )
        if asked is None:
            raise ApprovalError(
                f"{MOST_WAITING:,} calls wait for a person's word already, and no more are taken",
                hint="`remit approve` lists them; each goes away when it expires",
            )
        return asked

    def _binding(
        self, found: ToolDecision, arguments: Mapping[str, object], context: Context, principal: str | None
    ) -> Binding:
        return Binding(
            principal=principal_of(context) if principal is None else principal,
            tool=found.tool.name,
            definition=digest_of_definition(self._define(found, context)),
            arguments=digest_of_arguments(arguments),
        )


def request_approval(
    store: ApprovalStore,
    workspace: Workspace,
    binding: Binding,
    *,
    arguments: Mapping[str, object],
    reason: str,
    at: int,
    lifetime: float = LIFETIME,
) -> Approval | None:
    """Ask for approval, unless the same call was asked about before; None where too many calls wait."""
    wanted = Approval(
        id=os.urandom(5).hex(),
        binding=binding,
        shown=readable(arguments),
        reason=reason,
        requested_at=at,
        expires_at=at + int(lifetime * 1000),
    )
    return store.request(wanted, workspace, forget_before=at - _KEPT, most=MOST_WAITING)


def principal_of(context: Context) -> str:
    """Name who calls, as far as a context tells: the client, and the agents down to the one that calls."""
    agent = context.agent
    chain = () if agent is None else (*(each.name for each in reversed(agent.parents)), agent.name)
    return " > ".join((context.client or "all", *chain))
