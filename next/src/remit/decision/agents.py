"""Decides which servers an agent has, and which tools its lists allow.

An agent that lists servers has only those. An agent that lists none inherits the project's servers, unless
it opts out, and its parent's servers if it asks for them. A child never exceeds the tool lists of the agents
above it, but it may list servers that its parent did not load.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.decision.names import MCP, is_covered
from remit.decision.scopes import Kind
from remit.errors import NotFoundError, PolicyError

MAX_DEPTH = 3  # levels of agents below the main session

# The tools through which a model uses skills, commands and subagents.
_THROUGH: dict[Kind, frozenset[str]] = {
    Kind.SKILL: frozenset({"Skill"}),
    Kind.SLASH_COMMAND: frozenset({"Skill", "SlashCommand"}),
    Kind.SUBAGENT: frozenset({"Agent", "Task"}),
}


class AgentProfile(NamedTuple):
    """The servers and tools that an agent's definition lists."""

    servers: tuple[str, ...] | None = None  # None: no list; empty: no servers
    own_servers: tuple[str, ...] = ()  # servers that its own definition declares
    inherits_project: bool = True
    inherits_parent: bool = False
    tools: tuple[str, ...] | None = None  # None: all
    denied_tools: tuple[str, ...] = ()
    allowed_agents: tuple[str, ...] | None = None  # None: all


class Agent(NamedTuple):
    """A running agent: its name and profile, and its parents, nearest first."""

    name: str
    profile: AgentProfile
    parents: tuple["Agent", ...] = ()
    is_from_main: bool = False  # the main session started it; without this and parents, nobody knows who did

    @property
    def lacks_parent(self) -> bool:
        """Whether it inherits from a parent that is not known."""
        return self.profile.inherits_parent and not self.parents and not self.is_from_main


def resolve_agent(name: str, parents: Sequence[str], profiles: Mapping[str, AgentProfile]) -> Agent:
    """Build an agent below its parents, nearest first.

    Raises:
        NotFoundError: a name is unknown.
        PolicyError: a parent may not start its child, or the chain is too deep.
    """
    chain = [_find(link, profiles) for link in (name, *parents)]
    if len(chain) > MAX_DEPTH:
        raise PolicyError(
            f"`{name}` would be nested {len(chain)} deep; at most {MAX_DEPTH} are allowed",
            hint="start it from an agent closer to the main session",
        )
    *above, top = chain
    employed = Agent(name=top, profile=profiles[top])
    for child in reversed(above):
        _check_leave(employed, child)
        employed = Agent(name=child, profile=profiles[child], parents=(employed, *employed.parents))
    return employed


def _find(name: str, profiles: Mapping[str, AgentProfile]) -> str:
    """Find an agent by name; ignores case if only one agent matches."""
    if name in profiles:
        return name
    alike = [known for known in profiles if known.casefold() == name.casefold()]
    if len(alike) != 1:
        raise NotFoundError(f"no agent is called `{name}`", hint=_known("agents here", profiles))
    return alike[0]


def _check_leave(parent: Agent, child: str) -> None:
    allowed = parent.profile.allowed_agents
    if allowed is not None and child not in allowed:
        may = ", ".join(f"`{child}`" for child in allowed) or "none"
        raise PolicyError(
            f"agent `{parent.name}` may not start `{child}`", hint=f"its `allowedAgents` are: {may}"
        )


def check_servers(agent: Agent, known: Sequence[str]) -> None:
    """Check that every server listed by an agent or its parents exists.

    Raises:
        PolicyError: a listed server does not exist.
    """
    for member in (agent, *agent.parents):
        for server in member.profile.servers or ():
            if server not in known and server not in member.profile.own_servers:
                raise PolicyError(
                    f"agent `{member.name}` lists the server `{server}`, which does not exist here",
                    hint=_known("servers here", known),
                )


def _known(what: str, names: Sequence[str] | Mapping[str, object]) -> str:
    return f"the {what} are: {', '.join(f'`{name}`' for name in sorted(set(names))) or 'none'}"


def server_refusal(agent: Agent, labels: Sequence[str], *, owner: str | None) -> str | None:
    """Return why an agent cannot use a server; `owner` is the agent that declares the server."""
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
        return None if refusal is None else f"{name} inherits from its parent, and {refusal}"
    if agent.lacks_parent:
        return f"{name} inherits its parent's servers, and its parent is not known here"
    if profile.inherits_parent and owner is None:
        return None  # the main session has all of them
    return (
        f"{name} does not inherit the project's servers" if owner is None else f"it is agent `{owner}`'s own"
    )


def tool_refusal(agent: Agent, name: str, kind: Kind) -> str | None:
    """Return why the tool lists of an agent or its parents exclude a tool."""
    startable = agent.profile.allowed_agents
    if kind is Kind.SUBAGENT and startable is not None and name not in startable:
        return f"agent `{agent.name}` may not start it"
    for member in (agent, *agent.parents):
        profile = member.profile
        if any(_means_all_of(entry, name) for entry in profile.denied_tools if "(" not in entry):
            return f"agent `{member.name}` is denied it"
        if profile.tools is not None and not _is_admitted(profile.tools, name, kind):
            return f"it is not among the tools of agent `{member.name}`"
    return None


def _is_admitted(entries: Sequence[str], name: str, kind: Kind) -> bool:
    if "*" in entries or kind is Kind.PLUGIN:
        return True
    if kind in _THROUGH:
        return any(_base(entry) in _THROUGH[kind] for entry in entries)
    if kind is Kind.MCP_SERVER:  # a server is available if any of its tools may be
        return any(_means_all_of(entry, name) or is_covered(entry, name) for entry in entries)
    return any(_means_all_of(entry, name) for entry in entries)


def _means_all_of(entry: str, name: str) -> bool:
    """Match a list entry: a tool (with an optional argument pattern), a server such as `mcp__git`, or `*`."""
    base = _base(entry)
    if base in (name, "*"):
        return True
    server = f"{base.removesuffix('__*')}__*"
    return base.startswith(MCP) and (name == server or is_covered(name, server))


def _base(entry: str) -> str:
    return entry.partition("(")[0].strip()
