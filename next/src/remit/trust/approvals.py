"""A person's consent to one call of a tool, bound to the exact caller, tool, definition and arguments."""

import json
import os
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from remit.decision import Context, Decision, Key, ToolDecision, Verdict
from remit.errors import ApprovalError, NotFoundError
from remit.secrets import environment_secrets, hidden
from remit.store import Approval, ApprovalStore, Binding
from remit.text import Clock, make_visible

LIFETIME = 300_000  # milliseconds from the request within which an approval must be given and used
MOST_WAITING = 1_000  # pending approvals in one project
MOST_SHOWN = 8 * 2**20  # characters; more are refused, never cut
SHORTEST_PREFIX = 3  # characters of an id that may stand for it
_KEPT = 86_400_000  # milliseconds for which an approval is kept after it expires
_CLOCK_ERROR = 60_000  # milliseconds: if the request is further in the future, the clock was set back
_ONE_LINE = 200  # characters

Decide = Callable[[str, Context, Key | None], ToolDecision]


class ApprovalStatus(StrEnum):
    """What became of a request for approval."""

    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"
    EXPIRED = "expired"


class Permit(NamedTuple):
    """Whether a call may go ahead."""

    is_allowed: bool
    decision: Decision
    approval: Approval | None = None  # the used, the pending or the denied one

    @property
    def is_denied(self) -> bool:
        """Whether a person said no to this call."""
        return self.approval is not None and self.approval.is_approved is False

    @property
    def is_pending(self) -> bool:
        """Whether the call waits for a person's answer."""
        return self.approval is not None and self.approval.is_approved is None


class Approvals:
    """Asks people to approve calls; an approval counts for exactly one call, once, until it expires."""

    def __init__(self, store: ApprovalStore, clock: Clock, decide: Decide) -> None:
        self._store = store
        self._clock = clock
        self._decide = decide

    def permit(
        self,
        name: str,
        arguments: Mapping[str, object],
        context: Context,
        caller: str | None = None,
        *,
        row: Key | None = None,
    ) -> Permit:
        """Decide about a call; if it needs approval, use one up or request one.

        Several declarations may have one name: `row` is the one that would answer the call, if that is known.

        Raises:
            ApprovalError: the arguments are not valid JSON or too long, or too many approvals are pending.
        """
        tool, decision = self._decide(name, context, row)
        if decision.verdict is not Verdict.ASK:
            return Permit(decision.verdict is Verdict.VISIBLE, decision)
        at = self._clock()
        binding = bind(caller_of(context, caller), tool.name, tool.definition, arguments)
        used = self._store.use(binding, context.workspace, at)
        if used is not None:
            return Permit(True, decision, used)
        shown = readable(arguments, environment_secrets(os.environ))
        wanted = Approval(_new_id(), binding, shown, decision.full_reason, at, at + LIFETIME)
        asked = self._request(wanted, context)
        if asked is None:
            raise ApprovalError(
                f"too many pending approvals: {MOST_WAITING:,}",
                hint="`remit approve` lists them; each goes away when it expires",
            )
        return Permit(False, decision, asked)

    def waiting(self, context: Context) -> list[Approval]:
        """List the pending approvals of the project, oldest first."""
        return self._store.waiting(context.workspace, self._clock())

    def find(self, id: str, context: Context) -> Approval:
        """Find an approval in the project by its id, or a pending one by the beginning of its id.

        Raises:
            NotFoundError: the approval does not exist, or several ids begin like that.
        """
        approval = self._store.find(id, context.workspace)
        if approval is None and len(id) >= SHORTEST_PREFIX:
            pending = [item for item in self.waiting(context) if item.id.startswith(id)]
            approval = pending[0] if len(pending) == 1 else None
        if approval is None:
            raise NotFoundError(f"no approval `{id}` here", hint="`remit approve` lists the pending ones")
        return approval

    def answer(self, id: str, context: Context, *, approve: bool, by: str | None = None) -> Approval:
        """Approve or deny a pending approval on behalf of a person; `by` names a caller of the gateway.

        Raises:
            NotFoundError: the approval does not exist.
            ApprovalError: it is already answered or expired, or the call is their own: whatever made it
                may hold their token too.
        """
        approval, at = self.find(id, context), self._clock()
        if approve and by is not None and approval.binding.caller.endswith(_by(by)):
            raise ApprovalError("this call is your own", hint="someone else has to approve it")
        answered = self._store.answer(approval.id, context.workspace, at, is_approved=approve)
        if answered is None:
            status = self.status(self.find(approval.id, context))
            raise ApprovalError(
                f"`{id}` is {status} and can no longer be answered",
                hint="call the tool again to request approval",
            )
        return answered

    def settle(
        self, asked: Permit, context: Context, *, approve: bool | None, permit_again: Callable[[], Permit]
    ) -> Permit:
        """Take the answer to the client's question about a call, and decide about the call anew.

        Without an answer (None), one that a person gave elsewhere meanwhile counts. A no is not stored,
        because a client without a person declines by itself: the next call asks again.
        """
        approval = asked.approval
        if approval is None or approve is None:
            return permit_again()
        if approve and self._approve_late(approval, context):
            return permit_again()
        return asked._replace(approval=approval._replace(is_approved=False))

    def status(self, approval: Approval) -> ApprovalStatus:
        """Return what became of an approval."""
        if approval.used_at is not None:
            return ApprovalStatus.USED
        if approval.is_approved is False:
            return ApprovalStatus.DENIED
        if not approval.requested_at - _CLOCK_ERROR <= self._clock() < approval.expires_at:
            return ApprovalStatus.EXPIRED
        return ApprovalStatus.WAITING if approval.is_approved is None else ApprovalStatus.APPROVED

    def _approve_late(self, asked: Approval, context: Context) -> bool:
        """Store a yes for the call that asked, even if the request expired or another call used it meanwhile.

        A denial in a terminal outranks it.
        """
        at, workspace = self._clock(), context.workspace
        if self._store.answer(asked.id, workspace, at, is_approved=True) is not None:
            return True
        approval = self._store.find(asked.id, workspace)
        status = ApprovalStatus.EXPIRED if approval is None else self.status(approval)
        if status in (ApprovalStatus.DENIED, ApprovalStatus.APPROVED):
            return status is ApprovalStatus.APPROVED
        anew = asked._replace(id=_new_id(), requested_at=at, expires_at=at + LIFETIME)
        waiting = self._request(anew, context)
        if waiting is None:
            return False
        return self._store.answer(waiting.id, workspace, at, is_approved=True) is not None

    def _request(self, wanted: Approval, context: Context) -> Approval | None:
        forget_before = wanted.requested_at - _KEPT
        return self._store.request(wanted, context.workspace, forget_before=forget_before, most=MOST_WAITING)


def bind(caller: str, tool: str, definition: str | None, arguments: Mapping[str, object]) -> Binding:
    """Bind an approval to a call, in whatever order its arguments are written; `definition` is a digest.

    Raises:
        ApprovalError: the arguments are not valid JSON.
    """
    try:
        text = json.dumps(dict(arguments), sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise ApprovalError("the arguments are not valid JSON") from None
    return Binding(caller, tool, definition or "", sha256(text.encode()).hexdigest())


def caller_of(context: Context, caller: str | None = None) -> str:
    """Name who calls: the client, the agents down to the calling one, and who holds the token."""
    agent = context.agent
    agents = () if agent is None else (*(parent.name for parent in reversed(agent.parents)), agent.name)
    path = " > ".join((context.client or "all", *agents))
    return path if caller is None else f"{path}{_by(caller)}"


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


def _new_id() -> str:
    return os.urandom(5).hex()


def _by(caller: str) -> str:
    return f", by `{caller}`"
