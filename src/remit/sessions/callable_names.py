"""What a model can call a tool: by its own name, or by that under which Remit serves it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from remit.catalog.costs import is_held_back
from remit.configuration.file_parser import OWN_TOOLS
from remit.decision.context import Context
from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.tool_names import MCP, server_name
from remit.decision.tools import Tool
from remit.presentation.own_tools import OwnTool
from remit.presentation.plan import AUTO, SEARCH, ServingPlan
from remit.presentation.served_names import NameClaim, ServedNames


def is_served(listed: Sequence[ToolDecision], context: Context) -> bool:
    """Tell whether the client starts Remit itself as a server here."""
    return _gateway(listed, context) is not None


def can_discover(listed: Sequence[ToolDecision], context: Context, plan: ServingPlan) -> bool:
    """Tell whether a model has `discover_tools`, which is listed only where not all tools are."""
    if not is_served(listed, context) or OwnTool.DISCOVER not in plan.own_tools:
        return False
    visible = [item.tool for item in listed if item.tool.kind is Kind.MCP_TOOL and item.decision.is_available]
    return plan.strategy == SEARCH or (plan.strategy == AUTO and _cost(visible) > plan.token_budget)


def sends_a_part(listed: Sequence[ToolDecision], context: Context, plan: ServingPlan) -> bool:
    """Tell whether Remit serves a client all its tools, and sends only some of them: the rest are found."""
    if not context.starts_servers:
        return False
    visible = [item.tool for item in listed if item.tool.kind is Kind.MCP_TOOL and item.decision.is_available]
    at_hand = [tool for tool in visible if plan.lists_memory or not is_held_back(tool)]
    return plan.strategy == SEARCH or (plan.strategy == AUTO and _cost(at_hand) > plan.token_budget)


def called_by(listed: Sequence[ToolDecision], context: Context, plan: ServingPlan) -> Callable[[Tool], str]:
    """Make the function that says what a model calls a tool."""
    gateway = _gateway(listed, context)
    if gateway is None:
        return lambda tool: tool.name
    before = gateway.name.removesuffix("*")  # a plugin's server has the plugin's name in it
    as_gateway = replace(context, starts_servers=True)
    tools = [item.tool for item in listed if item.tool.kind is Kind.MCP_TOOL and item.tool.agent is None]
    served = [tool for tool in tools if not decide(tool, as_gateway).frees_name]
    names = ServedNames((NameClaim(tool.key, _wished(tool, plan), tool.name) for tool in served), OWN_TOOLS)

    def called(tool: Tool) -> str:
        name = names.get(tool.key)
        return tool.name if name is None else before + name

    return called


def _cost(tools: Sequence[Tool]) -> int:
    return sum(tool.tokens or 0 for tool in tools)


def _gateway(listed: Sequence[ToolDecision], context: Context) -> Tool | None:
    """Find the row of Remit itself, as the client would start it."""
    return next(
        (
            item.tool
            for item in listed
            if item.tool.config_status is ConfigStatus.ITSELF
            and item.tool.client == context.client
            and item.tool.shadowed_by is None
        ),
        None,
    )


def _wished(tool: Tool, plan: ServingPlan) -> str:
    is_prefixed = plan.run(tool.server or "", tool.plugin).prefix is not False
    before = MCP if is_prefixed else server_name(tool.server or "", tool.plugin)[:-1]
    return tool.name.removeprefix(before)
