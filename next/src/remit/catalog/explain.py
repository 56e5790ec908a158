"""Explains why a name is available in a workspace, or is not."""

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import (
    BUILTINS,
    REMIT,
    UNKNOWN,
    Context,
    Decision,
    Gate,
    Kind,
    PermissionRule,
    Project,
    Status,
    Tool,
    ToolDecision,
    builtin_tool,
    closest_to_being_visible,
    decide,
    explain,
    find,
    holds_text,
    is_covered,
    server_name,
    shorten,
    spellings,
    suggest,
    trust_command,
    with_bare_name,
    without_text,
)
from remit.store import Problem

if TYPE_CHECKING:
    from remit.clients import SettingsFacts

_GATEWAYS = (Status.ITSELF, Status.NESTED, Status.UNSERVED)
_NOT_CONNECTED = "not connected yet"


class UnaskedServer(NamedTuple):
    """A server whose tools are not known, the reason, and what a person can do about it."""

    server: Tool
    label: str
    reason: str
    step: str | None

    @property
    def can_be_asked(self) -> bool:
        """Whether only a connection is missing."""
        return self.reason == _NOT_CONNECTED


class Elsewhere(NamedTuple):
    """What a person is told of a name besides the decision; an agent reads nothing of it."""

    projects: Sequence[Project] = ()  # others that declare it
    ignored: Sequence[tuple[str, str]] = ()  # files that declare it in vain, each with the file that counts
    agents: Sequence[
        tuple[str, str]
    ] = ()  # that list it as a server although no file declares it; their files
    unreadable: Sequence[Problem] = ()  # files that cannot be read, which may declare it

    def __bool__(self) -> bool:
        return any(self)


class Explanation(NamedTuple):
    """Why a name is available here, or is not."""

    name: str
    tool: Tool | None  # None: the name is unknown here
    decision: Decision
    gates: Sequence[Decision] = ()  # what each gate says, those after the deciding one included
    shadowed: Sequence[ToolDecision] = ()  # other declarations of the name
    tools: Sequence[Tool] = ()  # of a server: its known tools
    suggestions: Sequence[str] = ()  # similar known names, if the name is unknown
    full_names: Sequence[str] = ()  # of the tools that their servers call by this name, if it is unknown
    unasked: Sequence[UnaskedServer] = ()  # that may have it, if it is unknown or assumed
    is_assumed: bool = False  # judged by its server's row, which does not tell whether it has such a tool
    asking: PermissionRule | None = (
        None  # the client's rule that asks before each call, although it is visible
    )
    elsewhere: Elsewhere = Elsewhere()

    @property
    def declared(self) -> Sequence[Tool]:
        """The tool and the others of its name."""
        return [*filter(None, (self.tool,)), *(item.tool for item in self.shadowed)]


def explain_name(name: str, listed: Sequence[ToolDecision], context: Context) -> Explanation:
    """Explain a name among the tools listed in a context, which must have a snapshot."""
    matching = find(name, listed)
    if not matching and (builtin := builtin_tool(name, context.client or "")) is not None:
        return Explanation(name, builtin, decide(builtin, context), explain(builtin, context))
    if not matching:
        return _unknown(name, [item for item in listed if _is_of_client(item, context)], context.client)
    assumed = [_assumed(name, item, context) for item in matching]
    # Which other clients' files were ever read must not change the answer for this client.
    assumed.sort(key=lambda item: (not _is_of_client(item, context), closest_to_being_visible(item)))
    (tool, decision), *others = assumed
    is_assumed = not any(item.tool is tool for item in matching)
    permissions = context.permissions.get(tool.client)
    return Explanation(
        tool.name,
        tool,
        decision,
        explain(tool, context),
        others,
        tools=[item.tool for item in listed if _is_tool_of(item.tool, tool)],
        is_assumed=is_assumed,
        unasked=_unasked([item for item in matching if item.tool.source == tool.source])
        if is_assumed
        else (),
        asking=None if permissions is None or not decision.is_available else permissions.asking(tool),
    )


def for_model(explanation: Explanation) -> Explanation:
    """Return an explanation without the texts of held definitions and what only a person is told."""
    tool = explanation.tool
    return explanation._replace(
        tool=_readable(tool) if tool is not None else None,
        shadowed=[item._replace(tool=_readable(item.tool)) for item in explanation.shadowed],
        tools=[_readable(item) for item in explanation.tools],
        elsewhere=Elsewhere(),
    )


def elsewhere(
    name: str,
    projects: Sequence[Project],
    settings: "Iterable[SettingsFacts]",
    problems: Sequence[Problem],
    context: Context,
) -> Elsewhere:
    """Collect where else a name is declared, and which files and entries were left out."""
    forms = spellings(name)

    def means(label: str) -> bool:
        return label == name or any(is_covered(form, server_name(label)) for form in (*forms, name))

    facts = list(settings)
    ignored = [
        (shorten(source, context), shorten(instead, context))
        for item in facts
        for server, _, source, instead in item.ignored
        if means(server)
    ]
    agents = [
        (item.agent, shorten(item.source, context))
        for fact in facts
        for item in fact.missing
        if means(item.server)
    ]
    # A place with dots is a path of keys to one entry; any other problem is about a whole file.
    entries = [problem.place.rpartition(".") for problem in problems]
    unreadable = [
        problem
        for problem, (keys, _, label) in zip(problems, entries, strict=True)
        if (means(label) if keys else True)
    ]
    return Elsewhere(projects, ignored, agents, unreadable)


def _readable(tool: Tool) -> Tool:
    return without_text(tool) if holds_text(tool) else tool


def _assumed(name: str, item: ToolDecision, context: Context) -> ToolDecision:
    """Decide about an unlisted tool of a known server by the tool's own name."""
    server = item.tool
    if server.kind is not Kind.MCP_SERVER or name == server.server:
        return item
    form = next((form for form in spellings(name) if is_covered(form, server.name)), server.name)
    if form == server.name:
        return item
    tool = unlisted_tool(server, form)
    return ToolDecision(tool, decide(tool, context))


def unlisted_tool(server: Tool, name: str) -> Tool:
    """Return the row of a tool that its server did not list, by the row of the server."""
    return server._replace(name=name, kind=Kind.MCP_TOOL, description=None, tokens=None, uses=0, outcomes="")


def _is_of_client(item: ToolDecision, context: Context) -> bool:
    return context.client in (None, item.tool.client)


def _unknown(name: str, listed: Sequence[ToolDecision], client: str | None) -> Explanation:
    return Explanation(
        name,
        None,
        UNKNOWN,
        [UNKNOWN],
        suggestions=suggest(name, listed, BUILTINS.get(client or "", ())),
        full_names=with_bare_name(name, listed),
        unasked=_unasked(listed),
    )


def _unasked(listed: Iterable[ToolDecision]) -> list[UnaskedServer]:
    """List the servers whose tools are not known; a shadowed one never lists any."""
    return [
        _why_unasked(item)
        for item in listed
        if item.tool.kind is Kind.MCP_SERVER
        and item.tool.listed_at is None
        and item.tool.status not in (Status.STALE, *_GATEWAYS)
        and item.tool.source != REMIT
        and item.decision.gate is not Gate.PRECEDENCE
    ]


def _why_unasked(item: ToolDecision) -> UnaskedServer:
    server, decision = item
    label = server.server or server.name
    if not decision.is_available:
        return UnaskedServer(server, label, decision.reason, decision.unlock)
    if server.is_trusted is False:
        return UnaskedServer(server, label, "not trusted", f"run `{trust_command(label)}`")
    again = f"run `remit tools {shlex.quote(label)} --refresh`"
    return UnaskedServer(server, label, server.failure or _NOT_CONNECTED, again)


def _is_tool_of(tool: Tool, server: Tool) -> bool:
    is_its = server.kind is Kind.MCP_SERVER and is_covered(tool.name, server.name)
    return (
        is_its
        and tool.kind is Kind.MCP_TOOL
        and tool.key[:-1] == (*server.key[:1], tool.kind, *server.key[2:-1])
    )
