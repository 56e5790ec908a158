"""The JSON of reading commands."""

from collections.abc import Sequence
from typing import Any

from remit.decision import Context, Decision, Status, Tool, ToolDecision, Verdict


def tool_answer(item: ToolDecision) -> dict[str, Any]:
    """Describe a tool and the decision about it."""
    tool, decision = item
    return {
        "name": tool.name,
        "kind": tool.kind,
        "server": tool.server,
        "client": tool.client,
        "scope": tool.scope,
        "source": tool.source,
        "status": _old_status(tool),
        "usage_count": tool.uses,
        "last_used_at": tool.last_used_at,
        "description": tool.description,
        "tokens": tool.tokens,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": decision.reason,
    }


def listing(listed: Sequence[ToolDecision], context: Context) -> dict[str, Any]:
    """Describe a list of tools."""
    project = context.workspace.project
    return {
        "project": {"path": project.path, "hash": project.hash},
        "workspace": context.workspace.dir,
        "client": context.client,
        "states": {},
        "tools": [tool_answer(item) for item in listed],
    }


def explained(
    item: ToolDecision, decisions: Sequence[Decision], others: Sequence[ToolDecision]
) -> dict[str, Any]:
    """Describe why a tool is available, or is not."""
    return {
        **tool_answer(item),
        "gates": [
            {"gate": gate.gate, "passed": gate.verdict is not Verdict.HIDDEN, "reason": gate.reason}
            for gate in decisions
        ],
        "shadowed": [tool_answer(other) for other in others],
    }


def _old_status(tool: Tool) -> str:
    return "stale" if tool.status in (Status.STALE, Status.UNLISTED) else "active"
