"""The JSON of reading commands, which scripts depend on: keys are never omitted, unknown values are null."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from remit.decision import Context, Decision, Kind, Status, Tool, ToolDecision, Verdict, is_demoted
from remit.text import moment

if TYPE_CHECKING:
    from remit.catalog import Catalog, Explanation, RequestCost, Summary
    from remit.cli.doctor.findings import Finding
    from remit.clients import ClientPresence
    from remit.decision import Declaration, Key
    from remit.hooks import PruneProposal, ToolUse, UsageReport
    from remit.search import DiscoveryText, SearchResults
    from remit.states import StateReport
    from remit.store import Call, Changes, Problem
    from remit.upstream import Obstacle

Shape = dict[str, Any]


def asked_for(context: Context) -> Shape:
    """Return the project, the workspace and the client of an answer."""
    return {**_place(context), "client": context.client or "all"}


def _place(context: Context) -> Shape:
    return {"project": context.workspace.project._asdict(), "workspace": context.workspace.dir}


def tools(listed: Sequence[ToolDecision], known: Sequence[ToolDecision], context: Context) -> Shape:
    """Describe listed tools; `known` are all."""
    return {
        **asked_for(context),
        "states": truths(context),
        "tokens": _tokens(known, context),
        "tools": [_tool(item) for item in listed],
    }


def truths(context: Context) -> dict[str, bool | None]:
    """Return the states of a context's snapshot by name; an unknown one is null."""
    states = () if context.snapshot is None else sorted(context.snapshot.states.items())
    return {name: value.truth for name, value in states}


def _tokens(listed: Iterable[ToolDecision], context: Context) -> Shape:
    """Add up definitions: of the visible tools, and of all for the client, without counting servers again."""
    visible = every = unknown = 0
    for tool, decision in listed:
        if context.client not in (None, tool.client):
            continue
        if tool.kind is Kind.MCP_SERVER:
            unknown += decision.is_available and tool.tokens is None
        elif tool.status not in (Status.STALE, Status.UNLISTED):
            every += tool.tokens or 0
            visible += (tool.tokens or 0) if decision.is_available else 0
    return {"visible": visible, "all": every, "uncounted_servers": unknown}


def _tool(item: ToolDecision) -> Shape:
    tool, decision = item
    return {
        **declared(tool),
        "status": _status(tool),
        "usage_count": tool.uses,
        "last_used_at": _moment(tool.last_used_at),
        "description": tool.description,
        "tokens": tool.tokens,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.full_reason,
    }


def declared(item: "Tool | Declaration") -> Shape:
    """Describe what declares a tool."""
    return {
        "name": item.name,
        "kind": item.kind,
        "server": item.server,
        "client": item.client,
        "scope": item.scope,
        "source": item.source,
    }


def _status(tool: Tool) -> str:
    if tool.status in (Status.STALE, Status.UNLISTED):
        return "stale"
    return "demoted" if is_demoted(tool.outcomes) else "active"


def explanation(
    explained: "Explanation",
    line_of: "Mapping[Key, int]",
    obstacle: "Obstacle | None",
    allow_step: str | None,
    catalog: "Catalog",
) -> Shape:
    """Describe why a name is available, or is not; `line_of` maps keys to lines of their files."""
    context, configuration = catalog.context, catalog.configuration
    tool, decision = explained.tool, explained.decision
    subject: Shape = {"name": explained.name}
    if tool is not None:
        subject = _tool(ToolDecision(tool, decision))
        subject |= {"line": line_of.get(tool.key) or None, "listed_at": _moment(tool.listed_at)}
    ratings = [] if tool is None else [context.rules.rate(tool).rating]
    options = None
    if tool is not None and tool.server is not None:
        options = configuration.options(tool.server, tool.plugin, is_projects=tool.is_projects)
    sandbox = None if options is None else options.sandbox
    return {
        **subject,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.full_reason,
        "unlock": decision.unlock,
        "gates": [_gate(gate) for gate in explained.gates],
        "known": tool is not None and not explained.is_assumed,
        "danger_sources": [{"level": rating.level.word, "origin": rating.origin} for rating in ratings],
        "obstacle": None if obstacle is None else obstacle.reason,
        "obstacle_fix": None if obstacle is None else obstacle.fix,
        "permission_step": allow_step,
        "sandbox": None if sandbox is None else sandbox._asdict(),
        "shadowed": [
            {**_tool(other), "line": line_of.get(other.tool.key) or None} for other in explained.shadowed
        ],
        "suggestions": [*explained.suggestions],
        "unasked": [
            {"server": server.label, "reason": server.reason, "unlock": server.step}
            for server in explained.unasked
        ],
    }


def _gate(decision: Decision) -> Shape:
    passed = decision.verdict is not Verdict.HIDDEN
    return {"gate": decision.gate, "passed": passed, "reason": decision.full_reason}


def scan(
    changes: "Changes",
    problems: "Iterable[Problem]",
    listed: Sequence[ToolDecision],
    summary: "Summary",
    duplicates: "Sequence[Sequence[Tool]]",
    context: Context,
    *,
    is_first: bool,
) -> Shape:
    """Describe what a scan changed, and what is here now."""
    return {
        **asked_for(context),
        "first": is_first,
        "added": [declared(item) for item in changes.added],
        "removed": [declared(item) for item in changes.removed],
        "changed": [declared(item) for item in changes.changed],
        "problems": [problem._asdict() for problem in problems],
        "visible": sum(summary.visible.values()),
        "hidden": summary.hidden_count,
        "tokens": _tokens(listed, context),
        "scopes": [
            {
                "client": scope.client,
                "scope": scope.scope,
                "sources": [*scope.sources],
                "visible": {kind: scope.visible.get(kind, 0) for kind in Kind},
                "hidden": scope.hidden,
                "tokens": _tokens(_of(scope.client, scope.scope, listed), context),
            }
            for scope in summary.scopes
        ],
        "exceptions": [
            {"cause": group.cause, **declared(item.tool), "reason": item.decision.full_reason}
            for group in summary.hidden
            for item in group.items
        ],
        "duplicates": [[declared(tool) for tool in group] for group in duplicates],
        "servers": [],
    }


def _of(client: str, scope: str, listed: Iterable[ToolDecision]) -> list[ToolDecision]:
    return [item for item in listed if (item.tool.client, item.tool.scope) == (client, scope)]


def search(shown: "DiscoveryText", found: "SearchResults", context: Context) -> Shape:
    """Describe search results, each with its score."""
    matches = [{"name": item.tool.name, "score": round(item.score, 3)} for item in found.results]
    return {**asked_for(context), **shown.content, "matches": matches}


def states(reports: "Iterable[StateReport]", layers: "Mapping[str, str]", context: Context) -> Shape:
    """Describe states, their values and where they come from; `layers` are those of their files."""
    return {**asked_for(context), "states": [_state(report, layers) for report in reports]}


def _state(report: "StateReport", layers: "Mapping[str, str]") -> Shape:
    state = report.state
    detector = None if state is None or state.detector is None else state.detector.kind
    return {
        "name": report.name,
        "value": report.value.truth,
        "reason": report.value.reason,
        "kind": "capability" if state is None else state.kind,
        "description": "" if state is None else state.description,
        "detector": detector,
        "layer": None if state is None else layers.get(state.origin.path, "server"),
        "source": None if state is None else state.origin.path or None,
    }


def calls(entries: "Iterable[Call]", total: int, context: Context) -> Shape:
    """Describe calls, and how many the options select."""
    return {**asked_for(context), "total": total, "calls": [_call(entry) for entry in entries]}


def _call(call: "Call") -> Shape:
    return {
        "called_at": moment(call.called_at),
        "endpoint": call.endpoint,
        "client": call.client,
        "agent": call.agent,
        "principal": call.caller,
        "tool": call.tool,
        "verdict": call.verdict,
        "gate": call.gate,
        "outcome": call.outcome,
        "duration_ms": call.duration_ms,
        "bytes_in": call.bytes_in,
        "bytes_out": call.bytes_out,
    }


def session_context(content: str, budget: int) -> Shape:
    """Describe the text at session start."""
    return {"text": content, "characters": len(content), "budget": budget}


def clients(found: "Iterable[ClientPresence]", context: Context) -> Shape:
    """Describe the clients on this machine."""
    named = [
        {
            "name": item.client,
            "files": [*item.files],
            "servers": item.servers,
            "problems": item.problems,
        }
        for item in found
    ]
    return {**_place(context), "clients": named}


def request_tokens(cost: "RequestCost") -> Shape:
    """Describe what a first request costs."""
    return {
        "without_remit": cost.alone,
        "with_remit": cost.with_remit,
        "all_definitions": sum(server.alone or 0 for server in cost.by_server),
        "client_searches": cost.searches,
    }


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else moment(milliseconds)


def diagnosis(findings: "Sequence[Finding]", context: Context) -> Shape:
    """Describe findings, and count them."""
    severities = ("error", "warning", "note")
    counts = {f"{severity}s": sum(item.severity == severity for item in findings) for severity in severities}
    return {**asked_for(context), "findings": [item._asdict() for item in findings], **counts}


def rules(found: "Sequence[tuple[str, Problem]]", context: Context) -> Shape:
    """Describe mistakes in Remit's own files; line and column are null for a whole file."""
    findings: list[Shape] = []
    for severity, problem in found:
        numbers = [int(word) for word in problem.place.split() if word.isdecimal()]
        line, column = [*numbers, None, None][:2]
        place = {"line": line, "column": column}
        findings.append({"severity": severity, "source": problem.source, **place, "reason": problem.reason})
    counts = Counter(severity for severity, _ in found)
    numbered = {f"{severity}s": counts[severity] for severity in ("error", "warning", "note")}
    return {**asked_for(context), "findings": findings, **numbered}


def servers(listed: Iterable[ToolDecision], context: Context) -> list[Shape]:
    """Describe the declared servers of a client, whether a gateway runs them or not."""
    items = [item for item in listed if context.client in (None, item.tool.client)]
    tools = Counter((item.tool.client, item.tool.server) for item in items if item.tool.kind is Kind.MCP_TOOL)
    return [
        {
            "server": tool.server,
            "client": tool.client,
            "scope": tool.scope,
            "source": tool.source,
            "verdict": decision.verdict,
            "gate": decision.gate,
            "reason": decision.full_reason,
            "tools": None if tool.listed_at is None else tools[tool.client, tool.server],
            "tokens": tool.tokens,
            "uses": tool.uses,
            "listed_at": _moment(tool.listed_at),
            "failure": tool.failure,
        }
        for tool, decision in items
        if tool.kind is Kind.MCP_SERVER and tool.status not in (Status.STALE, Status.UNSERVED)
    ]


def usage(found: "UsageReport", cost: "RequestCost", context: Context) -> Shape:
    """Describe the used and unused tools of a project."""
    return {
        **asked_for(context),
        "request_tokens": request_tokens(cost),
        "used": [_use(use) for use in found.used],
        "unused": [_use(use) for use in found.unused],
        "unused_tokens": found.unused_tokens,
        "sessions": [
            {
                "session_id": session.session,
                "started_at": moment(session.started_at),
                "ended_at": moment(session.ended_at),
                "calls": session.calls,
                "failures": session.failures,
                "tools": session.tools,
            }
            for session in found.sessions
        ],
    }


def _use(use: "ToolUse") -> Shape:
    tool = use.tool
    return {
        "name": tool.name,
        "kind": tool.kind,
        "server": tool.server,
        "scope": tool.scope,
        "status": _status(tool),
        "tokens": tool.tokens,
        "uses": use.uses,
        "failures": use.failures,
        "last_used_at": _moment(use.last_used_at),
        "mean_ms": None if use.mean_ms is None else round(use.mean_ms),
    }


def proposals(found: "Sequence[PruneProposal]", file: str, context: Context) -> Shape:
    """Describe what to disable, and the file that would say so."""
    names = [proposal.name for proposal in found]
    listed = [proposal._asdict() for proposal in found]
    return {**asked_for(context), "file": file, "names": names, "proposals": listed}
