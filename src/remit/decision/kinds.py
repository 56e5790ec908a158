"""The enumerations that describe a tool."""

from enum import IntEnum, StrEnum


class Kind(StrEnum):
    """What a tool is, in the order of listings."""

    MCP_SERVER = "mcp_server"
    SLASH_COMMAND = "slash_command"
    SKILL = "skill"
    PLUGIN = "plugin"
    SUBAGENT = "subagent"
    MCP_TOOL = "mcp_tool"
    BUILTIN = "builtin"


class Authority(IntEnum):
    """The source of a row; only an equal or higher authority may change its scope."""

    HOOK = 1
    REPORT = 2
    CONFIG = 3


class ToolStatus(StrEnum):
    """The life cycle of a row."""

    ACTIVE = "active"
    STALE = "stale"  # no longer in the files that declared it
    DEMOTED = "demoted"  # its calls in this project fail, so it ranks lower


class ConfigStatus(StrEnum):
    """The status of a declaration under the client's own settings, in one workspace."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    PENDING = "pending"
    REJECTED = "rejected"
    DENIED = "denied"
    MANUAL = "manual"  # only a person may invoke it
    ITSELF = "itself"  # the entry that starts Remit: shown, never an upstream
    UNSERVED = "unserved"  # ships with the gateway, which the client does not start


# The tools a model calls to use skills, commands and subagents, and the kinds they start.
STARTERS: dict[str, tuple[Kind, ...]] = {
    "Skill": (Kind.SKILL, Kind.SLASH_COMMAND),
    "SlashCommand": (Kind.SKILL, Kind.SLASH_COMMAND),
    "Agent": (Kind.SUBAGENT,),
    "Task": (Kind.SUBAGENT,),
}
RUNS = frozenset({ConfigStatus.ENABLED, ConfigStatus.ITSELF})  # the client starts these
COULD_RUN = RUNS | {ConfigStatus.PENDING}  # and these after approval
