"""A catalog: the tools in scope at one revision of files and store, and the decisions about them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.costs import charge
from remit.catalog.rows import judged_tools
from remit.decision import (
    ClientPermissions,
    Context,
    Decision,
    DecisionIndex,
    Definition,
    Face,
    FilterRefusal,
    Key,
    Offer,
    Resolved,
    Snapshot,
    Status,
    Tool,
    ToolDecision,
    decide,
    holds_text,
    without_text,
)
from remit.files import Fingerprints
from remit.store import Store
from remit.text import Clock

if TYPE_CHECKING:
    from remit.catalog.filters import Filters
    from remit.config import Configuration

_FILTERED_MS = 2_000  # milliseconds for which the answers of filters count, which may depend on anything
_CALL_SECONDS = 0.8  # for filters while a call waits


class Sources(NamedTuple):
    """What a catalog is read from."""

    store: Store
    configuration: "Configuration"
    filters: "Filters | None"
    resolved: Callable[[], Sequence[Resolved]]
    is_here: Callable[[str], bool]  # whether a client is on this machine
    clock: Clock


class Catalog:
    """The tools in scope of a context; it never changes, and reads large parts on first use."""

    def __init__(
        self,
        asked: Context,
        context: Context,
        revision: int,
        tools: Sequence[Tool],
        sources: Sources,
        stamps: Fingerprints,
    ) -> None:
        self.asked = asked  # as the caller made it
        self.context = context  # rules and permissions, no snapshot
        self.revision = revision
        self.tools = tools
        self.configuration = sources.configuration
        self.filters = sources.filters
        self._sources = sources
        self._stamps = stamps
        self._refusals: _Refusals | None = None
        self._indexed: tuple[Mapping[Key, FilterRefusal], DecisionIndex] | None = None

    def is_current(self) -> bool:
        """Return whether neither files nor the store changed; from any thread, in less than a millisecond."""
        are_unchanged = not self._stamps.stored or self._stamps.are_unchanged()
        return are_unchanged and self._sources.store.catalog.revision() == self.revision

    @property
    def inputs(self) -> Collection[str]:
        """The files and variables that it depends on."""
        return self._stamps.stored

    def checked(self, stamps: Fingerprints) -> "Catalog":
        """Note that files were only touched: what they say is the same."""
        self._stamps = stamps
        return self

    def narrowed(self, context: Context) -> "Catalog":
        """Return the same tools under the rules of another context."""
        return Catalog(self.asked, context, self.revision, self.tools, self._sources, self._stamps)

    @cached_property
    def definitions(self) -> Mapping[str, Definition]:
        """The definitions by digest; of held ones, the name only."""
        held = {tool.definition for tool in self.tools if holds_text(tool)}
        digests = [tool.definition for tool in self.tools if tool.definition is not None]
        stored = self._sources.store.catalog.definitions(digests, self.context.workspace)
        return {
            digest: definition._replace(description=None, raw="{}") if digest in held else definition
            for digest, definition in stored.items()
        }

    @cached_property
    def offers(self) -> Mapping[Key, Offer]:
        """What servers offer besides tools, by key."""
        return self._sources.store.listings.offers(self.context.workspace)

    @cached_property
    def resolved(self) -> Sequence[Resolved]:
        """The declarations with their launches; never printed."""
        return self._sources.resolved()

    @cached_property
    def declarations(self) -> Mapping[Key, Resolved]:
        """The declarations by key."""
        return {item.declaration.key: item for item in self.resolved}

    @cached_property
    def settled(self) -> Sequence[ToolDecision]:
        """The decisions as far as neither states nor filters count."""
        return self._index({}).at(Snapshot())

    @cached_property
    def states(self) -> Collection[str] | None:
        """The states that decisions depend on; None: any of them may count."""
        if self.filters is not None:
            return None
        conditions = [
            part
            for rule in self.context.rules.tools
            for part in (rule.condition, rule.call, rule.approval)
            if not isinstance(part, bool | None)
        ]
        mentions = [part.mentions for part in conditions]
        counted = {
            path[1]
            for mentioned in mentions
            for path in mentioned.variables
            if path[0] == "entities" and path[1:]
        }
        return frozenset(counted.union(*(mentioned.states for mentioned in mentions)))

    @cached_property
    def needs_snapshot(self) -> bool:
        """Whether decisions depend on a state or a variable."""
        rules = self.context.rules.tools
        return self.filters is not None or any(
            not isinstance(part, bool | None)
            for rule in rules
            for part in (rule.condition, rule.call, rule.approval)
        )

    def at(self, snapshot: Snapshot) -> Sequence[ToolDecision]:
        """Decide about every tool; the same object if nothing changed."""
        return self._index(self._answers(snapshot)).at(snapshot)

    def decide(self, tool: Tool, snapshot: Snapshot, args: Mapping[str, object] | None = None) -> Decision:
        """Decide about a call; filters are asked anew."""
        context = self.context._replace(snapshot=snapshot, args=args)
        if self.filters is not None:
            refusals = self.filters.refusals([tool], self.definitions, context, _CALL_SECONDS)
            context = context._replace(refusals=refusals)
        return decide(tool, context)

    def with_answers(self, snapshot: Snapshot) -> Context:
        """Return the context of the decisions under a snapshot, to explain them."""
        return self.context._replace(snapshot=snapshot, refusals=self._answers(snapshot))

    def _index(self, refusals: Mapping[Key, FilterRefusal]) -> DecisionIndex:
        if self._indexed is None or self._indexed[0] != refusals:
            index = DecisionIndex(self.tools, self.context._replace(refusals=refusals))
            self._indexed = refusals, index
        return self._indexed[1]

    def _answers(self, snapshot: Snapshot) -> Mapping[Key, FilterRefusal]:
        """Return what filters refuse, asked at most every two seconds."""
        if self.filters is None:
            return {}
        now, kept = self._sources.clock(), self._refusals
        if kept is None or not 0 <= now - kept.at < _FILTERED_MS or kept.snapshot != snapshot:
            context = self.context._replace(snapshot=snapshot)
            answers = self.filters.refusals(self.tools, self.definitions, context)
            kept = self._refusals = _Refusals(now, snapshot, answers)
        return kept.answers


class _Refusals(NamedTuple):
    """The answers of filters about all tools."""

    at: int
    snapshot: Snapshot
    answers: Mapping[Key, FilterRefusal]


def load(asked: Context, revision: int, sources: Sources, stamps: Fingerprints) -> Catalog:
    """Read the rows in scope, with all that decides about them."""
    store, configuration = sources.store, sources.configuration
    rows = store.catalog.rows(asked)
    others = {row.tool.client for row in rows} - {asked.client}
    gone = {client for client in others if not sources.is_here(client)}
    tools = judged_tools(
        [row for row in rows if row.tool.client not in gone] if gone else rows,
        configuration,
        gateway=asked.face is Face.GATEWAY,
    )
    if any(tool.status is Status.UNLISTED for tool in tools):
        from remit.catalog.declared import with_declared

        tools = with_declared(tools, store.listings.offers(asked.workspace))
    if asked.face is Face.GATEWAY:  # its tools are told to models
        tools = [without_text(tool) if holds_text(tool) else tool for tool in tools]
    rules = configuration.rules.including(asked.rules.tools, asked.rules.lists)
    context = asked._replace(rules=rules, permissions=_permissions(store, asked), snapshot=None, args=None)
    return Catalog(asked, context, revision, sorted(charge(tools), key=_order), sources, stamps)


def _permissions(store: Store, context: Context) -> Mapping[str, ClientPermissions]:
    if not context.workspace.has_files:
        return {}
    clients = store.scans.clients(context.view(context.client or ""))
    return {
        client: ClientPermissions(facts.permissions)
        for client, facts in clients.items()
        if facts.permissions and context.client in (None, client)
    }


def _order(tool: Tool) -> tuple[str, str, str, str]:
    return tool.name, tool.client, tool.scope, tool.dir or ""
