"""What a model is told of tools: why one is available or is not, and how it invokes what it finds.

The gateway serves the tools of MCP servers. Commands, skills, subagents and built-ins, and tools that an
agent reported, belong to the client: the gateway finds them, and never starts or calls them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from remit.catalog import DISCOVER_TOOLS, Registry, ToolGroup, is_for_model
from remit.decision import (
    CALL_TOOL,
    STARTERS,
    Authority,
    Context,
    Decision,
    Face,
    Gate,
    Kind,
    Status,
    Tool,
    ToolDecision,
    Verdict,
    builtin_tool,
    closest_to_being_visible,
    decide,
    explain,
    find,
    is_builtin,
    near_names,
    served_name,
    with_bare_name,
)
from remit.gateway.live_lists import Resolved
from remit.gateway.refusals import ASK_THE_USER, clean_reason, failure, next_step, reason_of, refusal
from remit.gateway.view import Published
from remit.protocol import Answer, Params
from remit.text import as_question, one_line

LONGEST_NAME = 1_000  # characters; every tool is compared with a name that is unknown
_LONGEST_SHOWN = 100
_MOST_NAMED = 5  # parts of a plugin
_NO_PARTS = (Kind.PLUGIN, Kind.MCP_TOOL)  # a plugin's tools belong to its servers
_SERVED = (Kind.MCP_SERVER, Kind.MCP_TOOL)
_PARAMETERS = {"Skill": "skill", "Agent": "subagent_type"}  # of the built-ins that start something
_KINDS = {
    Kind.MCP_SERVER: "an MCP server",
    Kind.MCP_TOOL: "not a tool of the gateway",
    Kind.SLASH_COMMAND: "a slash command",
    Kind.SKILL: "a skill",
    Kind.PLUGIN: "a plugin",
    Kind.SUBAGENT: "a subagent",
    Kind.BUILTIN: "a tool of your client",
}
_VERDICTS = {Verdict.VISIBLE: "is visible", Verdict.ASK: "asks", Verdict.HIDDEN: "is hidden"}
_HOW_TO_CALL = f"Call them with `{CALL_TOOL}`."


class BadArgumentsError(Exception):
    """A call of one of Remit's own tools has invalid arguments."""


def arguments_of(params: Params) -> Mapping[str, Any]:
    """Return the arguments of a call.

    Raises:
        BadArgumentsError: they are not an object.
    """
    arguments = params.get("arguments")
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise BadArgumentsError("`arguments` must be an object")
    return cast("Mapping[str, Any]", arguments)


def text_of(arguments: Mapping[str, Any], key: str, *, longest: int = LONGEST_NAME) -> str:
    """Return a string argument.

    Raises:
        BadArgumentsError: it is missing, blank, too long or not a string.
    """
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadArgumentsError(f"`{key}` must be a non-empty string")
    if len(value) > longest:
        raise BadArgumentsError(f"`{key}` is longer than {longest:,} characters")
    return value


def answer(text: str, content: Mapping[str, Any]) -> Answer:
    """Return an answer with text and structured content."""
    return {"content": [{"type": "text", "text": text}], "structuredContent": dict(content)}


def open_group(group: ToolGroup, published: Published) -> Answer:
    """Return the tools of a group with their schemas, so a model can call them right away."""
    tools = [published.item_of(entry) for entry in group.entries]
    lines = [f"- {tool['name']}: {one_line(tool.get('description') or '', 160)}" for tool in tools]
    text = "\n".join([f"{group.description}. {_HOW_TO_CALL}", *lines])
    return answer(text, {"how": _HOW_TO_CALL, "tools": tools})


class Findable(NamedTuple):
    """What this client's model may find, with the decision about each, and how it invokes it."""

    published: Published
    listed: Sequence[ToolDecision]
    starters: frozenset[str]  # built-ins that the client has

    def invocation(self, tool: Tool) -> str:
        """Return a line about how to invoke a tool, or who can."""
        name = one_line(tool.name, _LONGEST_SHOWN)
        if any(entry.tool.key == tool.key for entry in self.published.visible):
            is_listed = any(entry.tool.key == tool.key for entry in self.published.shown.entries)
            return "Call it directly: it is listed." if is_listed else f"Call it with `{CALL_TOOL}`."
        if tool.status is Status.MANUAL:
            return f"Only a person can invoke it: ask the user to type `{_typed(name)}`."
        if tool.kind is Kind.MCP_SERVER:
            return self._of_server(tool)
        if tool.kind is Kind.PLUGIN:
            return self._of_plugin(tool)
        if tool.kind in (Kind.SKILL, Kind.SLASH_COMMAND, Kind.SUBAGENT):
            return self._started(tool, name)
        if is_builtin(tool):
            return "Call it directly: it is built into your client."
        return f"Remit does not serve it: call `{name}` directly, if your client has it."

    def _of_server(self, server: Tool) -> str:
        owners = self.published.served.owners
        if count := sum(owners.get(entry.tool.key) == server.key for entry in self.published.visible):
            return f"Search for a task to find its tools ({count}), and call them with `{CALL_TOOL}`."
        if server.failure is not None:
            return f"Its tools cannot be listed: {one_line(server.failure, 200)}. Only a person can fix that."
        if server.listed_at is not None:
            return "None of its tools is available here."
        return "Its tools are not known yet: search again in a moment."

    def _of_plugin(self, plugin: Tool) -> str:
        label = plugin.plugin or plugin.name.partition("@")[0]
        parts = [
            one_line(tool.server or tool.name, _LONGEST_SHOWN)
            for tool, decision in self.listed
            if tool.plugin == label and tool.kind not in _NO_PARTS and decision.is_available
        ]
        named = ", ".join(f"`{part}`" for part in parts[:_MOST_NAMED])
        more = f" and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
        return f"Use its parts: {named}{more}." if named else "A plugin is not invoked itself."

    def _started(self, tool: Tool, name: str) -> str:
        for starter, kinds in STARTERS.items():
            if tool.kind in kinds and starter in self.starters and starter in _PARAMETERS:
                called = name.removeprefix("/")
                return f"Start it with your `{starter}` tool: `{_PARAMETERS[starter]}` is `{called}`."
        if tool.kind is Kind.SUBAGENT:
            return "Start it the way your client starts subagents: Remit does not."
        return f"Only a person can invoke it here: ask the user to type `{_typed(name)}`."


def findable(published: Published) -> Findable:
    """Select what this client's model may find: what the gateway serves, and what the client itself has."""
    catalog = published.served.catalog
    here = catalog.context._replace(face=Face.GUARDED)
    listed: list[ToolDecision] = []
    for item in published.listed:
        tool, decision = item
        is_echo = not tool.is_declared and served_name(tool.name) is not None  # the gateway's own tool
        if (
            tool.client != here.client
            or is_echo
            or not is_for_model(published.served.items.get(tool.key, {}))
        ):
            continue
        if _is_clients_own(tool):
            own = decide(_as_for_person(tool), here)
            listed.append(ToolDecision(tool, own if own.is_available else decision))
        else:
            listed.append(item)
    return Findable(published, listed, _starters(here))


class Advice(NamedTuple):
    """What to tell a model that called a name which the gateway does not serve."""

    problem: str
    text: str | None = None
    row: ToolDecision | None = None  # None: the name is unknown or ambiguous

    def answer(self, name: str) -> Answer:
        """Return it as the result of a call, which a model can act on."""
        if self.row is None:
            hint = self.text or f"search for it with `{DISCOVER_TOOLS}`"
            return failure(f"{self.problem}: {name}", hint)
        return refusal(name, self.row.decision) if self.text is None else failure(self.text)


def advise(published: Published, name: str, *, is_deferred: bool = False) -> Advice:
    """Tell a model how to invoke what the gateway does not serve, or which names it can use instead.

    `call_tool` itself is none of them for a deferred call, which came through it.
    """
    visible = {entry.name for entry in published.visible}
    if meanings := published.served.meanings(name):
        named = [f"`{served}` of `{server}`" for served, server in meanings if served in visible]
        return Advice("Ambiguous tool name", f"call {' or '.join(named)}" if named else None)
    found = findable(published)
    row = min(find(name, found.listed), key=closest_to_being_visible, default=None)
    if row is not None and row.decision.gate is not Gate.SCOPE:
        if not row.decision.is_available:
            return Advice("Unknown tool", row=row)
        label = row.tool.server if row.tool.kind is Kind.MCP_SERVER and row.tool.server else row.tool.name
        what = f"`{one_line(label, _LONGEST_SHOWN)}` is {_KINDS[row.tool.kind]}."
        return Advice("Unknown tool", f"{what} {found.invocation(row.tool)}", row)
    own = [tool.name for tool, decision in found.listed if decision.is_available and tool.kind not in _SERVED]
    usable = [*visible, *own, *published.groups, *published.shown.own]
    others = (other for other in usable if not (is_deferred and other == CALL_TOOL))
    near = [one_line(other, _LONGEST_SHOWN) for other in near_names(name, others)]
    return Advice("Unknown tool", as_question(near))


def why(resolved: Resolved, name: str, registry: Registry) -> Answer:
    """Explain why a tool is available, or is not."""
    published, target = resolved
    catalog = published.served.catalog
    snapshot = registry.snapshot(catalog)
    context = catalog.with_answers(snapshot)
    if target is not None and target.decision.gate is not Gate.SCOPE:
        visible = [(entry.name, entry.tool) for entry in published.visible]
        is_visible = target.decision.verdict is Verdict.VISIBLE
        step = None if is_visible else next_step(target.decision, visible)
        server = None if target.server is None else published.served.servers.get(target.server)
        failed = server.failure if is_visible and server is not None else None
        obstacle = failed and f"the last connection failed: {failed}"
        gates = explain(target.tool, context)
        return _told(target.name, target.decision, gates, ASK_THE_USER if obstacle else step, obstacle)
    advice = advise(published, name)
    if advice.row is None:
        here = [item for item in published.listed if item.decision.gate is not Gate.SCOPE]
        full = with_bare_name(name, (item for item in here if item.tool.client == context.client))
        if len(full) == 1:
            target = published.served.target(full[0], lambda tool: catalog.decide(tool, snapshot))
            return why(Resolved(published, target), full[0], registry)
        named = " or ".join(f"`{one_line(other, _LONGEST_SHOWN)}`" for other in full[:_MOST_NAMED])
        return failure(f"{advice.problem}: {name}", f"ask about {named}" if named else advice.text)
    tool, decision = advice.row
    if _is_clients_own(tool):
        tool, context = _as_for_person(tool), context._replace(face=Face.GUARDED)
    return _told(tool.name, decision, explain(tool, context), advice.text or next_step(decision))


def _told(
    name: str, decision: Decision, gates: Iterable[Decision], step: str | None, obstacle: str | None = None
) -> Answer:
    said = _tellable(gates)
    reason = reason_of(decision)
    lines = [f"`{clean_reason(name)}` {_VERDICTS[decision.verdict]}: {reason}"]
    lines += [clean_reason(obstacle)] if obstacle else []
    lines += [step] if step else []
    lines += [f"  {_verb(gate)} {gate.gate}: {reason_of(gate)}" for gate in said]
    content = {
        "tool": name,
        "verdict": decision.verdict,
        "gate": decision.gate,
        "reason": reason,
        "next_step": step,
        "obstacle": obstacle,
        "gates": [
            {"gate": gate.gate, "passed": gate.verdict is Verdict.VISIBLE, "reason": reason_of(gate)}
            for gate in said
        ],
    }
    return answer("\n".join(lines), content)


def _tellable(gates: Iterable[Decision]) -> Sequence[Decision]:
    """Leave out what follows an objection to a definition: a danger may quote its words."""
    said: list[Decision] = []
    for gate in gates:
        said.append(gate)
        if gate.gate is Gate.DEFINITION and gate.verdict is Verdict.HIDDEN:
            break
    return said


def _verb(gate: Decision) -> str:
    return {Verdict.VISIBLE: "passed", Verdict.ASK: "asks", Verdict.HIDDEN: "objects"}[gate.verdict]


def _is_clients_own(tool: Tool) -> bool:
    """Return whether a tool is decided as its client has it: only reported, or only a person invokes it."""
    is_reported = tool.authority is not Authority.CONFIG and tool.status is Status.SEEN
    return tool.status is Status.MANUAL or (is_reported and tool.kind in _SERVED)


def _as_for_person(tool: Tool) -> Tool:
    """Decide what only a person may invoke as if a model might, because a model can ask the user to."""
    return tool._replace(status=Status.ENABLED) if tool.status is Status.MANUAL else tool


def _starters(context: Context) -> frozenset[str]:
    tools = [tool for name in STARTERS if (tool := builtin_tool(name, context.client or "")) is not None]
    return frozenset(tool.name for tool in tools if decide(tool, context).is_available)


def _typed(name: str) -> str:
    return name if name.startswith("/") else f"/{name}"
