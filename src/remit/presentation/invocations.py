"""Says how a model invokes anything that it finds.

The gateway serves the tools of MCP servers. Commands, skills, subagents and built-ins, and tools that an
agent reported, belong to the client: the gateway finds them, and never starts or calls them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from remit.decision.context import Context
from remit.decision.decide import Decision, decide
from remit.decision.declarations import Key
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.tools import Tool, builtin_tool, is_builtin
from remit.text.untrusted_text import one_line

_LONGEST_NAME = 100  # characters
_LONGEST_FAILURE = 200
_MOST_NAMED = 5  # parts of a plugin
SERVED = (Kind.MCP_SERVER, Kind.MCP_TOOL)  # by the gateway
# The built-in that starts each kind in a client that has it, and its parameter for the name.
_STARTERS = {
    Kind.SKILL: ("Skill", "skill"),
    Kind.SLASH_COMMAND: ("Skill", "skill"),
    Kind.SUBAGENT: ("Agent", "subagent_type"),
}
_KINDS = {
    Kind.MCP_SERVER: "an MCP server",
    Kind.MCP_TOOL: "not a tool of the gateway",
    Kind.SLASH_COMMAND: "a slash command",
    Kind.SKILL: "a skill",
    Kind.PLUGIN: "a plugin",
    Kind.SUBAGENT: "a subagent",
    Kind.BUILTIN: "a tool of your client",
}


def is_clients_own(tool: Tool) -> bool:
    """Return whether a tool is decided as its client has it: only reported, or only a person invokes it."""
    is_reported = tool.authority is not Authority.CONFIG and tool.config_status is None
    return tool.config_status is ConfigStatus.MANUAL or (is_reported and tool.kind in SERVED)


def as_client_has_it(context: Context) -> Context:
    """Return the context of decisions about what the client itself starts and calls."""
    return replace(context, starts_servers=False, is_installed=True)


def client_decisions(tools: Iterable[Tool], context: Context) -> dict[Key, Decision]:
    """Decide about a client's own tools as the client has them.

    Returns only available ones: the gateway itself refuses them all. What only a person may invoke is decided
    as if a model might, because a model can ask the user to.
    """
    here = as_client_has_it(context)
    found = {tool.key: decide(_as_for_person(tool), here) for tool in tools}
    return {key: decision for key, decision in found.items() if decision.is_available}


def starters(client: str | None) -> list[Tool]:
    """List the built-ins with which a client starts commands, skills and subagents."""
    found = (builtin_tool(name, client) for name, _ in dict.fromkeys(_STARTERS.values()))
    return [tool for tool in found if tool is not None]


def _as_for_person(tool: Tool) -> Tool:
    is_manual = tool.config_status is ConfigStatus.MANUAL
    return tool._replace(config_status=ConfigStatus.ENABLED) if is_manual else tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocations:
    """Describes how the model behind one endpoint invokes tools."""

    client: str | None
    available: Collection[Key]  # of the client's own tools
    served: Collection[Key]  # tools that can be called through the gateway
    listed: Collection[Key]  # those of them that the model already has
    tool_counts: Mapping[Key, int]  # callable tools by server
    parts: Mapping[str, Sequence[str]]  # names by plugin

    def of(self, tool: Tool) -> str:
        """Return a line about how to invoke a tool, or who can."""
        name = one_line(tool.name, _LONGEST_NAME)
        if tool.key in self.served:
            is_listed = tool.key in self.listed
            return "Call it directly: it is listed." if is_listed else "Call it with `call_tool`."
        if tool.config_status is ConfigStatus.MANUAL:
            return f"Only a person can invoke it: ask the user to type `{_typed(name)}`."
        if tool.kind is Kind.MCP_SERVER:
            return self._of_server(tool)
        if tool.kind is Kind.PLUGIN:
            return self._of_plugin(tool)
        if tool.kind in _STARTERS:
            return self._started(tool, name)
        if is_builtin(tool):
            return "Call it directly: it is built into your client."
        return f"Remit does not serve it: call `{name}` directly, if your client has it."

    def explain(self, tool: Tool) -> str:
        """Explain to a model that called something which is not called through the gateway."""
        name = tool.server if tool.kind is Kind.MCP_SERVER and tool.server else tool.name
        return f"`{one_line(name, _LONGEST_NAME)}` is {_KINDS[tool.kind]}. {self.of(tool)}"

    def _of_server(self, server: Tool) -> str:
        if count := self.tool_counts.get(server.key):
            return f"Search for a task to find its tools ({count}), and call them with `call_tool`."
        if server.failure is not None:
            failure = one_line(server.failure, _LONGEST_FAILURE)
            return f"Its tools cannot be listed: {failure}. Only a person can fix that."
        if server.listed_at is not None:
            return "None of its tools is available here."
        return "Its tools are not known yet: search again in a moment."

    def _of_plugin(self, plugin: Tool) -> str:
        parts = self.parts.get(plugin.plugin or plugin.name.partition("@")[0], ())
        named = ", ".join(f"`{one_line(each, _LONGEST_NAME)}`" for each in parts[:_MOST_NAMED])
        more = f" and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
        return f"Use its parts: {named}{more}." if named else "A plugin is not invoked itself."

    def _started(self, tool: Tool, name: str) -> str:
        builtin, parameter = _STARTERS[tool.kind]
        starter = builtin_tool(builtin, self.client)
        if starter is not None and starter.key in self.available:
            return f"Start it with your `{builtin}` tool: `{parameter}` is `{name.removeprefix('/')}`."
        if tool.kind is Kind.SUBAGENT:
            return "Start it the way your client starts subagents: Remit does not."
        return f"Only a person can invoke it here: ask the user to type `{_typed(name)}`."


def _typed(name: str) -> str:
    return name if name.startswith("/") else f"/{name}"
