"""What each server costs in a request, and how much of it is for tools that were used here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.costs import is_sent
from remit.catalog.listed_groups import ListedGroup

if TYPE_CHECKING:
    from remit.decision.declarations import Key
    from remit.decision.tools import Tool
    from remit.usage.reports import UsageReport


class ToolCost(NamedTuple):
    """A visible tool and its cost in each request."""

    tool: Tool
    tokens: int
    is_used: bool  # in this project


class ServerCost(NamedTuple):
    """A visible server, or another group of tools, and its cost in each request."""

    group: ListedGroup
    tools: Sequence[ToolCost]  # most expensive first

    @property
    def used(self) -> int:
        """The tokens of its used tools."""
        return sum(each.tokens for each in self.tools if each.is_used)

    @property
    def unused(self) -> int:
        """The tokens of its tools that were never used here."""
        return sum(each.tokens for each in self.tools if not each.is_used)

    @property
    def total(self) -> int:
        """The tokens of all its tools."""
        return self.used + self.unused


def server_costs(groups: Iterable[ListedGroup], report: UsageReport) -> list[ServerCost]:
    """List the groups that cost something, most expensive first."""
    used = {each.tool.key for each in report.used}
    costs = [ServerCost(group, _tools(group, used)) for group in groups]
    return sorted((each for each in costs if each.total), key=lambda each: (-each.total, each.group.label))


def _tools(group: ListedGroup, used: Collection[Key]) -> list[ToolCost]:
    found = [
        ToolCost(tool, tool.tokens, tool.key in used)
        for tool, decision in group.tools
        if tool.tokens and decision.is_available and is_sent(tool)
    ]
    return sorted(found, key=lambda each: (-each.tokens, each.tool.name))
