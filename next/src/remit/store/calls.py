"""The log of calls: one entry per call, never with arguments or results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import GATEWAY_TOOLS
from remit.store.database import Database, Value, see_project
from remit.store.usage import Use, count_uses, unseen_names

if TYPE_CHECKING:
    from remit.decision import Workspace


class Outcome(StrEnum):
    """What became of a call."""

    DONE = "done"
    FAILED = "failed"  # the tool reported a failure
    ERROR = "error"  # the server returned an error
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    WAITING = "waiting"  # for a person's approval
    UNKNOWN = "unknown"  # the tool does not exist
    CANCELLED = "cancelled"
    ASKS_BACK = "asks_back"  # the server needs more input from the caller first
    APPROVED = "approved"  # by a person
    DENIED = "denied"
    CHANGED = "changed"  # rules that several people share


# Outcomes of calls that reached a tool. Whether a cancelled one would have failed is unknown.
_USES: Mapping[str, str] = {Outcome.DONE: "+", Outcome.FAILED: "-", Outcome.ERROR: "-", Outcome.CANCELLED: ""}


class Call(NamedTuple):
    """One call."""

    called_at: int
    endpoint: str
    client: str
    agent: str | None
    caller: str | None
    tool: str  # canonical
    verdict: str
    gate: str | None
    outcome: str
    duration_ms: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    session: str | None = None
    call_id: str | None = None  # the client's; what hook and gateway report under one id is one call


class CallQuery(NamedTuple):
    """Selects calls; None and empty values select all."""

    text: str = ""  # part of a tool's name, in any case
    agent: str | None = None  # empty: the main session
    outcome: str | None = None
    caller: str | None = None
    session: str | None = None
    since: int | None = None  # Unix milliseconds
    until: int | None = None
    offset: int = 0
    limit: int = 100


class CallSpan(NamedTuple):
    """How many calls a query selects without its limit, and the times of the first and the last."""

    calls: int
    first_at: int
    last_at: int


class CallBar(NamedTuple):
    """The calls of one interval."""

    start: int
    calls: int
    failures: int  # failed, or did not reach the server
    refused: int


class CallStore:
    """Stores the log of calls, by project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, calls: Sequence[Call], workspace: Workspace) -> None:
        """Log calls, and count those that reached a tool as its uses, each once."""
        if not calls:
            return
        project = workspace.project.hash
        values: list[dict[str, Value]] = [{"project": project, **call._asdict()} for call in calls]
        uses = self._uses(calls, project)
        is_new = bool(unseen_names(self._database, uses, workspace))
        with self._database.transaction(changes="catalog" if is_new else None):
            see_project(self._database, workspace, calls[-1].called_at)
            uses = self._uses(calls, project)  # another process may have logged them meanwhile
            self._database.run_each("log_call", values)
            count_uses(self._database, uses, workspace)

    def find(self, query: CallQuery, workspace: Workspace) -> list[Call]:
        """List the selected calls, newest first."""
        return [Call(*row) for row in self._database.rows("find_calls", **_selection(query, workspace))]

    def span(self, query: CallQuery, workspace: Workspace) -> CallSpan:
        """Count the selected calls without the limit."""
        count, first, last = self._database.rows("span_of_calls", **_selection(query, workspace))[0]
        return CallSpan(count, first or 0, last or 0)

    def bars(self, query: CallQuery, workspace: Workspace, step: int) -> list[CallBar]:
        """Count the selected calls by intervals of `step` milliseconds that have any, oldest first."""
        rows = self._database.rows("bars_of_calls", step=step, **_selection(query, workspace))
        return [CallBar(*row) for row in rows]

    def agents(self, workspace: Workspace) -> list[str]:
        """List the agents with calls in a project."""
        return [name for (name,) in self._database.rows("agents_of_calls", project=workspace.project.hash)]

    def prune(self, before: int, most: int) -> None:
        """Delete what precedes the first young call of each project, and all but its newest calls.

        A call with a wrong time takes no others with it.
        """
        with self._database.transaction():
            for project, young, last, beyond in self._database.rows("old_calls", before=before, most=most):
                if last is not None:
                    first = max(last + 1 if young is None else young, 0 if beyond is None else beyond + 1)
                    self._database.rows("prune_calls", project=project, first=first)

    def _uses(self, calls: Sequence[Call], project: str) -> list[Use]:
        ids = json.dumps([call.call_id for call in calls if call.call_id is not None])
        rows = self._database.rows("logged_calls", project=project, ids=ids)
        counted = {(client, call_id) for client, call_id, outcome in rows if outcome in _USES}
        uses: list[Use] = []
        for call in calls:
            outcome = _USES.get(call.outcome)
            if outcome is None or call.tool in GATEWAY_TOOLS or (call.client, call.call_id) in counted:
                continue
            uses.append(Use(call.client, call.tool, call.called_at, outcome))
            if call.call_id is not None:
                counted.add((call.client, call.call_id))
        return uses


def _selection(query: CallQuery, workspace: Workspace) -> dict[str, Value]:
    return {"project": workspace.project.hash, **query._asdict()}
