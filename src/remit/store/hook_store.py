"""The store as hooks use it: for one client in one workspace, opened for a single step.

Hook processes import this module, so it needs only the driver and a few standard library modules.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.audit.audit_log import AuditEntry
from remit.decision.projects import LaunchFlags, View, Workspace
from remit.store.audit_store import add_entries, prune_entries, stored_retention
from remit.store.database import Row, scope_parameters, view_parameters
from remit.store.open_store import open_database

if TYPE_CHECKING:
    from remit.decision.client_reports import CallOutcome, ReportedTool
    from remit.memory.traces import StoredTrace, Trace
    from remit.store.state_store import SqlStates

_DAY = 24 * 3_600_000  # milliseconds
_DECISION_LIFETIME = 30 * _DAY
_TRACE_LIFETIME = 30 * _DAY


class HookStore:
    """The store operations that hooks need."""

    def __init__(self, place: str, workspace: Workspace, client: str) -> None:
        self._database = open_database(place)
        self._workspace = workspace
        self._client = client
        self._project = workspace.project.hash

    def close(self) -> None:
        """Close the database, leaving the checkpoint to a later process."""
        self._database.close(quickly=True)

    def inputs(self, flags: LaunchFlags) -> dict[str, str]:
        """List the inputs of the last scan with their fingerprints."""
        view = View(self._client, self._workspace, flags)
        return dict(self._database.rows("inputs", **view_parameters(view)))

    def has_tool(self, name: str) -> bool:
        """Return whether the workspace has a tool with this name."""
        scope = scope_parameters(self._workspace)
        return bool(self._database.rows("tool_known", name=name, client=self._client, **scope))

    def decision_inputs(self, names: Sequence[str], flags: LaunchFlags) -> list[Row]:
        """List the stored facts that decisions about tools with these names depend on."""
        return self._database.rows(
            "decision_inputs",
            client=self._client,
            flags=flags.key,
            names=json.dumps(names),
            **scope_parameters(self._workspace),
        )

    def permissions(self, flags: LaunchFlags) -> list[Row]:
        """Return the client's permission rules that count, as stored."""
        view = View(self._client, self._workspace, flags)
        return self._database.rows("permissions", **view_parameters(view))

    def trusted_parts(self) -> list[Row]:
        """List the trusted parts of the configuration: file, subject and digest."""
        return self._database.rows("trusted_parts", project=self._project)

    def cached_decision(self, subject: str, digest: str) -> str | None:
        """Find a cached decision made from inputs with this digest."""
        found = self._database.rows("cached_decision", subject=subject, mark=digest, **self._place)
        return found[0][0] if found else None

    def cache_decision(self, subject: str, digest: str, answer: str, at: int) -> None:
        """Cache a decision and drop old ones."""
        with self._database.transaction():
            self._database.run("forget_old_decisions", before=at - _DECISION_LIFETIME)
            self._database.run(
                "cache_decision", subject=subject, mark=digest, answer=answer, at=at, **self._place
            )

    def configuration_inputs(self) -> Mapping[str, str] | None:
        """Return the fingerprints of the configuration files as last read; None if never read."""
        found = self._database.rows("configuration", **self._place)
        return json.loads(found[0][0]) if found else None

    def is_observing(self) -> bool:
        """Return whether the configuration, as last read, allows traces."""
        found = self._database.rows("observing", **self._place)
        return not found or found[0][0] == "true"

    def workflow_states(self) -> list[Row]:
        """List the workflow states that are set: name, time and tool."""
        return self._database.rows("workflow_states", project=self._project)

    def pushed_states(self) -> list[Row]:
        """List the pushed states: name, value as JSON, time and expiry."""
        return self._database.rows("pushed_states", project=self._project)

    def observations(self) -> list[Row]:
        """List the detected states: name, mark, truth, reason, count, time, expiry and claim."""
        return self._database.rows("observations", **self._place)

    def states(self) -> "SqlStates":
        """Open the store of the configuration and states."""
        from remit.store.state_store import SqlStates

        return SqlStates(self._database)

    def record(self, reported: "ReportedTool", use: "CallOutcome", trace: "Trace | None") -> bool:
        """Count one use of a tool and store its trace; False if the call was already counted."""
        from remit.store.usage_store import record

        return record(self._database, reported, use, trace)

    def report_call(self, use: "CallOutcome", at: int, trace: "Trace | None" = None) -> None:
        """Store the session and the trace of a call that only the gateway can count."""
        from remit.store.usage_store import report_call

        report_call(self._database, self._workspace, self._client, use, at, trace)

    def add_audit(self, entry: AuditEntry) -> None:
        """Store an audit entry."""
        with self._database.transaction():
            self._see_project(entry.called_at)
            add_entries(self._database, [entry], self._workspace)

    def add_prompted_call(self, call_id: str, tool: str, arguments: str, at: int) -> None:
        """Record that the client asks its user about a call, and drop old records."""
        with self._database.transaction():
            self._see_project(at)
            self._database.run("forget_old_prompted_calls", project=self._project, before=at - _DAY)
            call = {"client": self._client, "call_id": call_id, "tool": tool, "arguments": arguments}
            self._database.run("add_prompted_call", project=self._project, at=at, **call)

    def pending_approvals(self, at: int) -> list[Row]:
        """List the calls that wait for the user's approval, oldest first: id and tool."""
        return self._database.rows("pending_approvals", project=self._project, at=at)

    def new_traces(self) -> "list[StoredTrace]":
        """List the traces that are not in memory yet, oldest first."""
        from remit.store.usage_store import new_traces

        return new_traces(self._database, self._workspace)

    def mark_remembered(self, artifacts: "Iterable[tuple[StoredTrace, str]]") -> None:
        """Mark traces as stored in memory, unless they changed after they were listed."""
        with self._database.transaction():
            for trace, artifact in artifacts:
                values = {"trace": trace.id, "artifact": artifact, "times": trace.times, "at": trace.at}
                self._database.run("mark_trace_remembered", project=self._project, **values)

    def begin_session(self, session_id: str, at: int, states: str, transcript: str | None) -> None:
        """Record that a session starts or resumes, with its states as JSON and the path of its transcript."""
        with self._database.transaction():
            self._see_project(at)
            session = self._session(session_id)
            self._database.run("begin_session", at=at, states=states, transcript=transcript, **session)

    def end_session(self, session_id: str, at: int) -> None:
        """Record that a session ended, and delete old data of its project."""
        with self._database.transaction():
            self._see_project(at)
            self._database.run("end_session", at=at, **self._session(session_id))
            kept = stored_retention(self._database, self._workspace)
            for step in ("forget_old_events", "forget_old_sessions", "forget_old_suggestions"):
                self._database.run(step, project=self._project, before=at - kept.usage)
            prune_entries(self._database, kept, at, self._project)
            self._database.run("forget_old_reports", project=self._project, before=at - _DAY)
            self._database.run("forget_old_traces", project=self._project, before=at - _TRACE_LIFETIME)

    def suggestion_counts(self, session_id: str) -> tuple[int, int]:
        """Count the suggestions of a session, and the calls since the last of them."""
        made, _, calls = self._database.rows("suggestions_in_session", **self._session(session_id))[0]
        return made, calls

    def transcripts(self, session_id: str | None, since: int, limit: int) -> list[Row]:
        """List a session's transcript, or with None the transcripts of sessions that never ended.

        Each row has the session, the path, the offset of the first unread byte, and the session's start.
        """
        place = {"project": self._project, "client": self._client}
        return self._database.rows(
            "unread_transcripts", session_id=session_id, since=since, most=limit, **place
        )

    def mark_transcript_read(self, session_id: str, offset: int) -> None:
        """Record how much of a transcript was read."""
        self._database.run("mark_transcript_read", read_to=offset, **self._session(session_id))

    def reported_call_ids(self, session_id: str) -> set[str]:
        """List the calls of a session that hooks reported."""
        return {id for (id,) in self._database.rows("reported_call_ids", **self._session(session_id))}

    @property
    def _place(self) -> dict[str, str]:
        return {"workspace": self._workspace.dir, "project": self._project}

    def _session(self, session_id: str) -> dict[str, str]:
        return {"client": self._client, "session_id": session_id, "project": self._project}

    def _see_project(self, at: int) -> None:
        self._database.run("see_project", project=self._project, path=self._workspace.project.path, at=at)
