"""Keeps the traces of calls, by project: each once, however often it was left."""

from remit.decision.projects import Workspace
from remit.memory.traces import Left, Sort, Trace
from remit.store.database import Database


def leave(database: Database, trace: Trace, workspace: Workspace, session_id: str | None, at: int) -> None:
    """Keep a trace, inside the transaction of the call that left it."""
    left = {"sort": trace.sort, "subject": trace.subject, "verb": trace.verb}
    where = {"project": workspace.project.hash, "session_id": session_id, "at": at}
    if trace.is_new:
        database.run("leave_trace", **left, **where, in_a_row=int(trace.sort is Sort.CHECK))
    else:
        database.run("change_trace", **left, **where)


def news(database: Database, workspace: Workspace) -> list[Left]:
    """List the traces that memory does not know of yet, the oldest first."""
    found = database.rows("traces_that_are_news", project=workspace.project.hash)
    return [Left(id, Sort(sort), *rest) for id, sort, *rest in found]


def is_observing(database: Database, workspace: Workspace) -> bool:
    """Tell whether traces are to be kept here, by the configuration as it was last read."""
    found = database.rows("observes", workspace=workspace.dir, project=workspace.project.hash)
    return not found or found[0][0] == "true"
