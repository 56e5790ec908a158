"""The agent that makes a call: its definition, its parents, and those it may have if nobody knows."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from remit.decision.agents import Agent, AgentProfile, tool_refusal
from remit.decision.client_reports import ClientCall
from remit.decision.context import Context
from remit.decision.kinds import Kind
from remit.decision.tools import Tool

_GENERAL = "general-purpose"  # the client's own agent that may start others; no file declares it


def agent_context(
    name: str | None, tools: Iterable[Tool], context: Context, parents: Sequence[str] | None = None
) -> Context:
    """Return the context of an agent; an unknown agent has only a name.

    `parents` are the agents above it, nearest first; None if they are not known.
    """
    if name is None:
        return context
    profiles = {tool.name: tool.profile for tool in tools if tool.kind is Kind.SUBAGENT and tool.profile}
    above: tuple[Agent, ...] = ()
    is_from_main = parents is not None
    for each in reversed(parents or ()):
        # The client gives each agent the tools that it lists itself, whatever its parent lists.
        profile = replace(profiles.get(each, AgentProfile()), tools=None, denied_tools=())
        above = (Agent(name=each, profile=profile, parents=above, is_from_main=is_from_main), *above)
    profile = profiles.get(name, AgentProfile())
    agent = Agent(name=name, profile=profile, parents=above, is_from_main=is_from_main)
    return replace(context, agent=agent)


def possible_callers(call: ClientCall, tools: Sequence[Tool], context: Context) -> list[Context]:
    """Return the context of the caller, and if nobody knows its parent, one below each possible parent."""
    known = _as_caller(call, tools, context)
    if not call.is_orphan:
        return [known]
    declared = [tool.name for tool in tools if tool.kind is Kind.SUBAGENT]
    filtered = () if context.filters is None else (_GENERAL, *declared)  # a filter may look at any parent
    parents = dict.fromkeys((*context.policy.agents, *filtered))
    return [known, *(_as_caller(call._replace(parents=(each,)), tools, context) for each in parents)]


def _as_caller(call: ClientCall, tools: Sequence[Tool], context: Context) -> Context:
    """Return the context of the caller."""
    context = agent_context(call.agent, tools, context, call.parents)
    if call.is_own and context.agent is not None and context.agent.profile.tools is not None:
        # If an agent's list contains the gateway's name of a tool, it does not restrict the tool itself.
        agent, profile = context.agent, context.agent.profile
        listed = replace(agent, profile=AgentProfile(tools=profile.tools))
        if tool_refusal(listed, call.name, Kind.MCP_TOOL) is None:
            return replace(context, agent=replace(agent, profile=replace(profile, tools=None)))
    return context
