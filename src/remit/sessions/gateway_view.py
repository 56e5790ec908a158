"""A client's view of the gateway: the tools it lists, and the names that a model calls."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.decision.context import Context
from remit.decision.decide import ToolDecision, decide, offered_alone
from remit.decision.declarations import Key
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.tools import Definition, Tool
from remit.presentation.listing_strategies import Presentation, Uses, present, visible_tools
from remit.presentation.served_names import ServedNames, name_tools
from remit.presentation.serving_plan import ServingPlan


class GatewayView(NamedTuple):
    """The tools that the gateway serves to one client."""

    presentation: Presentation
    names: ServedNames[Key]
    prefix: str | None  # the client's prefix of served names; None: it does not start the gateway

    @property
    def can_discover(self) -> bool:
        """Whether a model has `discover_tools`."""
        return self.prefix is not None and self.presentation.can_discover

    def name_of(self, tool: Tool) -> str:
        """Return the name that a model uses to call a tool."""
        name = self.names.get(tool.key)
        return tool.name if name is None or self.prefix is None else self.prefix + name


def gateway_view(
    listed: Sequence[ToolDecision],
    context: Context,
    plan: ServingPlan,
    uses: Uses,
    definitions: Mapping[Key, Definition],
) -> GatewayView:
    """Return the view of a client; definitions matter only for servers without a prefix."""
    gateway = _gateway(listed, context)
    serving = plan.serving_context(context)
    tools = [item.tool for item in listed if item.tool.kind is Kind.MCP_TOOL and item.tool.agent is None]
    decided = [ToolDecision(tool, decide(tool, serving)) for tool in tools]
    names = name_tools((tool for tool, decision in decided if not decision.frees_name), definitions, plan)
    # A tool without a known cost was only observed in use: its server did not list it.
    items = {
        tool.key: {"name": names.of(tool.key)}
        for tool, decision in decided
        if not decision.frees_name and tool.tokens is not None
    }
    visible = visible_tools(decided, items, uses, serving.requirements)
    # The name of a plugin's server includes the plugin.
    prefix = None if gateway is None else gateway.name.removesuffix("*")
    return GatewayView(present(visible, plan), names, prefix)


def direct_tools(listed: Sequence[ToolDecision], context: Context) -> list[Tool]:
    """List the tools that the client would have without Remit and its rules."""
    return [tool for tool, _ in offered_alone(listed, context) if tool.kind is Kind.MCP_TOOL]


def _gateway(listed: Sequence[ToolDecision], context: Context) -> Tool | None:
    """Find Remit's own row, as the client would start it."""
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
