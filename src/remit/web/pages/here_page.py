"""Here: the tools of this directory, by server, with cost, uses, and the reason of each that is hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from remit.catalog.contexts import ALL_CLIENTS
from remit.catalog.listed_groups import ListedGroup
from remit.cli.output import json_output
from remit.cli.render import WORDS
from remit.configuration.builtin_states import STATES
from remit.configuration.config_model import Role
from remit.decision.context import shorten
from remit.decision.decide import ToolDecision
from remit.decision.kinds import Kind
from remit.decision.policy_rules import Mode
from remit.web.listing_cache import WorkspaceListing
from remit.web.page_model import PageAnswer, Paged, PageRequest, PageSources, Values, Viewer, paged

_BUILTIN = frozenset(state.name for state in STATES)
ROWS = 150  # tools on a page
SHOWN = {"": "everything", "available": "available", "hidden": "hidden"}


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


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """List the tools as `remit tools --all` does."""
    listing = sources.listings.read(asked.options)

    def values() -> Values:
        matches = _filter(listing, asked)
        found = [(group, item) for group, item in listing.rows if matches(item)]
        page = paged(found, asked.number("page"), ROWS)
        states = list(json_output.truths(listing.context).items())
        everyone = sources.listings.read(asked.options._replace(agent=None))
        return {
            "listing": listing,
            "summary": listing.summary,
            "asking": listing.asking,
            "states": [each for each in states if _matters(*each)],
            "other_states": [each for each in states if not _matters(*each)],
            "problems": listing.problems if _shows_problems(asked.viewer) else [],
            "groups": list(_grouped(page, listing)),
            "page": page,
            "clients": [*sorted(_clients(everyone, asked)), ALL_CLIENTS],
            "agents": sorted({*everyone.agents, *filter(None, (asked.options.agent,))}),
            "modes": [mode.value for mode in Mode],
            "choices": SHOWN,
        }

    def shape() -> json_output.Shape:
        items = list(filter(_filter(listing, asked), listing.known))
        return json_output.listing(items, listing.summary, listing.context)

    return PageAnswer("here.html", shape, values, fragment="here_listing.html")


def _shows_problems(viewer: Viewer | None) -> bool:
    """Whether to show the problems in files, which are those of the machine of a gateway."""
    return viewer is None or viewer.role is Role.ADMIN


def _matters(name: str, truth: bool | None) -> bool:
    """Whether to show a state at first sight: it is true, or somebody declared it."""
    return truth is True or name not in _BUILTIN


def _filter(listing: WorkspaceListing, asked: PageRequest) -> Callable[[ToolDecision], bool]:
    """Make the function that tells which tools to show."""
    show, words = asked.params.get("show", ""), asked.params.get("q", "").lower().split()
    texts = listing.texts

    def matches(item: ToolDecision) -> bool:
        if show in ("available", "hidden") and item.decision.is_available != (show == "available"):
            return False
        return not words or all(word in texts[id(item.tool)] for word in words)

    return matches


def _grouped(
    page: Paged[tuple[ListedGroup, ToolDecision]], listing: WorkspaceListing
) -> Iterator[ShownGroup]:
    rows: dict[int, tuple[ListedGroup, list[ToolDecision]]] = {}
    for group, item in page.items:
        rows.setdefault(id(group), (group, []))[1].append(item)
    for group, items in rows.values():
        yield ShownGroup(group, _title(group, listing), shorten(group.first.source, listing.context), items)


def _title(group: ListedGroup, listing: WorkspaceListing) -> str:
    kind = group.first.kind
    name = group.label if kind in (Kind.MCP_SERVER, Kind.MCP_TOOL) else f"{WORDS[kind]}s".capitalize()
    return f"{group.client}: {name}" if listing.context.client is None else name


def _clients(listing: WorkspaceListing, asked: PageRequest) -> set[str]:
    return {*listing.clients, asked.options.client or ALL_CLIENTS} - {ALL_CLIENTS}
