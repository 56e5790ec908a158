"""Stores sessions, their calls and suggestions, by project."""

from collections.abc import Iterable

from remit.decision.projects import Workspace
from remit.memory.traces import StoredTrace
from remit.sessions.suggestions import Candidate, PastSuggestion, ToolCall
from remit.store.database import Database, Value, scope_parameters
from remit.store.usage_store import new_traces
from remit.usage.familiarity import SHOWN, HourlyUse
from remit.usage.reports import ProjectUse, SessionUse, Total

_MOST_CALLS = 2_000  # used to learn patterns
_MOST_SESSIONS = 50


class SqlSessions:
    """Stores sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tallies(self, workspace: Workspace) -> list[HourlyUse]:
        """List the recent uses of a project, by tool and hour."""
        found = self._database.rows("hourly_uses", reach_back=SHOWN, **scope_parameters(workspace))
        return [HourlyUse(row[:5], *row[5:]) for row in found]

    def totals(self, workspace: Workspace) -> list[Total]:
        """List all uses of a project, by tool in scope."""
        places = scope_parameters(workspace)
        durations = {row[:5]: row[5] for row in self._database.rows("durations_here", **places)}
        return [
            Total(row[:5], *row[5:], mean_ms=durations.get(row[:5]))
            for row in self._database.rows("totals_here", **places)
        ]

    def projects(self) -> list[ProjectUse]:
        """List the totals of each project, without tool names."""
        return [ProjectUse(*row) for row in self._database.rows("totals_by_project")]

    def sessions(self, workspace: Workspace, client: str) -> list[SessionUse]:
        """List the sessions of a project, newest first."""
        values = {"project": workspace.project.hash, "client": client, "most": _MOST_SESSIONS}
        return [SessionUse(*row) for row in self._database.rows("sessions_here", **values)]

    def calls(self, workspace: Workspace, client: str) -> list[ToolCall]:
        """List the last calls in a project, in order."""
        return self._calls("calls_here", workspace, client=client, most=_MOST_CALLS)

    def calls_everywhere(self, workspace: Workspace, client: str) -> list[ToolCall]:
        """List the last calls in all projects of this user, of tools whose names exist in a workspace."""
        return self._calls("calls_everywhere", workspace, client=client, most=_MOST_CALLS)

    def calls_of(self, session_id: str, workspace: Workspace, client: str) -> list[ToolCall]:
        """List the calls of a session, in order."""
        return self._calls("calls_of_session", workspace, session_id=session_id, client=client)

    def states_at_start(self, session_id: str, workspace: Workspace, client: str) -> str:
        """Return the states at the start of a session, as JSON; empty if unknown."""
        found = self._database.rows("session_states", **_session(session_id, workspace, client))
        return found[0][0] if found else ""

    def news(self, workspace: Workspace) -> list[StoredTrace]:
        """List the traces that are not in memory yet."""
        return new_traces(self._database, workspace)

    def suggested(self, workspace: Workspace, client: str) -> list[PastSuggestion]:
        """List the past suggestions of a project, in order."""
        found = self._database.rows("suggestions_made", client=client, **scope_parameters(workspace))
        return [PastSuggestion(session_id, tool, at, bool(taken)) for session_id, tool, at, taken in found]

    def keep_suggestions(
        self, said: Iterable[Candidate], session_id: str, workspace: Workspace, client: str, at: int
    ) -> None:
        """Store suggestions."""
        project = workspace.project
        with self._database.transaction():
            self._database.run("see_project", project=project.hash, path=project.path, at=at)
            for each in said:
                values: dict[str, Value] = {"tool": each.tool, "cause": each.cause, "at": at}
                self._database.run("add_suggestion", **_session(session_id, workspace, client), **values)

    def _calls(self, query: str, workspace: Workspace, **values: Value) -> list[ToolCall]:
        found = self._database.rows(query, **values, **scope_parameters(workspace))
        return [ToolCall(*row) for row in found]


def _session(session_id: str, workspace: Workspace, client: str) -> dict[str, Value]:
    return {"session_id": session_id, "project": workspace.project.hash, "client": client}
