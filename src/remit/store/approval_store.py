"""Stores approvals by project; each can be used only once, even if several callers try at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.approvals.approvals import CLOCK_ERROR, Approval, PromptedCall
from remit.approvals.call_binding import Binding
from remit.decision.projects import Workspace
from remit.store.audit_store import add_entries
from remit.store.database import Database, Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.audit.audit_log import AuditEntry

_IS_APPROVED = 9  # its place in a row


class SqlApprovals:
    """Stores approvals."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def request(
        self, wanted: Approval, workspace: Workspace, *, forget_before: int, most: int
    ) -> Approval | None:
        """Store a request, or return the open request for the same call.

        A denial is returned once: the next request for the same call is a new one. Returns None if too many
        requests are pending.
        """
        project = workspace.project
        binding, at = wanted.binding._asdict(), wanted.requested_at
        with self._database.transaction():
            self._database.run("see_project", project=project.hash, path=project.path, at=at)
            self._database.run("forget_approvals", before=forget_before)
            self._database.run("drop_expired_arguments", at=at)
            found = self._database.rows("approvals_like", project=project.hash, **_moment(at), **binding)
            if found:
                step = "end_denial" if found[0][_IS_APPROVED] == 0 else "reopen_approval"
                self._database.run(step, project=project.hash, id=found[0][0], at=at)
            else:
                waiting = self._database.rows("count_waiting_approvals", project=project.hash, **_moment(at))
                if waiting[0][0] >= most:
                    return None
                self._database.run(
                    "request_approval",
                    id=wanted.id,
                    project=project.hash,
                    shown=wanted.shown,
                    reason=wanted.reason,
                    at=at,
                    expires_at=wanted.expires_at,
                    **binding,
                )
        return _approval(found[0])._replace(declined_at=None) if found else wanted

    def waiting(self, workspace: Workspace, at: int) -> list[Approval]:
        """List the pending approvals."""
        found = self._database.rows("waiting_approvals", project=workspace.project.hash, **_moment(at))
        return [_approval(row) for row in found]

    def approval(self, id: str, workspace: Workspace) -> Approval | None:
        """Find an approval by its id."""
        found = self._database.rows("approval", project=workspace.project.hash, id=id)
        return _approval(found[0]) if found else None

    def answer(
        self,
        id: str,
        workspace: Workspace,
        at: int,
        *,
        is_approved: bool,
        record: Callable[[Approval], AuditEntry] | None = None,
    ) -> Approval | None:
        """Store an answer, and its record in the log of calls; None if the approval is not pending."""
        project = workspace.project.hash
        with self._database.transaction():
            self._database.run("drop_expired_arguments", at=at)
            found = self._database.rows(
                "answer_approval", project=project, id=id, approved=int(is_approved), **_moment(at)
            )
            answered = _approval(found[0]) if found else None
            if answered is not None and record is not None:
                add_entries(self._database, [record(answered)], workspace)
        return answered

    def decline(self, id: str, workspace: Workspace, at: int) -> None:
        """Note that a client declined the question; the approval stays pending."""
        self._database.run("decline_approval", project=workspace.project.hash, id=id, at=at)

    def use(self, binding: Binding, workspace: Workspace, at: int) -> Approval | None:
        """Use up an approval and return it; None if there is none."""
        with self._database.transaction():
            return use_up(self._database, binding, workspace, at)

    def use_prompt(self, call: PromptedCall, workspace: Workspace, since: int) -> bool:
        """Use up the record that the client asked its user about a call; False if there is none."""
        with self._database.transaction():
            found = self._database.rows(
                "use_prompted_call", project=workspace.project.hash, since=since, **call._asdict()
            )
        return bool(found)


def use_up(database: Database, binding: Binding, workspace: Workspace, at: int) -> Approval | None:
    """Use up an approval inside a transaction and return it; None if there is none."""
    project = workspace.project.hash
    found = database.rows("use_approval", project=project, **_moment(at), **binding._asdict())
    return _approval(found[0]) if found else None


def _moment(at: int) -> dict[str, int]:
    return {"at": at, "latest": at + CLOCK_ERROR}


def _approval(row: Row) -> Approval:
    id, *binding, shown, reason, requested_at, expires_at, answer, used_at, declined_at = row
    return Approval(
        id=id,
        binding=Binding(*binding),
        shown=shown,
        reason=reason,
        requested_at=requested_at,
        expires_at=expires_at,
        is_approved=None if answer is None else bool(answer),
        used_at=used_at,
        declined_at=declined_at,
    )
