"""What a person wants to see of a listing: all of it, one server, in some order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.listed_groups import ListedGroup, SortKey, group_tools, is_unlisted, sorted_tools
from remit.catalog.summary import summarize
from remit.cli.output import tool_table
from remit.cli.output.unenforced import unenforced
from remit.decision.decide import ToolDecision
from remit.decision.tool_names import normalise
from remit.errors import UnknownServerError
from remit.text.spelling import did_you_mean

if TYPE_CHECKING:
    from remit.decision.context import Context
    from remit.registry import Registry


class Selection(NamedTuple):
    """The options of `remit tools`."""

    server: str | None = None
    everything: bool = False
    sort: SortKey | None = None

    def items(self, known: Sequence[ToolDecision]) -> list[ToolDecision]:
        """Select tools; in the given order, unless they are to be sorted.

        Raises:
            UnknownServerError: the server is not known here.
        """
        found = [item for item in known if self.everything or item.decision.is_available]
        if self.server is not None:
            keys = {item.tool.key for group in self._groups(known) for item in group.items}
            found = [item for item in found if item.tool.key in keys]
        return found if self.sort is None else sorted_tools(found, self.sort)

    def lines(self, known: Sequence[ToolDecision], context: Context, registry: Registry) -> list[str]:
        """Write the selected tools for people.

        Raises:
            UnknownServerError: the server is not known here.
        """
        sent, invalid = registry.sent_definitions(known, context), registry.invalid_files(context)
        if any(map(is_unlisted, known)):
            known = registry.protection.with_obstacles(known, context)
        if self.server is not None:
            groups = self._groups(known)
            return tool_table.details(groups, None, context, with_hidden=self.everything, sent=sent)
        summary, offered = summarize(known, context), [*unenforced(known, context, registry)]
        mine = [item for item in known if context.client in (None, item.tool.client)]
        grouped = group_tools(mine, self.sort or SortKey.TOKENS)
        if not self.everything:
            return tool_table.overview(grouped, summary, context, sent=sent, invalid=invalid, offered=offered)
        groups = [*grouped.servers, *grouped.kinds]
        return tool_table.details(
            groups, summary, context, with_hidden=True, sent=sent, invalid=invalid, offered=offered
        )

    def _groups(self, known: Sequence[ToolDecision]) -> list[ListedGroup]:
        servers = group_tools(known, self.sort or SortKey.TOKENS).servers
        wanted = self.server or ""
        found = [group for group in servers if normalise(group.label) == normalise(wanted)]
        if not found:
            hint = did_you_mean(wanted, [group.label for group in servers])
            raise UnknownServerError(f"no server is called `{wanted}` here", hint=hint)
        return found
