"""The inventory of one endpoint: its catalog in memory, made anew when files or the store have changed.

All of it is synchronous, and belongs to whoever may use the registry.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from remit.core.configuration.layers import FLAT, Configuration
from remit.core.configuration.values import written
from remit.core.decide import Context, Listed
from remit.core.declarations import Declaration, Key, Resolved
from remit.core.globs import glob, tool_globs
from remit.core.policy import Belongs, Origin, ToolList
from remit.core.requirements import NO_REQUIREMENTS
from remit.core.roster import Roster
from remit.core.serving.plan import Chosen, plan
from remit.core.spelling import did_you_mean
from remit.core.states import Snapshot
from remit.errors import UnknownRoomError
from remit.gateway.board import Board, post
from remit.gateway.catalog import Catalog, Target
from remit.gateway.cataloguing import Known, catalogue
from remit.registry import Registry


class _Kept(NamedTuple):
    """A catalog, with what it was made of."""

    read: "_Read"
    configuration: Configuration
    revision: int
    catalog: Catalog
    roster: Roster


class _Read(NamedTuple):
    """What the clients' files say."""

    inputs: Mapping[str, str]
    resolved: Sequence[Resolved]

    @property
    def declarations(self) -> Mapping[Key, Declaration]:
        """The entries, by their keys."""
        return {item.declaration.key: item.declaration for item in self.resolved}

    def says(self, other: "_Read") -> bool:
        """Tell whether another reading came to the same, in the entries themselves, too."""
        return self.resolved == other.resolved and all(
            one.declaration.launch == two.declaration.launch
            for one, two in zip(self.resolved, other.resolved, strict=True)
        )


class Inventory:
    """Keeps what one endpoint knows, and looks before every answer whether it is still right."""

    def __init__(self, registry: Registry, make: Callable[[], Context], chosen: Chosen) -> None:
        self._registry = registry
        self._make = make  # an agent's definition may change
        self._chosen = chosen
        self._context = replace(make(), starts_servers=True)
        self._kept: _Kept | None = None
        self._uses: dict[str, int] = {}  # of tools, when they were first seen
        self._board: tuple[Sequence[Listed], Board] | None = None

    @property
    def registry(self) -> Registry:
        """What all is asked of."""
        return self._registry

    @property
    def context(self) -> Context:
        """Who asks, and from where; decisions need more."""
        return self._context

    def catalog(self) -> Catalog:
        """Give the catalog; the same one, as long as nothing changed."""
        return self._current().catalog

    def target(self, name: str) -> tuple[Catalog, Target | None]:
        """Find what a call of a name means, and decide about it, as things are now."""
        catalog = self.catalog()
        if self._registry.supply.has_filters:
            context, _ = self._registry.supply.listing(replace(catalog.context, snapshot=self.snapshot()))
            catalog = replace(catalog, context=replace(catalog.context, refusals=context.refusals))
        return catalog, catalog.target(name, self.snapshot)

    def board(self) -> Board:
        """Give what is listed; the same board, as long as nothing of it changed."""
        kept = self._current()
        listed = self._listed(kept)
        if self._board is not None and self._board[1].catalog is kept.catalog and self._board[0] == listed:
            return self._board[1]
        board = post(kept.catalog, listed, self._uses, self._board and self._board[1])
        self._board = listed, board
        return board

    def _listed(self, kept: _Kept) -> list[Listed]:
        if self._registry.supply.has_filters:  # which may have another answer at every moment
            return self._registry.supply.listing(replace(kept.catalog.context, snapshot=self.snapshot()))[1]
        is_needed = not kept.catalog.context.requirements.is_empty
        return kept.roster.at(self.snapshot() if is_needed else Snapshot())

    def snapshot(self) -> Snapshot:
        """Take one reading of the states."""
        return self._registry.snapshot(self._context)

    def _current(self) -> _Kept:
        registry, kept = self._registry, self._kept
        configuration, ruled = registry.supply.configured(self._context)
        revision = registry.supply.revision()
        is_same = kept is not None and configuration is kept.configuration and revision == kept.revision
        if kept is not None and registry.supply.are_unchanged(kept.read.inputs):
            if is_same:
                return kept
            read = kept.read
        else:
            read = self._read()
            revision = registry.supply.revision()
            if (
                kept is not None and is_same and read.says(kept.read)
            ):  # a file that was touched, or is too young
                self._kept = kept._replace(read=read, revision=revision)
                return self._kept
            self._context = replace(self._make(), starts_servers=True)
            configuration, ruled = registry.supply.configured(self._context)
        self._kept = self._make_catalog(read, configuration, revision, ruled)
        return self._kept

    def _read(self) -> _Read:
        resolved = self._registry.supply.resolved(self._context)
        return _Read(self._registry.supply.inputs(self._context), resolved)

    def _make_catalog(
        self, read: _Read, configuration: Configuration, revision: int, ruled: Context
    ) -> _Kept:
        chosen = plan(configuration, self._chosen)
        context = self._narrowed(ruled, configuration)
        if chosen.strategy == FLAT:
            context = replace(context, requirements=NO_REQUIREMENTS)
        is_needed = not context.requirements.is_empty or self._registry.supply.has_filters
        snapshot = self.snapshot() if is_needed else Snapshot()
        _, listed = self._registry.supply.listing(replace(context, snapshot=snapshot))
        tools = [tool for tool, _ in listed]
        for tool in tools:
            self._uses.setdefault(tool.name, tool.usage_count)
        catalog = catalogue(
            Known(
                context=context,
                plan=chosen,
                listed=listed,
                definitions=self._registry.definitions(tools, context),
                wares=self._registry.supply.wares(context),
                declarations=read.declarations,
                transitions=configuration.transitions,
            )
        )
        return _Kept(read, configuration, revision, catalog, Roster(tools, context))

    def _narrowed(self, context: Context, configuration: Configuration) -> Context:
        """Keep to the room of the endpoint: what is outside is as if a list did not allow it."""
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
        origin = Origin(file.path, written(("rooms", name, "tools")))
        allowed = ToolList(Belongs.ALL, glob("*"), patterns, True, origin)
        return replace(context, policy=context.policy.narrowed(allowed))
