"""The closed sets of words that describe a tool."""

from enum import IntEnum, StrEnum


class Kind(StrEnum):
    """What a tool is, in the order in which listings show them."""

    MCP_SERVER = "mcp_server"
    SLASH_COMMAND = "slash_command"
    SKILL = "skill"
    PLUGIN = "plugin"
    SUBAGENT = "subagent"
    MCP_TOOL = "mcp_tool"
    BUILTIN = "builtin"


class Authority(IntEnum):
    """Who told us about a tool; only an equal or higher authority may change its scope."""

    HOOK = 1
    REPORT = 2
    CONFIG = 3


class ToolStatus(StrEnum):
    """Where a row stands in its life."""

    ACTIVE = "active"
    STALE = "stale"  # declared once, and not in the files that were read last
    DEMOTED = "demoted"  # its calls in this project fail: ranked below what works


class ConfigStatus(StrEnum):
    """What a client's own settings make of a declaration, in one workspace."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    PENDING = "pending"
    REJECTED = "rejected"
    DENIED = "denied"
    MANUAL = "manual"  # only a person may invoke it
    ITSELF = "itself"  # the entry that starts Remit: shown, never an upstream
    UNSERVED = "unserved"  # what comes with the gateway, where the client does not start that


# Tools with which a model starts what is no tool of its own, as clients call them.
STARTERS: dict[str, tuple[Kind, ...]] = {
    "Skill": (Kind.SKILL, Kind.SLASH_COMMAND),
    "SlashCommand": (Kind.SKILL, Kind.SLASH_COMMAND),
    "Agent": (Kind.SUBAGENT,),
    "Task": (Kind.SUBAGENT,),
}
RUNS = frozenset({ConfigStatus.ENABLED, ConfigStatus.ITSELF})  # what the client starts
COULD_RUN = RUNS | {ConfigStatus.PENDING}  # and what it starts once a person says yes
