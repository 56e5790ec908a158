"""The rows of the catalog that a call may mean, and which decision about them counts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from remit.decision.client_reports import AGENT_SOURCE, SOURCE_SCOPES, ClientCall
from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, Verdict, decide
from remit.decision.kinds import STARTERS, Authority, Kind
from remit.decision.row_status import adopt
from remit.decision.scopes import Scope
from remit.decision.tool_lookup import closest_to_being_visible
from remit.decision.tool_names import GATEWAY_TOOLS, MCP, classify, normalise, tool_prefix
from remit.decision.tools import Tool

_READ = frozenset({*SOURCE_SCOPES, AGENT_SOURCE})  # client sources whose files Remit reads
_DIGITS, _HEX = 8, frozenset("0123456789abcdef")  # of the hash in a served name
_ORDER = {Verdict.VISIBLE: 0, Verdict.ASK: 1, Verdict.HIDDEN: 2}
SILENT = Decision(verdict=Verdict.VISIBLE, gate=None, reason="the gateway decides", unlock=None)
_ORPHANED = "the agent that started this one is unknown, so the rules for every agent apply"


def subject_rows(call: ClientCall, tools: Sequence[Tool], context: Context) -> list[Sequence[Tool]]:
    """List everything a call uses, each with its candidate rows."""
    rows = rows_named(call.tool, tools)
    rows = [tool for tool in rows if call.server in (None, tool.server)] or rows
    is_read = call.source is None or call.source in _READ
    if not rows or not is_read:
        rows = [_assumed(call.tool, call.server, tools, context, is_read)]
    found: list[Sequence[Tool]] = [rows]
    kinds = STARTERS.get(call.name, ())
    names = (call.subject, f"/{call.subject}")
    if through := [tool for tool in tools if tool.kind in kinds and tool.name in names]:
        found.append(through)
    return found


def meant_rows(call: ClientCall, tools: Sequence[Tool], context: Context) -> list[Sequence[Tool]]:
    """List what a call through the gateway may mean, each with its candidate rows."""
    if call.served in GATEWAY_TOOLS:
        return []
    named = [rows_named(name, tools) for name in call.meant]
    if any(tool.authority is Authority.CONFIG for rows in named for tool in rows):
        return [rows for rows in named if rows]
    renamed = [tool for tool in tools if _may_be_served_as(call.served or "", tool)]
    found = [*named, *([tool] for tool in renamed)]
    for name in call.meant:
        found.append([each for each in covered_rows(name, tools, context) if not _has_server(each, renamed)])
    return [rows for rows in found if rows]


def rows_named(name: str, tools: Sequence[Tool]) -> list[Tool]:
    """Return the rows of a name, without servers."""
    return [tool for tool in tools if tool.name == name and tool.kind is not Kind.MCP_SERVER]


def covered_rows(name: str, tools: Sequence[Tool], context: Context) -> list[Tool]:
    """Build a row for an unlisted tool behind the gateway, if a server covers its name."""
    assumed = _assumed(name, None, tools, context, is_read=True)
    return [] if assumed.config_status is None else [assumed]


def _assumed(name: str, server: str | None, tools: Sequence[Tool], context: Context, is_read: bool) -> Tool:
    """Build a row for a tool that only the client knows."""
    named = classify(name)
    is_of_server = named.kind is Kind.MCP_TOOL
    made = Tool(
        name=name,
        kind=named.kind,
        client=context.client or "",
        scope=Scope.DYNAMIC if is_of_server else Scope.GLOBAL,
        source="hook",
        authority=Authority.HOOK,
        project_hash=context.workspace.project.hash if is_of_server else None,
        server=(server or named.server) if is_of_server else None,
    )
    return adopt([*tools, made])[-1] if is_read else made


def _has_server(tool: Tool, others: Sequence[Tool]) -> bool:
    return any((each.server, each.plugin) == (tool.server, tool.plugin) for each in others)


def _may_be_served_as(name: str, tool: Tool) -> bool:
    """Return whether a tool may have a served name without its server, or one that ends in a hash."""
    if tool.kind is not Kind.MCP_TOOL or tool.authority is not Authority.CONFIG:
        return False
    prefix = tool_prefix(tool.server or "", tool.plugin)
    forms = (tool.name.removeprefix(MCP), tool.name.removeprefix(prefix))
    name = normalise(name)
    stem, _, mark = name.rpartition("_")
    is_hashed = bool(stem) and len(mark) == _DIGITS and _HEX.issuperset(mark)
    return any(form == name or (is_hashed and form.startswith(stem)) for form in forms)


def nearest(rows: Sequence[Tool], context: Context) -> Decision:
    """Decide about the row that is closest to being visible."""
    listed = [ToolDecision(tool, decide(tool, context)) for tool in rows]
    return min(listed, key=closest_to_being_visible).decision


def is_stricter(decision: Decision, other: Decision) -> bool:
    """Return whether a decision lets less pass than another."""
    return _ORDER[decision.verdict] > _ORDER[other.verdict]


def worst(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest decision; the first of equals counts."""
    return max(decisions, key=lambda each: _ORDER[each.verdict], default=SILENT)


def strictest(callers: Sequence[Context], judge: Callable[[Context], Decision]) -> Decision:
    """Decide for the caller; a stricter decision below a possible parent counts, and says why."""
    known, *possible = callers
    found = judge(known)
    for each in possible:
        if found.verdict is Verdict.HIDDEN:
            break
        below = judge(each)
        if is_stricter(below, found):
            found = replace(
                below,
                reason=f"{_ORPHANED}: {below.reason}",
                detail=f"{_ORPHANED}: {below.full_reason}",
            )
    return found
