"""The tools that a client has by itself, as far as they are known: no file declares them."""

from collections.abc import Collection, Mapping

from remit.decision.kinds import Authority, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool

_CLAUDE_CODE = """
Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit EnterPlanMode
EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillShell ListAgents ListMcpResourcesTool Monitor
MultiEdit NotebookEdit PowerShell Read ReadMcpResourceTool ReportFindings ScheduleWakeup SendMessage
Skill SlashCommand Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite
ToolSearch WebFetch WebSearch Workflow Write
"""
BUILTINS: Mapping[str, Collection[str]] = {"claude-code": frozenset(_CLAUDE_CODE.split())}


def is_builtin(tool: Tool) -> bool:
    """Return whether a tool is known to be one of its client's own."""
    return tool.kind is Kind.BUILTIN and tool.name in BUILTINS.get(tool.client, ())


def builtin_tool(name: str, client: str | None) -> Tool | None:
    """Return the row of a client's own tool; None if the client is not known to have it."""
    if client is None or name not in BUILTINS.get(client, ()):
        return None
    return Tool(name, Kind.BUILTIN, client, Scope.GLOBAL, "", Authority.HOOK)
