"""The catalog of one endpoint: its tools and servers, and the names they are served under."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, decide
from remit.decision.declarations import Declaration, Key
from remit.decision.globs import Glob
from remit.decision.kinds import Authority, Kind
from remit.decision.state_snapshot import Snapshot
from remit.decision.tool_lookup import closest_to_being_visible
from remit.decision.tool_names import MCP, meant_names, spellings, tool_name
from remit.decision.tools import Definition, Tool
from remit.presentation.served_names import ServedNames, own_name, rest_of
from remit.presentation.serving_plan import ServingPlan
from remit.presentation.tool_items import Item, ServedDefinition
from remit.upstream.upstream_model import ServerExtras, Upstream

PromptKey = tuple[Key, str]  # key of its server, and its name there
Take = Callable[[], Snapshot]
_MOST_LASTING = 10_000  # names; a tool can be spelled in many ways


class CallTarget(NamedTuple):
    """The target of a call: a tool, the decision about it, and its upstream."""

    served: str  # the name that models see
    tool: Tool
    decision: Decision
    context: Context  # of the decision
    upstream: Upstream | None
    own_name: str  # the name on its server
    has_output_schema: bool = False
    is_listed: bool = True  # else only its server knows whether it exists


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointCatalog:
    """Everything known at one revision of the files and the store, independent of states."""

    context: Context  # with policy and requirements, without a snapshot
    plan: ServingPlan
    rows: Mapping[str, Sequence[Tool]]  # tools by canonical name
    servers: Mapping[Key, Tool]  # their rows
    owners: Mapping[Key, Key]  # server by tool
    definitions: Mapping[Key, Definition]  # as models may read them: of held ones, only the name
    held: Sequence[Definition] = field(repr=False)  # in full, to compare with; never told
    items: Mapping[Key, Item]  # list items
    made_of: Mapping[ServedDefinition, Item] = field(repr=False)  # the same, by what they are made of
    names: ServedNames[Key]
    app_names: Mapping[str, Key]  # what pages call tools: the names on their own servers
    extras: Mapping[Key, ServerExtras]
    prompt_names: ServedNames[PromptKey]
    advancing: Sequence[Glob] = ()  # patterns of tools whose success changes a state
    upstreams: Mapping[Key, Upstream] = field(repr=False)
    declarations: Mapping[Key, Declaration] = field(repr=False)
    _lasting: dict[str, CallTarget] = field(default_factory=dict[str, CallTarget], init=False, repr=False)

    def target(self, name: str, take: Take) -> CallTarget | None:
        """Find the target of a call in the current states; None if the name is unknown."""
        lasting = self._lasting.get(name)
        if lasting is not None:
            return lasting
        found = self._target(name, take)
        is_lasting = found is not None and found.is_listed and not self._needs_snapshot(found.tool)
        if found is not None and is_lasting and len(self._lasting) < _MOST_LASTING:
            self._lasting[name] = found  # valid in every state, as long as this catalog is
        return found

    def _target(self, name: str, take: Take) -> CallTarget | None:
        key = self.names.find(name) or self.app_names.get(name)
        rows = self._called(name)
        if key is not None:
            rows = [row for row in self.rows[key[-1] or ""] if row.key == key]
        elif self.meanings(name):
            return None
        targets = [self._decided(row, take) for row in rows] or list(self._unlisted(name, take))
        return min(targets, key=_closest, default=None)

    def meanings(self, name: str) -> list[tuple[str, str]]:
        """List what an ambiguous name may mean, as served names and servers; empty for any other name.

        `git__hub__read` is the tool `read` of a server `git__hub`, and `hub__read` of a server `git`.
        """
        if self.names.find(name) is not None:
            return []
        rows = [row for row in self._called(name) if row.authority is Authority.CONFIG]
        servers = {(row.server, row.plugin) for row in rows}
        return [(self.served_name(row), row.server or "") for row in rows] if len(servers) > 1 else []

    def served_name(self, tool: Tool) -> str:
        """Return the name that models see for a tool."""
        return self.names.get(tool.key) or tool.name

    def advances(self, tool: Tool) -> bool:
        """Check whether a tool's success changes a state."""
        return any(form.matches(name) for form in self.advancing for name in spellings(tool.name))

    def _called(self, name: str) -> Sequence[Tool]:
        """Return the rows for a name, whether they are served or not."""
        return next((self.rows[each] for each in meant_names(name) if each in self.rows), ())

    def _decided(self, tool: Tool, take: Take) -> CallTarget:
        context = self._at(tool, take)
        definition = self.definitions.get(tool.key)
        return CallTarget(
            served=self.served_name(tool),
            tool=tool,
            decision=decide(tool, context),
            context=context,
            upstream=self.upstreams.get(self.owners.get(tool.key, ())),
            own_name=own_name(tool, definition),
            has_output_schema=definition is not None and definition.output_schema is not None,
        )

    def _at(self, tool: Tool, take: Take) -> Context:
        """Return the context for a decision about a tool; take a snapshot only if the tool needs one."""
        return replace(self.context, snapshot=take() if self._needs_snapshot(tool) else Snapshot())

    def _needs_snapshot(self, tool: Tool) -> bool:
        return bool(self.context.requirements.of(tool.name))

    def _unlisted(self, name: str, take: Take) -> Iterator[CallTarget]:
        """Decide about an unlisted tool by the row of the server that its name falls under.

        A hidden declaration does not answer for a server that another declaration makes available.
        """
        found = [
            (server, rest)
            for server in self.servers.values()
            if server.client == self.context.client and (rest := _rest(name, server, self.plan)) is not None
        ]
        shortest = min((len(rest) for _, rest in found), default=0)
        nearest = [(server, rest) for server, rest in found if len(rest) == shortest]
        served = [each for each in nearest if decide(each[0], self._at(each[0], take)).is_available]
        targets = (self._under(server, rest, take) for server, rest in served or nearest)
        return (target for target in targets if target is not None)

    def _under(self, server: Tool, rest: str, take: Take) -> CallTarget | None:
        """Decide about a tool name under a server; None if the server's current list does not include it."""
        name = tool_name(server.server or "", rest, server.plugin)
        tool = server._replace(name=name, kind=Kind.MCP_TOOL, change=None)
        for row in self.rows.get(tool.name, ()):
            if self.owners.get(row.key) == server.key:  # listed under another spelling
                return self._decided(row, take)
        context = self._at(tool, take)
        decision = decide(server, self._at(server, take))
        if decision.is_available:
            if server.listed_at is not None and not server.is_outdated:
                return None
            decision = decide(tool, context)
        return CallTarget(
            served=tool.name.removeprefix(MCP),
            tool=tool,
            decision=decision,
            context=context,
            upstream=self.upstreams.get(server.key),
            own_name=rest,
            is_listed=False,
        )


def _rest(name: str, server: Tool, plan: ServingPlan) -> str | None:
    return rest_of(name, server.server or "", server.plugin, is_prefixed=plan.is_prefixed(server))


def _closest(target: CallTarget) -> tuple[bool, ...]:
    return closest_to_being_visible(ToolDecision(target.tool, target.decision))
