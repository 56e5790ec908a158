"""Filters: an application's functions that determine, before any decision, which tools may be used."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from remit.decision.agents import Agent
from remit.decision.context import Context
from remit.decision.globs import Glob
from remit.decision.projects import Project
from remit.decision.state_snapshot import Snapshot
from remit.decision.tool_names import full_label
from remit.decision.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterContext:
    """The context that a filter receives with a tool."""

    project: Project
    workspace: str  # its directory
    client: str | None
    agent: Agent | None
    server: str | None
    states: Mapping[str, bool | None]
    run_context: object = None


Filter = Callable[[FilterContext, Tool], bool] | Callable[[FilterContext, Tool], Awaitable[bool]]


class ServerFilter(NamedTuple):
    """A filter, and the servers that it applies to."""

    filter: Filter
    server: Glob | None = None  # None: all tools, including those without a server

    @property
    def name(self) -> str:
        """The filter's name in reasons."""
        return getattr(self.filter, "__name__", type(self.filter).__name__)

    def concerns(self, tool: Tool) -> bool:
        """Tell whether the filter applies to a tool."""
        if self.server is None:
            return True
        labels = () if tool.server is None else (tool.server, full_label(tool.server, tool.plugin))
        return any(map(self.server.matches, labels))

    def refusal(self, answer: object) -> str | None:
        """Return the reason of a refusal; None only if the filter returned exactly `True`."""
        if answer is True:
            return None
        if answer is False:
            return f"the filter `{self.name}` says no"
        return f"the filter `{self.name}` answered neither true nor false, but {type(answer).__name__}"

    def failure(self, error: BaseException) -> str:
        """Return the reason after an exception, without its message, which may contain anything."""
        return f"the filter `{self.name}` failed: {type(error).__name__}"


def filter_context(context: Context, server: str | None) -> FilterContext:
    """Make the context that filters receive for the tools of one server."""
    snapshot = context.snapshot or Snapshot()
    return FilterContext(
        project=context.workspace.project,
        workspace=context.workspace.dir,
        client=context.client,
        agent=context.agent,
        server=server,
        states={name: value.truth for name, value in snapshot.states.items()},
        run_context=context.run_context,
    )


Filterings = Sequence[ServerFilter]
