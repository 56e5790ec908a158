"""Everything that an endpoint publishes at one moment: the lists as JSON, and the decisions behind them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.catalog import (
    OWN_ITEMS,
    ROOM,
    Item,
    ListedTool,
    Presentation,
    Served,
    Target,
    ToolGroup,
    clean_item,
    is_for_model,
    room_item,
)
from remit.decision import Decision, Key, Tool, ToolDecision, full_label
from remit.gateway.apps import page_of, readdressed
from remit.protocol import RawJson
from remit.trust import withheld

if TYPE_CHECKING:
    from remit.gateway.resources import ResourceAddresses


class ListKind(StrEnum):
    """The parts of an endpoint that can change."""

    TOOLS = "tools"
    RESOURCES = "resources"
    PROMPTS = "prompts"


class Change(NamedTuple):
    """A change to announce: of a list, or of one resource."""

    part: ListKind
    uri: str | None = None  # the updated resource; None: the list itself


class ServedList(NamedTuple):
    """A list as it is served, written as JSON once; equal revisions mean equal bytes."""

    json: RawJson
    revision: str

    @property
    def items(self) -> Sequence[Item]:
        """What it contains."""
        items: Any = self.json.value
        return items


@dataclass(frozen=True, kw_only=True)
class Published:
    """The lists of an endpoint at one moment, which never change."""

    served: Served
    listed: Sequence[ToolDecision]
    decisions: Mapping[Key, Decision]
    visible: Sequence[ListedTool]  # all callable tools, listed or not
    shown: Presentation
    settled: dict[str, Target]  # what names mean, as far as neither states nor arguments count
    before: "ResourceAddresses | None"  # as a client got them: they keep leading to the same servers

    @cached_property
    def servers(self) -> Mapping[Key, Tool]:
        """The available servers, sorted by name."""
        servers = sorted(self.served.servers.values(), key=lambda tool: (tool.name, str(tool.key)))
        return {
            tool.key: tool
            for tool in servers
            if (decision := self.decisions.get(tool.key)) is not None and decision.is_available
        }

    @cached_property
    def tools(self) -> ServedList:
        """The tools that a client gets."""
        entries = [self.item_of(entry) for entry in self.shown.entries]
        own = [OWN_ITEMS[name] for name in self.shown.own]
        return _list([*entries, *(group.item for group in self.shown.groups), *own])

    @cached_property
    def tools_for_models(self) -> ServedList:
        """The tools without those that are only for pages, for a client that shows none."""
        items = [item for item in self.tools.items if is_for_model(item)]
        return self.tools if len(items) == len(self.tools.items) else _list(items)

    @cached_property
    def scopes(self) -> Mapping[str, ServedList] | None:
        """The tools of each scope, without Remit's own; None if the strategy has no scopes."""
        if self.shown.scopes is None:
            return None
        return {group.name: _list(list(map(self.item_of, group.entries))) for group in self.shown.scopes}

    @cached_property
    def resources(self) -> ServedList:
        """The resources of available servers, after the rooms."""
        rooms = [room_item(group.name, group.description, len(group.entries)) for group in self.shown.rooms]
        return _list([*rooms, *self._addressed("resources", "uri")])

    @cached_property
    def templates(self) -> ServedList:
        """The resource templates of available servers."""
        return _list([*self._addressed("templates", "uriTemplate")])

    @cached_property
    def prompts(self) -> ServedList:
        """The prompts of available servers."""
        names = self.served.prompt_names
        prompts = [
            {**item, "name": name}
            for key in self.servers
            for item in self.offered(key, "prompts")
            if (name := names.get((key, item["name"]))) is not None
        ]
        return _list(sorted(prompts, key=lambda item: item["name"]))

    @cached_property
    def addresses(self) -> "ResourceAddresses | None":
        """Which server answers for which address; None: nothing has an address."""
        labels = {key: full_label(tool.server or "", tool.plugin) for key, tool in self.servers.items()}
        claims = [
            (key, item[field])
            for part, field in (("resources", "uri"), ("templates", "uriTemplate"))
            for key in labels
            for item in self.offered(key, part)
        ]
        for key, item in self.served.items.items():
            owner, page = self.served.owners.get(key), page_of(item)
            if owner in labels and page is not None:
                claims.append((owner, page))
        rooms = [f"{ROOM}{group.name}" for group in self.shown.rooms]
        if not claims and not rooms and self.before is None:
            return None
        from remit.gateway.resources import ResourceAddresses  # few servers have resources or pages

        return ResourceAddresses(labels, claims, rooms, self.before)

    @property
    def groups(self) -> Mapping[str, ToolGroup]:
        """The namespaces that are listed as tools."""
        return {group.name: group for group in self.shown.groups}

    @property
    def rooms(self) -> Mapping[str, ToolGroup]:
        """The rooms that are listed as resources."""
        return {group.name: group for group in self.shown.rooms}

    def item_of(self, entry: ListedTool) -> Item:
        """Return the list item of a tool, with the address of its page as it is served."""
        owner = self.served.owners.get(entry.tool.key)
        if owner is None or page_of(entry.item) is None:
            return entry.item
        return readdressed(entry.item, lambda page: self.address(owner, page))

    def address(self, key: Key, address: str) -> str:
        """Return an address of a server as it is served."""
        return address if self.addresses is None else self.addresses.written(key, address)

    def offered(self, key: Key, part: str) -> Iterator[Item]:
        """Yield what a server offers besides tools, cleaned, except what inspection withholds."""
        offer = self.served.catalog.offers.get(key)
        for item in () if offer is None else getattr(offer, part):
            if withheld(item) is None:
                yield clean_item(item)

    def revisions(self) -> dict[Change, str]:
        """Return the revision of each list and room whose changes are announced."""
        rooms = {
            Change(ListKind.RESOURCES, f"{ROOM}{group.name}"): " ".join(entry.name for entry in group.entries)
            for group in self.shown.rooms
        }
        return {
            Change(ListKind.TOOLS): self.tools.revision,
            Change(ListKind.RESOURCES): f"{self.resources.revision} {self.templates.revision}",
            Change(ListKind.PROMPTS): self.prompts.revision,
            **rooms,
        }

    def _addressed(self, part: str, field: str) -> Iterator[Item]:
        for key in self.servers:
            for item in self.offered(key, part):
                yield {**item, field: self.address(key, item[field])}


def publish(served: Served, listed: Sequence[ToolDecision], sent: Published | None) -> Published:
    """Publish the current decisions, and write the lists; what was `sent` to a client stays while visible."""
    is_same_plan = sent is not None and sent.served.plan == served.plan
    shown = served.present(listed, sent.shown if sent is not None and is_same_plan else None)
    published = Published(
        served=served,
        listed=listed,
        decisions={tool.key: decision for tool, decision in listed},
        visible=served.visible(listed),
        shown=shown,
        settled={},
        before=None if sent is None else sent.addresses,
    )
    published.revisions()  # written here, not on the event loop
    return published


def _list(items: Sequence[Item]) -> ServedList:
    json = RawJson(items)
    return ServedList(json, sha256(json.json).hexdigest()[:16])
