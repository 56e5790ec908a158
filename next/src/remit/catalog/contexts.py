"""Makes the contexts in which tools are listed and decided about."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from remit.clients import CLIENTS, client_called
from remit.decision import (
    Agent,
    AgentProfile,
    Context,
    Face,
    Kind,
    LaunchFlags,
    Mode,
    Status,
    Tool,
    ToolDecision,
    check_servers,
    full_label,
    resolve_agent,
)
from remit.errors import NotFoundError
from remit.files import Machine, locate
from remit.store import storable
from remit.text import did_you_mean

DEFAULT_CLIENT = "claude-code"
ALL_CLIENTS = "all"


def make_context(
    directory: str,
    client: str | None,
    machine: Machine,
    face_of: Callable[[str], Face],
    *,
    is_headless: bool = False,
    mcp_configs: Sequence[str] = (),
    mode: str | None = None,
    run_context: object = None,
) -> Context:
    """Make the context of a client's main session; `face_of` tells who starts a client's servers.

    Raises:
        NotFoundError: the directory, the client or a file of servers does not exist.
        ValueError: the mode does not exist.
    """
    client = client_called(client or DEFAULT_CLIENT)
    known = (*CLIENTS, ALL_CLIENTS)
    if client not in known:
        names = ", ".join(f"`{name}`" for name in known)
        hint = did_you_mean(client, known) or f"expected one of {names}"
        raise NotFoundError(f"no client is called `{client}`", hint=hint)
    return Context(
        locate(directory),
        None if client == ALL_CLIENTS else client,
        LaunchFlags(is_headless, tuple(map(_existing, mcp_configs))),
        face=Face.CLIENT if client == ALL_CLIENTS else face_of(client),
        home=machine.home,
        mode=None if mode is None else Mode(mode),
        run_context=run_context,
    )


def _existing(file: str) -> str:
    path = os.path.realpath(file)
    if not os.path.isfile(path):
        raise NotFoundError(f"there is no file `{storable(file)}`", hint="name a file of servers")
    return path


def for_agent(
    context: Context, agent: str, parents: Sequence[str], listed: Sequence[ToolDecision]
) -> Context:
    """Return the context of a listed agent, below its parents, nearest first.

    Raises:
        NotFoundError: no agent has the name.
        PolicyError: a parent may not start its child, or a server that an agent lists does not exist.
    """
    profiles = {
        tool.name: tool.profile
        for tool, decision in listed
        if tool.profile is not None and decision.is_available
    }
    resolved = resolve_agent(agent, parents, profiles)
    tools = [tool for tool, _ in listed if context.client in (None, tool.client)]
    check_servers(resolved, sorted(_labels_of_servers(tools)))
    return context._replace(agent=resolved)


def as_agent(name: str, parents: Sequence[str] | None, tools: Iterable[Tool], context: Context) -> Context:
    """Return the context of an agent that a client names; an unknown agent has only a name.

    `parents` are the agents above it, nearest first; None if they are not known.
    """
    profiles = {tool.name: tool.profile for tool in tools if tool.kind is Kind.SUBAGENT and tool.profile}
    above: tuple[Agent, ...] = ()
    for parent in reversed(parents or ()):
        # The client gives each agent the tools that it lists itself, whatever its parent lists.
        profile = profiles.get(parent, AgentProfile())._replace(tools=None, denied_tools=())
        above = (Agent(parent, profile, above, is_from_main=True), *above)
    profile = profiles.get(name, AgentProfile())
    return context._replace(agent=Agent(name, profile, above, is_from_main=parents is not None))


def _labels_of_servers(tools: Iterable[Tool]) -> Iterator[str]:
    for tool in tools:
        is_known = tool.kind is Kind.MCP_SERVER and tool.agent is None and tool.status is not Status.STALE
        if is_known and tool.server is not None:
            yield full_label(tool.server, tool.plugin)
