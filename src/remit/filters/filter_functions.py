"""Filters: Python functions of the user or of an application that say which tools may be used."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from remit.decision.agents import Agent, AgentProfile
from remit.decision.context import Context, FilterRefusal
from remit.decision.globs import Glob
from remit.decision.kinds import Kind
from remit.decision.projects import Project
from remit.decision.scopes import Scope
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.decision.tool_names import full_label, server_name
from remit.decision.tools import Definition, Tool

MAIN_SESSION = Agent(name="", profile=AgentProfile())  # so that a filter can always read `context.agent.name`
_NOT_CALLED = (Kind.MCP_SERVER, Kind.PLUGIN)


class FilterStates(Mapping[str, bool | None]):
    """The states as a filter sees them; notes which of them were read."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> bool | None:
        self.read.add(name)
        return self._values[name].truth

    def __iter__(self) -> Iterator[str]:
        self.read.update(self._values)
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def _values(self) -> Mapping[str, StateValue]:
        if self._snapshot is None:
            raise RuntimeError("the states were not checked")
        return self._snapshot.states


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFilterContext:
    """The context that a filter receives with a tool."""

    project: Project
    workspace: str  # its directory
    client: str | None
    agent: Agent  # in the main session, its name is empty
    server_name: str | None
    states: Mapping[str, bool | None]
    run_context: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTool:
    """A tool as a filter sees it."""

    name: str  # the server's own name for it
    canonical_name: str  # `mcp__SERVER__TOOL`, as in lists and rules
    server_name: str | None
    kind: Kind
    scope: Scope
    client: str
    plugin: str | None = None
    description: str | None = None


_Plain = Callable[[ToolFilterContext, FilterTool], bool]
_Async = Callable[[ToolFilterContext, FilterTool], Awaitable[bool]]
Filter = _Plain | _Async


class ServerFilter(NamedTuple):
    """A filter, the servers that it applies to, and the file that it comes from."""

    filter: Filter
    server: Glob | None = None  # None: all tools, including those without a server
    path: str | None = None  # None: an application added it

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

    def refusal(self, answer: object) -> FilterRefusal | None:
        """Return the reason of a refusal; None only if the filter returned exactly `True`."""
        if answer is True:
            return None
        if answer is False:
            return self._refusal(f"hidden by the filter `{self.name}`", "")
        kind = type(answer).__name__
        return self._refusal(f"the filter `{self.name}` returned {kind}, expected True or False", "")

    def failure(self, error: BaseException) -> FilterRefusal:
        """Return the reason after an exception, without its message, which may contain anything."""
        line = line_in(self.path, error)
        place = f" line {line}" if line else ""
        return self._refusal(f"the filter `{self.name}` failed: {type(error).__name__}", place)

    def _refusal(self, reason: str, line: str) -> FilterRefusal:
        if self.path is None:
            return FilterRefusal(reason)
        place = f"{self.path}{line}"
        return FilterRefusal(reason, f"{reason} ({place})", f"change `{self.name}` in {place}")


def line_in(path: str | None, error: BaseException) -> int:
    """Return the last line of a file that an exception passed through; 0 if it did not."""
    line, frame = 0, error.__traceback__
    while frame is not None:
        line = frame.tb_lineno if frame.tb_frame.f_code.co_filename == path else line
        frame = frame.tb_next
    return line


def is_filtered(tool: Tool) -> bool:
    """Tell whether filters are asked about a tool: not about servers and plugins, which cannot be called."""
    return tool.kind not in _NOT_CALLED


def filter_context(
    context: Context, server: str | None, states: Mapping[str, bool | None]
) -> ToolFilterContext:
    """Make the context that filters receive for the tools of one server."""
    return ToolFilterContext(
        project=context.workspace.project,
        workspace=context.workspace.dir,
        client=context.client,
        agent=context.agent or MAIN_SESSION,
        server_name=server,
        states=states,
        run_context=context.run_context,
    )


def filter_tool(tool: Tool, definition: Definition | None) -> FilterTool:
    """Make the tool that filters receive; its definition has the exact name, if the server listed it."""
    own = None if definition is None else definition.tool
    prefix = "" if tool.server is None else server_name(tool.server, tool.plugin).removesuffix("*")
    return FilterTool(
        name=own or tool.name.removeprefix(prefix),
        canonical_name=tool.name,
        server_name=tool.server,
        kind=tool.kind,
        scope=tool.scope,
        client=tool.client,
        plugin=tool.plugin,
        description=tool.description,
    )
