"""Approving: what would be seen in every project is written with a person's word for that very content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.decision.projects import Workspace
from remit.errors import NotApprovedError
from remit.memory.ports import MemoryStore
from remit.memory.write_queue import Arguments
from remit.policy.approval_service import MOST_WAITING, request_approval
from remit.policy.approvals import Approval, ApprovalStatus, Binding, digest_of_arguments

if TYPE_CHECKING:
    from remit.store.ports import ApprovalStore, Clock

_WHY = "would be seen in every project"
_DEFINITION = "memory-1"  # another, once the same arguments mean something else
_PRINCIPAL = "memory"


class UnapprovedError(Exception):
    """A write lacks approval: nothing of it may stay."""


class GlobalWrites:
    """Asks a person about writes that every project would see."""

    def __init__(
        self, store: MemoryStore, approvals: ApprovalStore, workspace: Workspace, clock: Clock
    ) -> None:
        self._store = store
        self._approvals = approvals
        self._workspace = workspace
        self._clock = clock

    def use(self, tool: str, arguments: Arguments, token: str | None) -> None:
        """Use up an approval in the transaction of what was approved: either counts, or neither.

        Raises:
            UnapprovedError: there is none, or the token names another.
        """
        binding = _binding(tool, arguments)
        if token is not None:
            named = self._approvals.approval(token, self._workspace)
            if named is None or named.binding != binding:
                raise UnapprovedError
        if not self._store.use_approval(binding, self._workspace, self._clock()):
            raise UnapprovedError

    def ask(self, tool: str, arguments: Arguments) -> NotApprovedError:
        """Ask for approval, and make the error that says so."""
        at = self._clock()
        asked = request_approval(
            self._approvals,
            self._workspace,
            _binding(tool, arguments),
            arguments=_content(arguments),
            reason=_WHY,
            at=at,
        )
        if asked is None:
            return NotApprovedError(
                f"a person has to approve of it first: it {_WHY}",
                approval_id=None,
                hint=f"{MOST_WAITING:,} calls wait already: have the user answer some with `remit approve`",
            )
        if asked.status(at) is ApprovalStatus.DENIED:
            return NotApprovedError(
                f"a person said no to it: it {_WHY}",
                approval_id=asked.id,
                hint="save it for the project instead, with the scope `project`",
            )
        return NotApprovedError(
            f"a person has to approve of it first: it {_WHY}",
            approval_id=asked.id,
            hint=f"ask the user to run `remit approve {asked.id}` in this project, then call again "
            "with the same arguments",
        )

    def waiting(self, id: str) -> Approval | None:
        """Find what waits for a person's word."""
        found = self._approvals.approval(id, self._workspace)
        return found if found is not None and found.status(self._clock()) is ApprovalStatus.WAITING else None

    def answer(self, id: str, *, word: bool) -> None:
        """Keep a person's word; what was answered before, or is too late, stays as it is."""
        self._approvals.answer(id, self._workspace, self._clock(), is_approved=word)


def _binding(tool: str, arguments: Arguments) -> Binding:
    """Say what an approval is to be for; the token that names it is no part of that."""
    return Binding(_PRINCIPAL, tool, _DEFINITION, digest_of_arguments(_content(arguments)))


def _content(arguments: Arguments) -> dict[str, object]:
    return {key: value for key, value in arguments.items() if key != "governance_token"}
