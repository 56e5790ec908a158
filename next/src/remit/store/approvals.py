"""A person's consents to calls; each is used once, even if several callers try at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from remit.store.database import Database, Row, see_project

if TYPE_CHECKING:
    from remit.decision import Workspace

_CLOCK_ERROR = 60_000  # milliseconds: a request further in the future was made before the clock was set back


class Binding(NamedTuple):
    """The call that an approval is for."""

    caller: str
    tool: str
    definition: str  # a digest, like the next
    arguments: str


class Approval(NamedTuple):
    """A request for approval, and the answer."""

    id: str
    binding: Binding
    shown: str  # the arguments for people; empty once answered or expired
    reason: str
    requested_at: int
    expires_at: int
    is_approved: bool | None = None
    used_at: int | None = None


class ApprovalStore:
    """Stores approvals, by project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def request(
        self, wanted: Approval, workspace: Workspace, *, forget_before: int, most: int
    ) -> Approval | None:
        """Store a request, or return the open one for the same call; None if too many wait.

        A denial is returned once: the next request for the same call is a new one.
        """
        project, at = workspace.project.hash, wanted.requested_at
        binding = wanted.binding._asdict()
        with self._database.transaction():
            see_project(self._database, workspace, at)
            self._database.rows("forget_approvals", before=forget_before)
            self._database.rows("erase_expired_arguments", at=at)
            like = self._database.rows("approvals_like", project=project, **_moment(at), **binding)
            if like:
                approval = _approval(like[0])
                if approval.is_approved is False:
                    self._database.rows("end_denial", project=project, id=approval.id, at=at)
                return approval
            if len(self.waiting(workspace, at)) >= most:
                return None
            values = {"id": wanted.id, "shown": wanted.shown, "reason": wanted.reason, **binding}
            self._database.rows(
                "request_approval", project=project, **values, at=at, expires_at=wanted.expires_at
            )
        return wanted

    def waiting(self, workspace: Workspace, at: int) -> list[Approval]:
        """List the requests that wait for an answer, oldest first."""
        rows = self._database.rows("waiting_approvals", project=workspace.project.hash, **_moment(at))
        return [_approval(row) for row in rows]

    def find(self, id: str, workspace: Workspace) -> Approval | None:
        """Find an approval by its id."""
        rows = self._database.rows("approval_by_id", project=workspace.project.hash, id=id)
        return _approval(rows[0]) if rows else None

    def answer(self, id: str, workspace: Workspace, at: int, *, is_approved: bool) -> Approval | None:
        """Store an answer, and erase the arguments; None if the request does not wait."""
        answer = {"project": workspace.project.hash, "id": id, "approved": int(is_approved)}
        with self._database.transaction():
            self._database.rows("erase_expired_arguments", at=at)
            rows = self._database.rows("answer_approval", **answer, **_moment(at))
        return _approval(rows[0]) if rows else None

    def use(self, binding: Binding, workspace: Workspace, at: int) -> Approval | None:
        """Use up an approval and return it; None if there is none."""
        with self._database.transaction():
            call = {"project": workspace.project.hash, **binding._asdict()}
            rows = self._database.rows("use_approval", **call, **_moment(at))
        return _approval(rows[0]) if rows else None


def _moment(at: int) -> dict[str, int]:
    return {"at": at, "latest": at + _CLOCK_ERROR}


def _approval(row: Row) -> Approval:
    id, *binding, shown, reason, requested_at, expires_at, answer, used_at = row
    is_approved = None if answer is None else bool(answer)
    return Approval(id, Binding(*binding), shown, reason, requested_at, expires_at, is_approved, used_at)
