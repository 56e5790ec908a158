"""A board: what an endpoint lists at one moment; never changed, only replaced."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from remit.decision.decide import Decision, ToolDecision
from remit.decision.declarations import Key
from remit.decision.kinds import Kind
from remit.decision.tool_names import full_label
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.ports import EndpointChange, ListKind, PublishedList
from remit.presentation.own_tools import DEFINITIONS, OwnTool
from remit.presentation.resource_addresses import ResourceAddresses
from remit.presentation.strategies import (
    NEVER,
    ROOM,
    STRATEGIES,
    Presentation,
    ToolGroup,
    VisibleTool,
    group_item,
    room_resource,
)
from remit.presentation.tool_items import Item

EMPTY = PublishedList([], "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedLists:
    """What is listed, and what it was made of."""

    catalog: EndpointCatalog
    decisions: Mapping[Key, Decision]
    visible: Sequence[VisibleTool]  # all that may be called, listed or not
    deferred: Mapping[str, int]  # how many tools of each server are not listed
    tools: PublishedList
    resources: PublishedList
    templates: PublishedList
    prompts: PublishedList
    groups: Mapping[str, ToolGroup]  # namespaces that are listed as tools
    rooms: Mapping[str, ToolGroup]  # that are listed as resources
    scopes: Mapping[str, PublishedList]  # listed on request
    addresses: ResourceAddresses[Key]  # of resources and their templates

    @property
    def depends_on_states(self) -> bool:
        """Whether it may be another one without any file or entry being another."""
        return not self.catalog.context.requirements.is_empty

    def revisions(self) -> dict[EndpointChange, str]:
        """Tell the revision of all whose change may be announced."""
        rooms = {
            EndpointChange(ListKind.RESOURCES, f"{ROOM}{name}"): " ".join(each.name for each in group.entries)
            for name, group in self.rooms.items()
        }
        return {
            EndpointChange(ListKind.TOOLS): self.tools.revision,
            EndpointChange(ListKind.RESOURCES): f"{self.resources.revision} {self.templates.revision}",
            EndpointChange(ListKind.PROMPTS): self.prompts.revision,
            **rooms,
        }

    def servers(self) -> Iterator[Key]:
        """List the servers that may be asked now, in their order."""
        return (key for key in _servers(self.catalog, self.decisions))


def publish(
    catalog: EndpointCatalog,
    listed: Sequence[ToolDecision],
    uses: Mapping[Key, tuple[int, int]],
    before: PublishedLists | None,
) -> PublishedLists:
    """Make a board of the decisions of the moment; what is as it was before stays the same object."""
    decisions = {tool.key: decision for tool, decision in listed}
    visible = sorted(_entries(catalog, listed, uses), key=lambda each: each.name)
    shown = STRATEGIES[catalog.plan.strategy](visible, catalog.plan)
    servers = list(_servers(catalog, decisions))
    addresses = _addresses(catalog, servers, shown)
    return PublishedLists(
        catalog=catalog,
        decisions=decisions,
        visible=visible,
        deferred=_deferred(visible, shown),
        tools=_listing(_tools(catalog, shown), before and before.tools),
        resources=_listing(_resources(catalog, servers, addresses, shown), before and before.resources),
        templates=_listing(_templates(catalog, servers, addresses), before and before.templates),
        prompts=_listing(_prompts(catalog, servers), before and before.prompts),
        groups={group.name: group for group in shown.groups},
        rooms={group.name: group for group in shown.resources},
        scopes={
            group.name: _listing(
                _tools(catalog, shown._replace(entries=group.entries)),
                before and before.scopes.get(group.name),
            )
            for group in shown.scopes
        },
        addresses=addresses,
    )


def _entries(
    catalog: EndpointCatalog, listed: Iterable[ToolDecision], uses: Mapping[Key, tuple[int, int]]
) -> Iterator[VisibleTool]:
    requirements = catalog.context.requirements
    for tool, decision in listed:
        if decision.is_available and (item := catalog.items.get(tool.key)) is not None:
            yield VisibleTool(tool, item, uses.get(tool.key, NEVER), bool(requirements.of(tool.name)))


def _tools(catalog: EndpointCatalog, shown: Presentation) -> list[Item]:
    own = [DEFINITIONS[each] for each in OwnTool if each in shown.own and each in catalog.plan.own_tools]
    return [*(each.item for each in shown.entries), *map(group_item, shown.groups), *own]


def _deferred(visible: Iterable[VisibleTool], shown: Presentation) -> dict[str, int]:
    listed = {each.name for each in shown.entries}
    found: dict[str, int] = {}
    for each in visible:
        if each.name not in listed:
            server = each.tool.server or ""
            found[server] = found.get(server, 0) + 1
    return dict(sorted(found.items()))


def _servers(catalog: EndpointCatalog, decisions: Mapping[Key, Decision]) -> Iterator[Key]:
    """List the servers that are visible and could be asked, by their names."""
    for key, row in sorted(catalog.servers.items(), key=lambda each: (each[1].name, str(each[0]))):
        if (
            key in catalog.upstreams
            and key in decisions
            and decisions[key].is_available
            and row.kind is Kind.MCP_SERVER
        ):
            yield key


def _addresses(
    catalog: EndpointCatalog, servers: Sequence[Key], shown: Presentation
) -> ResourceAddresses[Key]:
    """Give each address to the first server that lists it."""
    rows = {key: catalog.servers[key] for key in servers}
    labels = {key: full_label(row.server or "", row.plugin) for key, row in rows.items()}
    claims = (
        (key, item[field])
        for part, field in (("resources", "uri"), ("templates", "uriTemplate"))
        for key in servers
        for item in _of(catalog, key, part)
    )
    return ResourceAddresses(labels, claims, taken=(f"{ROOM}{group.name}" for group in shown.resources))


def _resources(
    catalog: EndpointCatalog, servers: Iterable[Key], addresses: ResourceAddresses[Key], shown: Presentation
) -> list[Item]:
    rooms = [room_resource(group) for group in shown.resources]
    return [*rooms, *_addressed(catalog, servers, addresses, "resources", "uri")]


def _templates(
    catalog: EndpointCatalog, servers: Iterable[Key], addresses: ResourceAddresses[Key]
) -> list[Item]:
    return list(_addressed(catalog, servers, addresses, "templates", "uriTemplate"))


def _addressed(
    catalog: EndpointCatalog, servers: Iterable[Key], addresses: ResourceAddresses[Key], part: str, field: str
) -> Iterator[Item]:
    for key in servers:
        for item in _of(catalog, key, part):
            yield {**item, field: addresses.written(key, item[field])}


def _prompts(catalog: EndpointCatalog, servers: Iterable[Key]) -> list[Item]:
    found = [
        {**prompt, "name": catalog.prompt_names.of((key, prompt["name"]))}
        for key in servers
        for prompt in _of(catalog, key, "prompts")
    ]
    return sorted(found, key=lambda each: each["name"])


def _of(catalog: EndpointCatalog, key: Key, part: str) -> Sequence[Any]:
    return getattr(catalog.extras[key], part) if key in catalog.extras else ()


def _listing(items: list[Item], before: PublishedList | None) -> PublishedList:
    revision = sha256(json.dumps(items).encode()).hexdigest()[:16]
    return before if before is not None and before.revision == revision else PublishedList(items, revision)
