"""The inventory of one endpoint: its catalog in memory, rebuilt when files or the store change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from remit.configuration.config_model import key_path
from remit.configuration.merged_configuration import Configuration
from remit.decision.context import Context
from remit.decision.decide import ToolDecision, holds_text, told_to_models
from remit.decision.decision_index import DecisionIndex
from remit.decision.declarations import Key, Resolved
from remit.decision.globs import glob, tool_globs
from remit.decision.policy_rules import ConfigLocation, ListTarget, ToolList
from remit.decision.state_snapshot import Snapshot
from remit.decision.tool_lookup import closest_to_being_visible, find, near_names
from remit.decision.tools import Tool, definition_without_text, without_text
from remit.errors import StoreRefusedError, StoreUnavailableError, UnknownRoomError
from remit.files.file_stamps import FileStamps
from remit.gateway.catalog_builder import CatalogSources, build_catalog
from remit.gateway.endpoint_catalog import CallTarget, EndpointCatalog
from remit.gateway.published_lists import PublishedLists, publish
from remit.memory.memory_scopes import reachable_memories
from remit.presentation.invocations import SERVED, client_decisions, is_clients_own, starters
from remit.presentation.remit_tools import OwnTool
from remit.presentation.serving_plan import EndpointChoice, make_plan
from remit.registry import Registry
from remit.scanning.catalog_source import CatalogConfiguration
from remit.text.spelling import as_question, did_you_mean
from remit.text.untrusted_text import one_line

_LONGEST_NAME = 100  # characters of a suggested name


class _Kept(NamedTuple):
    """A catalog and its sources."""

    read: "_Read"
    configured: CatalogConfiguration
    revision: int
    catalog: EndpointCatalog
    roster: DecisionIndex
    clients_own: Sequence[Tool]  # found, but never served
    stamps: FileStamps | None = None  # taken before the last check; None: not checked since it was built

    @property
    def looked_at(self) -> list[str]:
        """The files and variables that it depends on."""
        return [*self.read.inputs, *self.configured.files]

    def is_right(self, revision: int | None) -> bool:
        """Check that neither the revision nor any file stamp changed."""
        return self.stamps is not None and revision == self.revision and self.stamps.are_same()


class ResolvedCall(NamedTuple):
    """The target of a call, None if the name is unknown, and the catalog that was used."""

    catalog: EndpointCatalog
    target: CallTarget | None


AMBIGUOUS = "Ambiguous tool name"


class CallAdvice(NamedTuple):
    """What to tell a model that called a name which the gateway does not serve."""

    row: ToolDecision | None  # None: the name is unknown or ambiguous
    text: str | None
    problem: str = "Unknown tool"

    @property
    def is_ambiguous(self) -> bool:
        """Whether tools of several servers fit the name."""
        return self.problem == AMBIGUOUS


class _TakesTimeError(Exception):
    """The answer needs a snapshot, which takes time."""


def _no_time() -> Snapshot:
    raise _TakesTimeError


class _Read(NamedTuple):
    """The declarations in the clients' files."""

    inputs: Mapping[str, str]
    resolved: Sequence[Resolved]

    @property
    def by_key(self) -> Mapping[Key, Resolved]:
        """The declarations by key."""
        return {item.declaration.key: item for item in self.resolved}

    def says(self, other: "_Read") -> bool:
        """Check whether another read found the same, including how servers are launched."""
        return self.resolved == other.resolved and all(
            one.declaration.launch == two.declaration.launch
            for one, two in zip(self.resolved, other.resolved, strict=True)
        )


class Inventory:
    """Keeps the catalog of one endpoint, and checks before each answer that it is current."""

    def __init__(self, registry: Registry, make: Callable[[], Context], chosen: EndpointChoice) -> None:
        self.registry = registry
        self._supply = registry.catalog
        self._make = make  # called again, since an agent's definition may change
        self._chosen = chosen
        # The client and workspace, without rules and states.
        self.context = replace(make(), starts_servers=True)
        self._kept: _Kept | None = None
        self._uses: Mapping[Key, tuple[int, int]] | None = None  # as of the first catalog
        self._lists: tuple[Sequence[ToolDecision], PublishedLists] | None = None
        self._sent: PublishedLists | None = None  # the last lists that a client got

    def catalog(self) -> EndpointCatalog:
        """Return the catalog; the same object while nothing changes."""
        return self._current().catalog

    def reachable_memories(self) -> frozenset[str] | None:
        """Return the memories that the endpoint may use; None: all."""
        shared = self._current().configured.configuration.memory_projects
        return reachable_memories(self.context.workspace, shared)

    def target(self, name: str) -> ResolvedCall:
        """Find the target of a call by name, with the current decision about it."""
        catalog = self.catalog()
        if self._supply.has_filters(catalog.context):  # they are asked anew for every call
            context = self._supply.filtered(replace(catalog.context, snapshot=self.snapshot()))
            catalog = replace(catalog, context=replace(context, snapshot=None))
        return ResolvedCall(catalog, catalog.target(name, self.snapshot))

    def advise(self, name: str, *, is_deferred: bool = False) -> CallAdvice:
        """Tell a model how to invoke what the gateway does not serve, or which names it can use instead.

        `call_tool` itself is none of them for a deferred call, which came through it.
        """
        lists, listed = self.lists(), self._lists[0] if self._lists is not None else ()
        if meanings := self.catalog().meanings(name):
            visible = {each.name for each in lists.visible}
            named = [f"`{served}` of `{server}`" for served, server in meanings if served in visible]
            return CallAdvice(None, f"call {' or '.join(named)}" if named else None, AMBIGUOUS)
        found = lists.findable(item.tool for item in listed)
        row = min(find(name, found), key=closest_to_being_visible, default=None)
        if row is None:
            own = [it.tool.name for it in found if it.decision.is_available and it.tool.kind not in SERVED]
            usable = [*(each.name for each in lists.visible), *own, *lists.groups, *lists.presentation.own]
            others = (each for each in usable if not (is_deferred and each == OwnTool.CALL))
            near = [one_line(each, _LONGEST_NAME) for each in near_names(name, others)]
            return CallAdvice(None, as_question(near))
        if row.decision.is_available:
            return CallAdvice(row, lists.invocations(found).explain(row.tool))
        return CallAdvice(row, None)

    def lists(self) -> PublishedLists:
        """Return the current lists; the same object while nothing changes."""
        kept = self._current()
        context, listed = self._listed(kept)
        everywhere = replace(context, policy=kept.configured.context.policy)  # a room limits only the gateway
        own = client_decisions(kept.clients_own, context)
        own |= client_decisions(starters(context.client), everywhere)
        before = self._lists
        is_same = before is not None and before[1].catalog is kept.catalog and before[0] == listed
        if before is not None and is_same and before[1].client_decisions == own:
            return before[1]
        lists = publish(kept.catalog, listed, self._uses or {}, before and before[1], self._sent, own)
        self._lists = listed, lists
        return lists

    def note_sent(self, lists: PublishedLists) -> None:
        """Note that a client got these lists: from now on, their names and addresses stay as they are."""
        self._sent = lists

    def places(self) -> list[str]:
        """Return the files and directories that affect the lists."""
        return self._supply.places(self.context)

    def store_files(self) -> list[str]:
        """Return the files that change whenever any process writes to the store."""
        return self._supply.store_files()

    def follow(self, tell: Callable[[], object]) -> None:
        """Call a function from another thread after each change of the store that no file shows."""
        self._supply.follow(tell)

    def quick_target(self, name: str) -> ResolvedCall | None:
        """Return the result of `target` if nothing has to be read; else None."""
        kept = self._kept
        if kept is None or self._is_filtered(kept) or not kept.is_right(self._supply.known_revision()):
            return None
        try:
            return ResolvedCall(kept.catalog, kept.catalog.target(name, _no_time))
        except _TakesTimeError:
            return None

    def quick_lists(self) -> PublishedLists | None:
        """Return the result of `lists` if nothing has to be read; else None."""
        kept, lists = self._kept, self._lists
        if kept is None or lists is None or lists[1].catalog is not kept.catalog:
            return None
        is_lasting = kept.catalog.context.requirements.is_empty and not self._is_filtered(kept)
        return lists[1] if is_lasting and kept.is_right(self._supply.known_revision()) else None

    def _listed(self, kept: _Kept) -> tuple[Context, list[ToolDecision]]:
        """Decide about every tool now, and return the context of the decisions."""
        if self._is_filtered(kept):  # a filter may answer differently at any time
            context, listed = self._supply.listing(replace(kept.catalog.context, snapshot=self.snapshot()))
            return context, told_to_models(context, listed)
        is_needed = not kept.catalog.context.requirements.is_empty
        snapshot = self.snapshot() if is_needed else Snapshot()
        return replace(kept.catalog.context, snapshot=snapshot), kept.roster.at(snapshot)

    def _is_filtered(self, kept: _Kept) -> bool:
        return self._supply.has_filters(kept.catalog.context)

    def snapshot(self) -> Snapshot:
        """Take a snapshot of the states."""
        return self.registry.states.snapshot(self.context)

    def _current(self) -> _Kept:
        kept = self._kept
        try:
            if kept is None or not kept.is_right(self._supply.revision()):
                kept = self._kept = self._renewed(kept)
        except (StoreUnavailableError, StoreRefusedError):
            if kept is None:
                raise
        return kept  # without the store, the last known

    def _renewed(self, kept: _Kept | None) -> _Kept:
        """Rebuild only if something really changed: a file may only have been touched."""
        supply = self._supply
        stamps = None if kept is None else supply.stamps(kept.looked_at)  # taken before any file is read
        configured, revision = supply.configured(self.context), supply.revision()
        is_same = kept is not None and configured.said == kept.configured.said and revision == kept.revision
        if kept is not None and supply.are_unchanged(kept.read.inputs):
            if is_same:
                return kept._replace(stamps=stamps)
            read = kept.read
        else:
            read = self._read()
            is_same = is_same and supply.revision() == revision
            if kept is not None and is_same and read.says(kept.read):  # a file was only touched
                are_all = read.inputs.keys() == kept.read.inputs.keys()
                return kept._replace(read=read, stamps=stamps if are_all else None)
            self.context = replace(self._make(), starts_servers=True)
            configured, revision = supply.configured(self.context), supply.revision()
        return self._make_catalog(read, configured, revision)

    def _read(self) -> _Read:
        resolved = self._supply.resolved(self.context)
        return _Read(self._supply.inputs(self.context), resolved)

    def _make_catalog(self, read: _Read, configured: CatalogConfiguration, revision: int) -> _Kept:
        configuration = configured.configuration
        plan = make_plan(configuration, self._chosen)
        context = plan.serving_context(self._narrowed(configured.context, configuration))
        known = self._supply.tools(context)
        held = {tool.key for tool in known if holds_text(tool, context)}
        definitions = self.registry.catalog.definitions(known, context)
        tools = [without_text(tool) if tool.key in held else tool for tool in known]
        roster = DecisionIndex(tools, context)
        if self._uses is None:  # later calls must not change the lists
            self._uses = self._supply.uses_here(context)
        catalog = build_catalog(
            CatalogSources(
                context=context,
                plan=plan,
                listed=roster.at(Snapshot()),
                definitions={
                    key: definition_without_text(each) if key in held else each
                    for key, each in definitions.items()
                },
                held=[definitions[key] for key in held if key in definitions],
                extras=self._supply.extras(context),
                resolved=read.by_key,
                trusts=self._supply.trusts(context),
                sandboxes=self._supply.sandboxes(context),
                foreign=self._supply.foreign_variables(context),
                transitions=configuration.transitions,
                items={} if self._kept is None else self._kept.catalog.made_of,
                sent=None if self._sent is None else self._sent.catalog,
            )
        )
        return _Kept(read, configured, revision, catalog, roster, list(filter(is_clients_own, tools)))

    def _narrowed(self, context: Context, configuration: Configuration) -> Context:
        """Allow only the tools of the endpoint's room, as an allow list would."""
        name = self._chosen.room
        if name is None:
            return context
        found = [(file, room) for file, room in configuration.rooms if room.name == name]
        if not found:
            rooms = {room.name for _, room in configuration.rooms}
            hint = did_you_mean(name, rooms) or "rooms are declared in `remit.toml`, as `[rooms.NAME]`"
            raise UnknownRoomError(f"no room is called `{name}` here", hint=hint)
        file, room = found[-1]
        patterns = tuple((pattern, tool_globs(pattern)) for pattern in room.tools)
        origin = ConfigLocation(file.path, key_path(("rooms", name, "tools")))
        allowed = ToolList(ListTarget.ALL, glob("*"), patterns, True, origin)
        return replace(context, policy=context.policy.narrowed(allowed))
