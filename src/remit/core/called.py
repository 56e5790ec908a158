"""What a model can call a tool: by itself, or through Remit where the client has Remit and not the server."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from remit.core.decide import Context, Listed, decide
from remit.core.kinds import ConfigStatus, Kind
from remit.core.names import MCP, OWN
from remit.core.tools import Tool


def is_served(listed: Iterable[Listed], context: Context) -> bool:
    """Tell whether the client starts Remit itself as a server here."""
    return any(
        item.tool.config_status is ConfigStatus.ITSELF
        and item.tool.client == context.client
        and item.tool.shadowed_by is None
        for item in listed
    )


def called_by(listed: Iterable[Listed], context: Context) -> Callable[[Tool], str]:
    """Make the function that says what a model calls a tool."""
    if not is_served(listed, context):
        return lambda tool: tool.name
    as_gateway = replace(context, starts_servers=True)

    def called(tool: Tool) -> str:
        is_through = tool.kind is Kind.MCP_TOOL and decide(tool, as_gateway).visible
        return OWN + tool.name.removeprefix(MCP) if is_through else tool.name

    return called
