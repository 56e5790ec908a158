"""Tools: what is visible and hidden here, by server, with cost, uses, and why each one is hidden."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from remit.catalog import ALL_CLIENTS, ListedGroup
from remit.cli import CAUSES, KIND_WORDS, answers, cost_lines
from remit.decision import Kind, ToolDecision, shorten
from remit.web.listing import Listing, Source
from remit.web.page import Answer, Paged, Request, Values, paged

ROWS = 150  # tools on a page
SHOWN = {"": "everything", "available": "available", "hidden": "hidden"}
_MODES = ("plan", "default", "bypass")


class ShownGroup(NamedTuple):
    """A server, or the tools of another kind, with those of its tools that a page shows."""

    group: ListedGroup
    title: str
    origin: str
    rows: Sequence[ToolDecision]

    def name(self, item: ToolDecision) -> str:
        """Return the name of a tool, without what its group says."""
        head = "" if self.group.server is None else self.group.server.tool.name.removesuffix("*")
        return item.tool.name.removeprefix(head) or item.tool.name


def read(source: Source, request: Request) -> Answer:
    """List the tools as `remit tools --all` does."""
    listing = source.listing(request.here)

    def values() -> Values:
        matches = _filter(listing, request)
        page = paged([row for row in listing.rows if matches(row[1])], request.number("page"), ROWS)
        clients = {item.tool.client for item in listing.known} | {listing.context.client or ALL_CLIENTS}
        main = source.listing(request.here._replace(agent=None)) if request.here.agent else listing
        return {
            "listing": listing,
            "asking": sum(item.decision.verdict == "ask" for item in listing.known),
            "cost_lines": [str(line).strip() for line in cost_lines(listing.overview.cost, listing.context)],
            "states": answers.truths(listing.context),
            "groups": list(_grouped(page, listing)),
            "page": page,
            "clients": [*sorted(clients - {ALL_CLIENTS}), ALL_CLIENTS],
            "client": listing.context.client or ALL_CLIENTS,
            "agents": main.agents,
            "modes": _MODES,
            "shown": SHOWN,
            "cause": CAUSES.get(request.params.get("cause", ""), request.params.get("cause", "")),
        }

    def shape() -> answers.Shape:
        items = list(filter(_filter(listing, request), listing.known))
        context = listing.context._replace(snapshot=source.registry.states.snapshot(listing.context))
        return answers.tools(items, listing.known, context)

    return Answer("tools.html", shape, values, part="part")


def _filter(listing: Listing, request: Request) -> Callable[[ToolDecision], bool]:
    """Make the function that selects what to show."""
    show, cause = request.params.get("show", ""), request.params.get("cause", "")
    words = request.params.get("q", "").lower().split()

    def matches(item: ToolDecision) -> bool:
        if show in ("available", "hidden") and item.decision.is_available != (show == "available"):
            return False
        if cause and listing.causes.get(item.tool.key) != cause:
            return False
        return not words or all(word in listing.texts[id(item.tool)] for word in words)

    return matches


def _grouped(page: Paged[tuple[ListedGroup, ToolDecision]], listing: Listing) -> Iterator[ShownGroup]:
    rows: dict[int, tuple[ListedGroup, list[ToolDecision]]] = {}
    for group, item in page.items:
        rows.setdefault(id(group), (group, []))[1].append(item)
    for group, items in rows.values():
        kind = group.first.kind
        is_server = kind in (Kind.MCP_SERVER, Kind.MCP_TOOL)
        title = group.label if is_server else f"{KIND_WORDS[kind]}s".capitalize()
        title = f"{group.client}: {title}" if listing.context.client is None else title
        yield ShownGroup(
            group, title, shorten(group.first.source, listing.context) if is_server else "", items
        )
