"""What pages read, with the listings that were made last: they are kept while nothing they depend on changes.

A listing of 10,000 tools takes a third of a second and its sums another second, and a person who types into a
filter asks for them with every key. Whether they still hold takes two milliseconds.
"""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from remit.catalog import Catalog, GroupedTools, ListedGroup, Registry, SortKey, group_tools, summarize
from remit.cli import Candidates, Here, Overview, find_candidates, read_overview
from remit.decision import Context, Kind, Snapshot, ToolDecision
from remit.store import CallQuery

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from remit.catalog import Summary
    from remit.memory import Memory

_MOST = 8  # listings of different clients, agents and modes


class Listing:
    """All tools that are known in a workspace, at one moment, with the sums that are asked for."""

    def __init__(
        self, registry: Registry, here: Here, catalog: Catalog, known: Sequence[ToolDecision], at: Snapshot
    ) -> None:
        self._registry = registry
        self._here = here
        self.catalog = catalog
        self.known = known
        self.context: Context = catalog.context._replace(snapshot=at)

    @cached_property
    def overview(self) -> Overview:
        """What bare `remit` shows; what waits and what is broken may be newer."""
        return read_overview(self._registry, self._here)

    @cached_property
    def summary(self) -> "Summary":
        """Its counts, and what is hidden by cause."""
        return summarize(self.known, self.context)

    @cached_property
    def grouped(self) -> GroupedTools:
        """Its tools by server and kind, without those of other clients."""
        mine = [item for item in self.known if self.context.client in (None, item.tool.client)]
        return group_tools(mine, SortKey.TOKENS, self.overview.cost.by_server)

    @cached_property
    def candidates(self) -> Candidates:
        """What waits for trust, except servers that are off here for another reason."""
        found = find_candidates(self._registry, self.context, ()).waiting
        mine = {
            tool.key
            for tool, decision in self.known
            if tool.kind is Kind.MCP_SERVER
            and (decision.is_available or self.causes.get(tool.key) in ("untrusted", "definition"))
        }
        return found._replace(servers=[item for item in found.servers if item.declaration.key in mine])

    @cached_property
    def rows(self) -> list[tuple[ListedGroup, ToolDecision]]:
        """Its tools in the order of their groups; a server without tools stands for itself."""
        groups = (*self.grouped.servers, *self.grouped.kinds)
        return [(group, item) for group in groups for item in group.tools or group.items]

    @cached_property
    def causes(self) -> dict[tuple[object, ...], str]:
        """The cause for which a tool is hidden, by its key."""
        return {item.tool.key: group.cause for group in self.summary.hidden for item in group.items}

    @cached_property
    def agents(self) -> list[str]:
        """The names of the available agents."""
        return sorted(
            {
                tool.name
                for tool, decision in self.known
                if tool.kind is Kind.SUBAGENT and decision.is_available
            }
        )

    @cached_property
    def texts(self) -> dict[int, str]:
        """What a filter looks at, in lower case, by the identity of the tool."""
        return {id(tool): _text(item) for item in self.known for tool in (item.tool,)}


class Source:
    """What pages read; it belongs to one thread."""

    def __init__(
        self, registry: Registry, open_memory: "Callable[[str], AbstractContextManager[Memory]]"
    ) -> None:
        self.registry = registry
        self.open_memory = open_memory  # of a directory
        self._kept: dict[Here, Listing] = {}

    def listing(self, here: Here) -> Listing:
        """List the tools of a workspace, or return the last listing if it still holds.

        Raises:
            RemitError: the client, agent or directory cannot be used.
            ValueError: the mode does not exist.
        """
        context = here.context(self.registry)
        kept = self._kept.pop(here, None)
        catalog = self.registry.catalog(context, None if kept is None else kept.catalog)
        snapshot = self.registry.snapshot(catalog)
        known = catalog.at(snapshot)
        if kept is None or kept.catalog is not catalog or kept.known is not known:
            kept = Listing(self.registry, here, catalog, known, snapshot)
        self._kept[here] = kept  # as the newest
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]
        return kept

    def seen(self, here: Here) -> tuple[object, ...]:
        """Return what is compared to know of changes: decisions, what waits, and the last call.

        What pages store while they read is none, or they would be asked for again and again.
        """
        listing = self.listing(here)
        waiting = [approval.id for approval in self.registry.approvals.waiting(listing.context)]
        last = self.registry.store.calls.find(CallQuery(limit=1), listing.context.workspace)
        return listing.known, waiting, last, int(time.time() // 3600)  # the hours of a chart move on


def _text(item: ToolDecision) -> str:
    tool, decision = item
    parts = (tool.name, tool.server, tool.scope, tool.description, decision.gate, decision.full_reason)
    return "\n".join(filter(None, parts)).lower()
