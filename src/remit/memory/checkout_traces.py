"""Traces in a checkout: what was left inside it, named from its root; anything else is nobody's business."""

import os

from remit.decision.projects import Workspace
from remit.files.checkout import git_directory
from remit.memory.trace_rules import without_secrets
from remit.memory.traces import Trace, TraceKind


def inside(trace: Trace, workspace: Workspace, directory: str) -> Trace | None:
    """Name a trace from the root of the checkout, for a call that was made in a directory; None where it was
    left elsewhere.
    """
    if trace.sort is TraceKind.FILE:
        path = _within(os.path.join(directory, trace.subject), workspace)
        if path in (None, ".") or path.split("/")[0] == ".git":
            return None
        return trace._replace(subject=without_secrets(path))
    if trace.sort is TraceKind.CHECK:
        place = _within(os.path.join(directory, trace.place), workspace)
        if place is None:
            return None
        return (
            trace if place == "." else trace._replace(subject=without_secrets(f"{trace.subject} in {place}"))
        )
    if trace.sort is TraceKind.COMMIT and not _has_object(trace.subject.partition(" ")[0], workspace):
        return None
    return trace


def _within(path: str, workspace: Workspace) -> str | None:
    try:
        found = os.path.relpath(os.path.realpath(path), workspace.checkout).replace(os.sep, "/")
    except (OSError, ValueError):  # of another drive, or no path at all
        return None
    return None if found.split("/")[0] == ".." else found


def _has_object(id: str, workspace: Workspace) -> bool:
    """Tell whether the project's repository has an object; a new one has a file of its own."""
    for root in (git_directory(workspace.project.path), workspace.project.path):
        try:
            names = os.listdir(os.path.join(root, "objects", id[:2]))
        except OSError:
            continue
        if any(name.startswith(id[2:]) for name in names):
            return True
    return False
