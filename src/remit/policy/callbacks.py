"""Filters: functions of an application that say, before anything is decided, which tools may be used."""

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
    """What a filter may look at, beside the tool."""

    project: Project
    workspace: str  # its directory
    client: str | None
    agent: Agent | None
    server: str | None
    states: Mapping[str, bool | None]
    run_context: object = None


Filter = Callable[[FilterContext, Tool], bool] | Callable[[FilterContext, Tool], Awaitable[bool]]


class ServerFilter(NamedTuple):
    """A filter, and the servers whose tools it is asked about."""

    filter: Filter
    server: Glob | None = None  # None: all, and what is of no server

    @property
    def name(self) -> str:
        """What the filter is called in reasons."""
        return getattr(self.filter, "__name__", type(self.filter).__name__)

    def concerns(self, tool: Tool) -> bool:
        """Tell whether it is asked about a tool."""
        if self.server is None:
            return True
        labels = () if tool.server is None else (tool.server, full_label(tool.server, tool.plugin))
        return any(map(self.server.matches, labels))

    def refusal(self, answer: object) -> str | None:
        """Say why a tool is refused, by what the filter answered; only a plain yes is one."""
        if answer is True:
            return None
        if answer is False:
            return f"the filter `{self.name}` says no"
        return f"the filter `{self.name}` answered neither true nor false, but {type(answer).__name__}"

    def failure(self, error: BaseException) -> str:
        """Say that the filter failed, without what it said: that may be anything."""
        return f"the filter `{self.name}` failed: {type(error).__name__}"


def filter_context(context: Context, server: str | None) -> FilterContext:
    """Make what filters see of a context, for the tools of one server."""
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
