"""Enumerations that describe a tool."""

from enum import IntEnum, StrEnum


class Kind(StrEnum):
    """The kind of a tool, in listing order."""

    MCP_SERVER = "mcp_server"
    SLASH_COMMAND = "slash_command"
    SKILL = "skill"
    PLUGIN = "plugin"
    SUBAGENT = "subagent"
    MCP_TOOL = "mcp_tool"
    BUILTIN = "builtin"


class Authority(IntEnum):
    """The authority of a row's source; only an equal or higher authority may change its scope."""

    HOOK = 1
    REPORT = 2
    CONFIG = 3


class ToolStatus(StrEnum):
    """The lifecycle status of a row."""

    ACTIVE = "active"
    STALE = "stale"  # removed from the files that declared it
    DEMOTED = "demoted"  # ranks lower, because its calls in this project fail


class ConfigStatus(StrEnum):
    """The status of a declaration under a client's settings in one workspace."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    PENDING = "pending"
    REJECTED = "rejected"
    DENIED = "denied"
    MANUAL = "manual"  # only a person may invoke it
    ITSELF = "itself"  # the gateway of the install record: listed, but never an upstream
    NESTED = "nested"  # another entry that starts a gateway: judged like any server, but never an upstream
    UNSERVED = "unserved"  # ships with the gateway, but the client does not start it


# The tools through which a model uses skills, commands and subagents, and the kinds they start.
STARTERS: dict[str, tuple[Kind, ...]] = {
    "Skill": (Kind.SKILL, Kind.SLASH_COMMAND),
    "SlashCommand": (Kind.SKILL, Kind.SLASH_COMMAND),
    "Agent": (Kind.SUBAGENT,),
    "Task": (Kind.SUBAGENT,),
}
RUNS = frozenset({ConfigStatus.ENABLED, ConfigStatus.ITSELF, ConfigStatus.NESTED})  # started by the client
COULD_RUN = RUNS | {ConfigStatus.PENDING}  # started after approval
