"""The shapes of `--json` output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from remit.catalog.contexts import ALL_CLIENTS
from remit.cli.output.server_output import entry_text
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.declared_launch import Launch, references
from remit.decision.kinds import Kind
from remit.decision.problems import Severity
from remit.text.times import moment

if TYPE_CHECKING:
    from remit.catalog.costs import Costs
    from remit.catalog.explanation import Explanation
    from remit.catalog.list_changes import ListDifference
    from remit.catalog.summary import ScopeSummary, Summary
    from remit.decision.declarations import Declaration, Key
    from remit.decision.problems import Problem
    from remit.decision.tools import Tool
    from remit.doctor.findings import Finding
    from remit.presentation.discovery_text import DiscoveryText
    from remit.scanning.scanner import ClientPresence, ScanResult
    from remit.scanning.server_lists import ServerListing
    from remit.search.ranking import RankedTool, SearchResults
    from remit.store.store_facts import StoreFacts
    from remit.trust.server_sandbox import Sandbox
    from remit.trust.trust_rule import ServerTrust

Shape = dict[str, object]
NO_LINES: Mapping[Key, int] = MappingProxyType({})


def listing(listed: Sequence[ToolDecision], summary: Summary, context: Context) -> Shape:
    """Return the JSON of `remit tools`."""
    return {
        **asked_for(context),
        "states": truths(context),
        "tokens": _costs(summary.costs),
        "tools": [_listed(item) for item in listed],
    }


def change(
    changes: ListDifference, problems: Sequence[Problem], summary: Summary, context: Context, at: datetime
) -> Shape:
    """Return a JSON line of `remit tools --watch`."""
    return {
        "at": at.isoformat(timespec="milliseconds"),
        **asked_for(context),
        "states": truths(context),
        "tokens": _costs(summary.costs),
        "appeared": [_listed(item) for item in changes.appeared],
        "disappeared": [_listed(item) for item in changes.disappeared],
        "changed": [_listed(item) for item in changes.changed],
        "problems": [item._asdict() for item in problems],
    }


def explanation(
    explained: Explanation, lines: Mapping[Key, int] = NO_LINES, sandbox: Sandbox | None = None
) -> Shape:
    """Return the JSON of `remit why`, with the lines of the files that declare the tools."""
    decision = explained.decision
    subject: Shape = {"name": explained.name}
    if explained.tool is not None:
        listed_at = explained.tool.listed_at
        subject = _listed(ToolDecision(explained.tool, decision))
        subject["line"] = lines.get(explained.tool.key)
        subject["listed_at"] = None if listed_at is None else moment(listed_at)
    return {
        **subject,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.full_reason,
        "unlock": decision.unlock,
        "gates": [
            {"gate": gate, "passed": result.passed, "reason": result.full_reason}
            for gate, result in explained.gates
        ],
        "known": explained.tool is not None and not explained.is_assumed,
        "danger_sources": [{"level": each.level.word, "origin": each.origin} for each in explained.ratings],
        "obstacle": explained.obstacle,
        "obstacle_fix": explained.obstacle_fix,
        "permission_step": explained.permission_step,
        "sandbox": None if sandbox is None else sandbox.options._asdict(),
        "shadowed": [{**_listed(item), "line": lines.get(item.tool.key)} for item in explained.shadowed],
        "suggestions": list(explained.suggestions),
        "unasked": [
            {"server": each.label, "reason": each.reason, "unlock": each.step} for each in explained.unasked
        ],
    }


def scan(
    found: ScanResult, summary: Summary, context: Context, connected: Sequence[ServerListing] = ()
) -> Shape:
    """Return the JSON of `remit scan`."""
    return {
        **asked_for(context),
        "first": found.is_first,
        "added": [_declared(item) for item in found.changes.added],
        "removed": [_declared(item) for item in found.changes.removed],
        "changed": [_declared(item) for item in found.changes.changed],
        "problems": [item._asdict() for item in found.problems],
        "visible": sum(summary.visible.values()),
        "hidden": summary.hidden_count,
        "tokens": _costs(summary.costs),
        "scopes": [_origin(item) for item in summary.origins],
        "exceptions": [
            {"cause": group.cause, **_declared(item.tool), "reason": item.decision.full_reason}
            for group in summary.hidden
            for item in group.items
        ],
        "duplicates": [[_declared(tool) for tool in group] for group in summary.duplicates],
        "servers": [_connected(item) for item in connected],
    }


def search(shown: DiscoveryText, found: SearchResults, context: Context) -> Shape:
    """Return the JSON of `remit search`."""
    return {**asked_for(context), **shown.content, "matches": [_match(item, found) for item in found.results]}


def _match(item: RankedTool, found: SearchResults) -> Shape:
    hit = found.hit(item)
    meaning = None if hit is None or hit.meaning is None else round(hit.meaning, 3)
    return {"name": item.tool.name, "words": 0.0 if hit is None else round(hit.words, 3), "meaning": meaning}


def trust(
    found: Sequence[ServerTrust], states: Sequence[Shape], tools: Sequence[Shape], context: Context
) -> Shape:
    """Return the JSON of `remit trust`."""
    return {
        **asked_for(context),
        "servers": [_trustable(item) for item in found],
        "states": list(states),
        "tools": list(tools),
    }


def truths(context: Context) -> dict[str, bool | None]:
    """Return the states of a context's snapshot by name; an unknown one is null."""
    if context.snapshot is None:
        return {}
    return {name: value.truth for name, value in sorted(context.snapshot.states.items())}


def clients(found: Sequence[ClientPresence], context: Context) -> Shape:
    """Return the JSON of `remit clients`."""
    return {**_place(context), "clients": [_present(item) for item in found]}


def diagnosis(findings: Sequence[Finding], context: Context) -> Shape:
    """Return the JSON of `remit doctor`."""
    counts = {f"{severity}s": sum(item.severity is severity for item in findings) for severity in Severity}
    return {**asked_for(context), "findings": [asdict(item) for item in findings], **counts}


def store_shape(store: StoreFacts) -> Shape:
    """Return the store as `remit status` and `remit doctor` print it."""
    problem = None if store.problem is None else str(store.problem)
    return {**store._asdict(), "source": store.source or None, "problem": problem}


def session_context(text: str, budget: int) -> Shape:
    """Return the JSON of `remit context`."""
    return {"text": text, "characters": len(text), "budget": budget}


def asked_for(context: Context) -> Shape:
    """Return the client, project and workspace of an answer."""
    return {**_place(context), "client": context.client or ALL_CLIENTS}


def _place(context: Context) -> Shape:
    project = context.workspace.project
    return {"project": {"path": project.path, "hash": project.hash}, "workspace": context.workspace.dir}


def _listed(item: ToolDecision) -> Shape:
    tool, decision = item
    return {
        **_declared(tool),
        "status": tool.status,
        "usage_count": tool.usage_count,
        "last_used_at": None if tool.last_used_at is None else moment(tool.last_used_at),
        "description": tool.description,
        "tokens": tool.tokens,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.full_reason,
    }


def _present(item: ClientPresence) -> Shape:
    return {
        "name": item.client,
        "files": list(item.files),
        "servers": item.servers,
        "problems": item.problems,
    }


def _costs(costs: Costs) -> Shape:
    return {"visible": costs.visible, "all": costs.all, "uncounted_servers": costs.uncounted}


def _origin(origin: ScopeSummary) -> Shape:
    return {
        "client": origin.client,
        "scope": origin.scope,
        "sources": list(origin.sources),
        "visible": {kind: origin.visible.get(kind, 0) for kind in Kind},
        "hidden": origin.hidden,
        "tokens": _costs(origin.costs),
    }


def _connected(item: ServerListing) -> Shape:
    tool, decision, offer = item
    failure = None if offer is None else offer.failure
    listed = offer if offer is not None and failure is None else None
    return {
        "name": tool.name,
        "server": tool.server,
        "client": tool.client,
        "scope": tool.scope,
        "source": tool.source,
        "status": "skipped" if offer is None else "listed" if failure is None else "failed",
        "tools": None if listed is None else len(listed.tools),
        "quarantined": [] if listed is None else [asdict(bad) for bad in listed.quarantined],
        "protocol_version": None if listed is None else listed.protocol_version,
        "server_version": None if listed is None else listed.server_version,
        "seconds": None if offer is None else round(offer.seconds, 3),
        "reason": item.why_not if offer is None else None if failure is None else failure.reason,
        "hint": decision.unlock if offer is None else None if failure is None else failure.hint,
        "output": [] if failure is None else list(failure.output),
    }


def _trustable(item: ServerTrust) -> Shape:
    entry, launch = item.declaration, item.declaration.launch
    text = None if launch is None else entry_text(launch, entry.source)
    is_remote = launch is not None and launch.is_remote
    return {
        **_declared(entry),
        "agent": entry.agent,
        "config_status": item.config_status,
        "trusted": item.is_trusted,
        "changed": item.is_changed,
        "transport": None if launch is None else launch.transport,
        "command": None if text is None or is_remote else text.command,
        "cwd": None if text is None else text.cwd,
        "url": text.url if text is not None and is_remote else None,
        "env": {} if text is None else text.env,
        "headers": {} if text is None else text.headers,
        "headers_helper": None if text is None else text.headers_helper,
        "runner_files": [] if text is None else text.runner_files,
        "reads": [] if launch is None else sorted(_read_by(launch)),
        "inherits": item.inherits if isinstance(item.inherits, bool) else list(item.inherits),
        "sandbox": None if item.sandbox is None else item.sandbox.options._asdict(),
        "opens": None if text is None or item.opened is None else list(map(text.shown, item.opened.paths)),
    }


def _read_by(launch: Launch) -> set[str]:
    values = (*launch.env.values(), *launch.headers.values())
    return {name for value in values for name in references(value, launch.syntaxes)}


def _declared(item: Declaration | Tool) -> Shape:
    return {
        "name": item.name,
        "kind": item.kind,
        "server": item.server,
        "client": item.client,
        "scope": item.scope,
        "source": item.source,
    }
