"""Records the uses of tools: events, changes of workflow states, and traces."""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.globs import tool_globs
from remit.decision.projects import Workspace
from remit.decision.tool_names import canonical, spellings
from remit.store.database import Database, Value
from remit.store.tool_rows import find_or_add_tool

if TYPE_CHECKING:
    from remit.memory.traces import StoredTrace, Trace


class _Counted(NamedTuple):
    """What was already known about a call."""

    is_new: bool
    is_reported: bool  # by a hook, not only by the gateway, which knows no sessions


def record(
    database: Database, reported: ReportedTool, use: CallOutcome, trace: "Trace | None" = None
) -> bool:
    """Count one use of a tool and store its trace; False if the call was already counted."""
    with database.transaction():
        counted = _count(database, reported, use, lambda: find_or_add_tool(database, reported))
        if trace is not None and not counted.is_reported:
            _add_trace(database, trace, reported.workspace, use.session_id, reported.at)
        return counted.is_new


def report_call(
    database: Database,
    workspace: Workspace,
    client: str,
    use: CallOutcome,
    at: int,
    trace: "Trace | None" = None,
) -> None:
    """Store the session and the trace of a call that only the gateway can count."""
    call = {"client": client, "project": workspace.project.hash, "call_id": use.call_id}
    with database.transaction():
        database.run("see_project", project=workspace.project.hash, path=workspace.project.path, at=at)
        earlier = database.rows("recorded_call", **call, session_id=use.session_id)
        for event, *_ in earlier:
            values = {"session_id": use.session_id, "succeeded": None, "duration_ms": None}
            database.run("complete_event", event=event, **values)
        if not earlier:
            database.run("report_call", **call, session_id=use.session_id, at=at)
        if trace is not None and all(session is None for *_, session in earlier):
            _add_trace(database, trace, workspace, use.session_id, at)


def count_all(database: Database, used: Iterable[tuple[ReportedTool, CallOutcome]]) -> None:
    """Count many uses inside a transaction, looking up the row of each tool once."""
    found: dict[Hashable, int | None] = {}

    def row(reported: ReportedTool) -> int | None:
        key = reported.key or (reported.name, reported.client, reported.server)
        if key not in found:
            found[key] = find_or_add_tool(database, reported)
        return found[key]

    for reported, use in used:
        _count(database, reported, use, partial(row, reported))


def _count(
    database: Database, reported: ReportedTool, use: CallOutcome, row: Callable[[], int | None]
) -> _Counted:
    """Count a use, inside a transaction."""
    call: dict[str, Value] = {
        "client": reported.client,
        "project": reported.workspace.project.hash,
        "call_id": use.call_id,
        "session_id": use.session_id,
    }
    outcome = {
        "succeeded": None if use.succeeded is None else int(use.succeeded),
        "duration_ms": use.duration_ms,
    }
    earlier = database.rows("recorded_call", **call) if use.call_id is not None else []
    for event, *_ in earlier:
        database.run("complete_event", event=event, session_id=use.session_id, **outcome)
    if not earlier:
        if use.call_id is not None and use.session_id is None:
            call["session_id"] = _reported_session(database, call)
        tool = row()
        if tool is not None:
            database.run("add_event", tool=tool, at=reported.at, **call, **outcome)
    if use.succeeded and all(outcome is None for _, outcome, _ in earlier):  # only once per call
        for name in filter(None, (reported.name, reported.subject)):
            advance_workflow(database, canonical(name), reported.workspace, reported.at)
    return _Counted(not earlier, any(session is not None for *_, session in earlier))


def _reported_session(database: Database, call: Mapping[str, Value]) -> str | None:
    named = {name: call[name] for name in ("client", "project", "call_id")}
    reported = database.rows("take_report", **named)
    return reported[0][0] if reported else None


def advance_workflow(database: Database, name: str, workspace: Workspace, at: int) -> None:
    """Set and clear the workflow states that the success of a tool changes, inside a transaction."""
    project = workspace.project.hash
    found = database.rows("transitions", workspace=workspace.dir, project=project)
    for pattern, state, truth in json.loads(found[0][0]) if found else ():
        if any(form.matches(each) for form in tool_globs(pattern) for each in spellings(name)):
            if truth:
                database.run("set_state", project=project, name=state, at=at, by=name)
            else:
                database.run("clear_state", project=project, name=state)


def new_traces(database: Database, workspace: Workspace) -> "list[StoredTrace]":
    """List the traces that are not in memory yet, oldest first."""
    from remit.memory.traces import StoredTrace, TraceKind

    found = database.rows("new_traces", project=workspace.project.hash)
    return [StoredTrace(id, TraceKind(sort), *rest) for id, sort, *rest in found]


def _add_trace(
    database: Database, trace: "Trace", workspace: Workspace, session_id: str | None, at: int
) -> None:
    from remit.memory.traces import TraceKind

    left = {"sort": trace.sort, "subject": trace.subject, "verb": trace.verb}
    where = {"project": workspace.project.hash, "session_id": session_id, "at": at}
    if trace.is_new:
        database.run("add_trace", **left, **where, in_a_row=int(trace.sort is TraceKind.CHECK))
    else:
        database.run("change_trace", **left, **where)
