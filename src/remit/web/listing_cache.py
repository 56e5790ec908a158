"""Keeps the listing of a workspace while nothing that it depends on changes.

A listing of 10,000 tools takes a third of a second, and a person who types into a filter asks for it with
every key. Whether it still holds takes two milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from remit.catalog.listed_groups import GroupedTools, ListedGroup, group_tools
from remit.catalog.summary import Summary, summarize
from remit.decision.decide import Verdict
from remit.decision.kinds import Kind
from remit.errors import StoreUnreachableError

if TYPE_CHECKING:
    from remit.cli.options import WorkspaceOptions
    from remit.decision.context import Context
    from remit.decision.decide import Decision, ToolDecision
    from remit.decision.problems import Problem
    from remit.decision.tools import Tool
    from remit.registry import Registry
    from remit.scanning.change_watcher import ChangeWatcher

MOST = 8  # listings of different clients, agents and modes
FILTER_SECONDS = 2.0  # how long to trust the answers of Python filters, which may depend on anything


class WorkspaceListing:
    """All tools that are known in a workspace, at one moment."""

    def __init__(self, context: Context, known: Sequence[ToolDecision], problems: Sequence[Problem]) -> None:
        self.context = context
        self.known = known
        self.problems = problems
        self.read_at = time.monotonic()

    @cached_property
    def summary(self) -> Summary:
        """Its counts and costs."""
        return summarize(self.known, self.context)

    @cached_property
    def grouped(self) -> GroupedTools:
        """Its tools by server and kind, without those of other clients."""
        mine = [item for item in self.known if self.context.client in (None, item.tool.client)]
        return group_tools(mine)

    @cached_property
    def rows(self) -> list[tuple[ListedGroup, ToolDecision]]:
        """Its tools in the order of their groups; a server without tools stands for itself."""
        groups = (*self.grouped.servers, *self.grouped.kinds)
        return [(group, item) for group in groups for item in group.tools or group.items]

    @cached_property
    def asking(self) -> int:
        """The number of its tools that need approval."""
        return sum(item.decision.verdict is Verdict.ASK for item in self.known)

    @cached_property
    def agents(self) -> frozenset[str]:
        """The names of the available agents."""
        return frozenset(
            tool.name
            for tool, decision in self.known
            if tool.kind is Kind.SUBAGENT and tool.profile is not None and decision.is_available
        )

    @cached_property
    def clients(self) -> frozenset[str]:
        """The clients that declare its tools."""
        return frozenset(item.tool.client for item in self.known)

    @cached_property
    def texts(self) -> dict[int, str]:
        """What a filter looks at, in lower case, by the identity of the tool."""
        return {id(tool): _text(tool, decision) for tool, decision in self.known}


class ListingCache:
    """The listings that were read last; while a shared store cannot be reached, they still hold."""

    def __init__(self, registry: Registry, most: int = MOST) -> None:
        self._registry = registry
        self._most = most
        self._kept: dict[WorkspaceOptions, tuple[ChangeWatcher | None, WorkspaceListing]] = {}

    def read(self, options: WorkspaceOptions) -> WorkspaceListing:
        """List the tools of a workspace, or return the last listing if it still holds.

        Raises:
            RemitError: the client, agent or directory cannot be used.
            ValueError: the mode does not exist.
        """
        watcher, listing = self._kept.get(options, (None, None))
        try:
            if watcher is None:
                watcher = self._registry.follow(options.context(self._registry), _NoNotifier())
            if watcher.look() or listing is None or _is_outdated(listing):
                listing = self._list(options)
        except StoreUnreachableError:
            if listing is None:
                raise
            watcher = None  # a new one sees what changed meanwhile
        self._kept.pop(options, None)  # so it becomes the newest
        self._kept[options] = watcher, listing
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return listing

    def clear(self) -> None:
        """Forget all listings, after a change that this process made itself."""
        self._kept.clear()

    def _list(self, options: WorkspaceOptions) -> WorkspaceListing:
        context = self._registry.states.with_snapshot(options.context(self._registry))
        known = self._registry.tools(context)
        return WorkspaceListing(context, known, self._registry.problems(context))


def _text(tool: Tool, decision: Decision) -> str:
    parts = (tool.name, tool.server, tool.scope, tool.description, decision.gate, decision.full_reason)
    return "\n".join(filter(None, parts)).lower()


def _is_outdated(listing: WorkspaceListing) -> bool:
    return bool(listing.context.filter_files) and time.monotonic() - listing.read_at > FILTER_SECONDS


class _NoNotifier:
    """Watches nothing: the cache looks itself."""

    is_stopped = False

    def watch(self, places: Collection[str]) -> bool:  # noqa: ARG002
        return False

    def wait(self, seconds: float) -> Collection[str]:  # noqa: ARG002
        return ()

    def stop(self) -> None:
        pass
