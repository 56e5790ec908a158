"""Cost: the tokens of each request by server and tool, used and never used, before and after Remit."""

from __future__ import annotations

from remit.cli.output.json_output import Shape
from remit.cli.switch_commands import pruning_shape
from remit.cli.usage_command import usage_shape
from remit.usage.reports import server_costs
from remit.web.page_model import PageAnswer, PageRequest, PageSources, Values, paged

SERVERS = 30  # on a page
TOOLS = 15  # of a server; the rest is summed up


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """Sum up the costs, as `remit usage` and `remit prune` do."""
    registry, listing = sources.registry, sources.listings.read(asked.options)
    context = listing.context
    report, proposals = registry.usage.report(context), registry.usage.proposals(context)
    request = registry.sessions.request_cost(context)

    def values() -> Values:
        costs = server_costs((*listing.grouped.servers, *listing.grouped.kinds), report)
        return {
            "summary": listing.summary,
            "request": request,
            "searches": request.names is not None,
            "used": sum(each.used for each in costs),
            "unused": sum(each.unused for each in costs),
            "most": max((each.total for each in costs), default=0),
            "page": paged(costs, asked.number("page"), SERVERS),
            "most_tools": TOOLS,
            "proposals": proposals,
            "saved": sum(each.tokens or 0 for each in proposals),
        }

    def shape() -> Shape:
        return {**usage_shape(report, request, context), "prune": pruning_shape(proposals, context)}

    return PageAnswer("cost.html", shape, values, fragment="cost_answer.html")
