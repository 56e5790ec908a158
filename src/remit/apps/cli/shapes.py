"""The shapes of `--json` output."""

from collections.abc import Sequence
from datetime import UTC, datetime

from remit.core.decide import Context
from remit.core.declarations import Declaration, Problem
from remit.core.findings import Finding, Severity
from remit.registry import ALL_CLIENTS, Explanation, Listed, Presence, Scan

Shape = dict[str, object]


def listing(listed: Sequence[Listed], context: Context) -> Shape:
    """The answer of `remit tools`."""
    return {**_asked_for(context), "states": {}, "tools": [_listed(item) for item in listed]}


def explanation(explained: Explanation) -> Shape:
    """The answer of `remit why`."""
    decision = explained.decision
    subject: Shape = {"name": explained.name}
    if explained.tool is not None:
        subject = _listed(Listed(explained.tool, decision))
    return {
        **subject,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.reason,
        "unlock": decision.unlock,
        "gates": [
            {"gate": gate, "passed": ruling.passed, "reason": ruling.reason}
            for gate, ruling in explained.gates
        ],
        "shadowed": [_listed(item) for item in explained.shadowed],
    }


def scan(found: Scan, context: Context) -> Shape:
    """The answer of `remit scan`."""
    visible = sum(item.decision.visible for item in found.tools)
    return {
        **_asked_for(context),
        "added": [_declared(item) for item in found.changes.added],
        "removed": [_declared(item) for item in found.changes.removed],
        "changed": [_declared(item) for item in found.changes.changed],
        "problems": [_problem(item) for item in found.problems],
        "visible": visible,
        "hidden": len(found.tools) - visible,
    }


def clients(found: Sequence[Presence], context: Context) -> Shape:
    """The answer of `remit clients`."""
    return {**_place(context), "clients": [_present(item) for item in found]}


def diagnosis(findings: Sequence[Finding], context: Context) -> Shape:
    """The answer of `remit doctor`."""
    counts = {f"{severity}s": sum(item.severity is severity for item in findings) for severity in Severity}
    return {**_asked_for(context), "findings": [_finding(item) for item in findings], **counts}


def session_context(text: str, budget: int) -> Shape:
    """The answer of `remit context`."""
    return {"text": text, "characters": len(text), "budget": budget}


def _asked_for(context: Context) -> Shape:
    return {**_place(context), "client": context.client or ALL_CLIENTS}


def _place(context: Context) -> Shape:
    project = context.workspace.project
    return {"project": {"path": project.path, "hash": project.hash}, "workspace": context.workspace.dir}


def _listed(item: Listed) -> Shape:
    tool, decision = item
    return {
        "name": tool.name,
        "kind": tool.kind,
        "server": tool.server,
        "client": tool.client,
        "scope": tool.scope,
        "source": tool.source,
        "status": tool.status,
        "usage_count": tool.usage_count,
        "last_used_at": None if tool.last_used_at is None else _time(tool.last_used_at),
        "description": tool.description,
        "tokens": None,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.reason,
    }


def _present(item: Presence) -> Shape:
    return {
        "name": item.client,
        "files": list(item.files),
        "servers": item.servers,
        "problems": item.problems,
    }


def _declared(item: Declaration) -> Shape:
    return {
        "name": item.name,
        "kind": item.kind,
        "server": item.server,
        "client": item.client,
        "scope": item.scope,
        "source": item.source,
    }


def _problem(item: Problem) -> Shape:
    return {"source": item.source, "place": item.place, "reason": item.reason}


def _finding(item: Finding) -> Shape:
    return {
        "severity": item.severity,
        "check": item.check,
        "source": item.source,
        "subject": item.subject,
        "scope": item.scope,
        "place": item.place,
        "reason": item.reason,
        "fix": item.fix,
    }


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
