"""Agents: which servers one has, and which tools its lists admit.

An agent that lists servers has those and no others. One that lists none has the project's, unless it says
not to inherit them, and its parent's too where it asks for them. No child exceeds the lists of tools of those
above it, though it may name servers that its parent did not load.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remit.decision.kinds import Kind
from remit.decision.tool_names import MCP, is_covered
from remit.errors import AgentError

MAX_DEPTH = 3  # agents below the main session

# Tools with which a model reaches what is no tool of its own.
_THROUGH: dict[Kind, frozenset[str]] = {
    Kind.SKILL: frozenset({"Skill"}),
    Kind.SLASH_COMMAND: frozenset({"Skill", "SlashCommand"}),
    Kind.SUBAGENT: frozenset({"Agent", "Task"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """What an agent's definition says about its tools."""

    servers: tuple[str, ...] | None = None  # None: it lists none; empty: it wants none
    own_servers: tuple[str, ...] = ()  # of these, the ones whose entry it brings along
    inherits_project: bool = True
    inherits_parent: bool = False
    tools: tuple[str, ...] | None = None  # None: all
    denied_tools: tuple[str, ...] = ()
    allowed_agents: tuple[str, ...] | None = None  # None: all


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent at work: its name and profile, and those above it, the nearest first."""

    name: str
    profile: AgentProfile
    parents: tuple["Agent", ...] = ()


def resolve_agent(name: str, parents: Sequence[str], profiles: Mapping[str, AgentProfile]) -> Agent:
    """Put an agent to work below its parents, the nearest first.

    Raises:
        AgentError: a name is unknown, a parent may not start its child, or they are too many.
    """
    chain = [_find(each, profiles) for each in (name, *parents)]
    if len(chain) > MAX_DEPTH:
        raise AgentError(
            f"`{name}` would be {len(chain)} agents deep, and {MAX_DEPTH} are the most",
            hint="start it from an agent that is nearer to the main session",
        )
    *above, top = chain
    employed = Agent(name=top, profile=profiles[top])
    for each in reversed(above):
        _check_leave(employed, each)
        parents_of_it = (employed, *employed.parents)
        employed = Agent(name=each, profile=profiles[each], parents=parents_of_it)
    return employed


def _find(name: str, profiles: Mapping[str, AgentProfile]) -> str:
    """Find an agent by its name, in whatever case where only one can be meant."""
    if name in profiles:
        return name
    alike = [each for each in profiles if each.casefold() == name.casefold()]
    if len(alike) != 1:
        raise AgentError(f"no agent is called `{name}`", hint=_known("agents here", profiles))
    return alike[0]


def _check_leave(parent: Agent, child: str) -> None:
    allowed = parent.profile.allowed_agents
    if allowed is not None and child not in allowed:
        may = ", ".join(f"`{each}`" for each in allowed) or "none"
        raise AgentError(
            f"agent `{parent.name}` may not start `{child}`", hint=f"its `allowedAgents` are: {may}"
        )


def check_servers(agent: Agent, known: Sequence[str]) -> None:
    """Check that every server that an agent or one above it lists exists.

    Raises:
        AgentError: one does not.
    """
    for each in (agent, *agent.parents):
        for server in each.profile.servers or ():
            if server not in known and server not in each.profile.own_servers:
                raise AgentError(
                    f"agent `{each.name}` lists the server `{server}`, which does not exist here",
                    hint=_known("servers here", known),
                )


def _known(what: str, names: Sequence[str] | Mapping[str, object]) -> str:
    return f"the {what} are: {', '.join(f'`{name}`' for name in sorted(set(names))) or 'none'}"


def server_refusal(agent: Agent, labels: Sequence[str], *, owner: str | None) -> str | None:
    """Tell why an agent does not have a server, known by its labels and the agent that brings it along."""
    name, profile = f"agent `{agent.name}`", agent.profile
    if owner == agent.name:
        return None
    if profile.servers is not None:
        if owner is not None or not any(label in profile.servers for label in labels):
            listed = ", ".join(f"`{server}`" for server in profile.servers) or "none"
            return f"{name} has only the servers it lists: {listed}"
        is_replaced = any(label in profile.own_servers for label in labels)
        return f"{name} brings its own server of this name" if is_replaced else None
    if owner is None and profile.inherits_project:
        return None
    if profile.inherits_parent and agent.parents:
        refusal = server_refusal(agent.parents[0], labels, owner=owner)
        return None if refusal is None else f"{name} has what its parent has, and {refusal}"
    return (
        f"{name} does not inherit the project's servers" if owner is None else f"it is agent `{owner}`'s own"
    )


def tool_refusal(agent: Agent, name: str, kind: Kind) -> str | None:
    """Tell why the lists of an agent, or of one above it, exclude a tool."""
    startable = agent.profile.allowed_agents
    if kind is Kind.SUBAGENT and startable is not None and name not in startable:
        return f"agent `{agent.name}` may not start it"
    for each in (agent, *agent.parents):
        profile = each.profile
        if any(_means_all_of(entry, name) for entry in profile.denied_tools if "(" not in entry):
            return f"agent `{each.name}` is denied it"
        if profile.tools is not None and not _is_admitted(profile.tools, name, kind):
            return f"it is not among the tools of agent `{each.name}`"
    return None


def _is_admitted(entries: Sequence[str], name: str, kind: Kind) -> bool:
    if "*" in entries or kind is Kind.PLUGIN:
        return True
    if kind in _THROUGH:
        return any(_base(entry) in _THROUGH[kind] for entry in entries)
    if kind is Kind.MCP_SERVER:  # a server is there as soon as one of its tools may be
        return any(_means_all_of(entry, name) or is_covered(entry, name) for entry in entries)
    return any(_means_all_of(entry, name) for entry in entries)


def _means_all_of(entry: str, name: str) -> bool:
    """An entry is a tool's name, perhaps with a pattern of arguments, a server's: `mcp__git`, or `*`."""
    base = _base(entry)
    if base in (name, "*"):
        return True
    server = f"{base.removesuffix('__*')}__*"
    return base.startswith(MCP) and (name == server or is_covered(name, server))


def _base(entry: str) -> str:
    return entry.partition("(")[0].strip()
