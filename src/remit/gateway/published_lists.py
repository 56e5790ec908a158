"""The immutable lists that an endpoint publishes at one moment."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from remit.configuration.config_model import Strategy
from remit.decision.decide import Decision, ToolDecision
from remit.decision.declarations import Key
from remit.decision.kinds import Authority, Kind
from remit.decision.tool_names import full_label, served_name
from remit.decision.tools import Tool
from remit.gateway.endpoint_catalog import EndpointCatalog
from remit.gateway.ports import EndpointChange, ListKind, PublishedList, SessionView
from remit.gateway.session_offers import SessionOffers
from remit.presentation.app_metadata import is_for_model, page_of, readdressed, supports_apps
from remit.presentation.invocations import Invocations
from remit.presentation.listing_strategies import (
    ROOM,
    Presentation,
    ToolGroup,
    Uses,
    VisibleTool,
    group_item,
    present,
    promoted,
    room_resource,
    visible_tools,
    with_empty_scopes,
)
from remit.presentation.remit_tools import DEFINITIONS
from remit.presentation.resource_addresses import ResourceAddresses
from remit.presentation.served_names import group_name
from remit.presentation.serving_plan import LONGEST
from remit.presentation.tool_items import Item
from remit.text.untrusted_text import one_line

_NO_PARTS = (Kind.PLUGIN, Kind.MCP_TOOL)  # a plugin's tools belong to its servers


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedLists:
    """All lists of an endpoint, with the decisions behind them."""

    catalog: EndpointCatalog
    decisions: Mapping[Key, Decision]
    client_decisions: Mapping[Key, Decision]  # of what the client has itself, if it is available there
    visible: Sequence[VisibleTool]  # all callable tools, listed or not
    presentation: Presentation
    tools: PublishedList
    resources: PublishedList
    templates: PublishedList
    prompts: PublishedList
    groups: Mapping[str, ToolGroup]  # namespaces that are listed as tools
    rooms: Mapping[str, ToolGroup]  # rooms that are listed as resources
    scopes: Mapping[str, PublishedList] | None  # listed on request; None: the strategy has no scopes
    addresses: ResourceAddresses[Key]

    @property
    def scope_descriptions(self) -> Mapping[str, str]:
        """The configured descriptions of scopes."""
        plan = self.catalog.plan
        described = {group_name(name): text for name, text in plan.described.items()}
        described |= {name: one_line(room.description, LONGEST) for name, (room, _) in plan.rooms.items()}
        return {name: described[name] for name in self.scopes or () if described.get(name)}

    def revisions(self) -> dict[EndpointChange, str]:
        """Return the revision of each list and room whose changes are announced."""
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

    def tools_for(self, session: SessionView) -> PublishedList:
        """Return the list of one session: promoted tools are last, so the others keep their places."""
        added = [each.item for each in promoted(self.presentation, session.promoted, self.catalog.plan)]
        listed = [each for each in self.tools.items if each["name"] not in session.withheld]
        is_same = not added and len(listed) == len(self.tools.items)
        return self.tools if is_same else _listing([*listed, *added], self.tools)

    def withheld(self, capabilities: Mapping[str, Any], offers: SessionOffers) -> frozenset[str]:
        """Return the names of tools that are not for a client of these capabilities.

        Its server does not offer them to it, or they are only for pages, and it shows none.
        """
        with_apps = supports_apps(capabilities)
        return frozenset(
            item["name"]
            for key, item in self.catalog.items.items()
            if (not with_apps and not is_for_model(item))
            or offers.lacks(self.catalog.owners[key], capabilities, self.catalog.definitions[key].tool or "")
        )

    def findable(self, tools: Iterable[Tool]) -> list[ToolDecision]:
        """List what this client's model may find among tools, with the decision about each."""
        found: list[ToolDecision] = []
        for tool in tools:
            decision = self.client_decisions.get(tool.key) or self.decisions.get(tool.key)
            is_for_app = not is_for_model(self.catalog.items.get(tool.key, {}))
            is_ours = tool.client == self.catalog.context.client and not _is_echo(tool)
            if decision is not None and is_ours and not is_for_app:
                found.append(ToolDecision(tool, decision))
        return found

    def invocations(self, found: Iterable[ToolDecision]) -> Invocations:
        """Describe how the model invokes what it finds."""
        counts = Counter(owner for each in self.visible if (owner := self.catalog.owners.get(each.tool.key)))
        parts: dict[str, list[str]] = {}
        for tool, decision in found:
            if tool.plugin is not None and tool.kind not in _NO_PARTS and decision.is_available:
                parts.setdefault(tool.plugin, []).append(tool.server or tool.name)
        return Invocations(
            client=self.catalog.context.client,
            available=self.client_decisions.keys(),
            served={each.tool.key for each in self.visible},
            listed={each.tool.key for each in self.presentation.entries},
            tool_counts=counts,
            parts=parts,
        )

    def servers(self) -> Iterator[Key]:
        """Iterate over the available servers, sorted by name."""
        return _servers(self.catalog, self.decisions)


def publish(
    catalog: EndpointCatalog,
    listed: Sequence[ToolDecision],
    uses: Uses,
    before: PublishedLists | None,
    sent: PublishedLists | None = None,
    client_decisions: Mapping[Key, Decision] | None = None,
) -> PublishedLists:
    """Build the lists from the current decisions; an unchanged list stays the same object.

    Tools that were `sent` to a client stay listed while they are visible and the plan is the same, and
    addresses keep leading to the same servers.
    """
    decisions = {tool.key: decision for tool, decision in listed}
    servers = list(_servers(catalog, decisions))
    addresses = _addresses(catalog, servers, None if sent is None else sent.addresses)
    items = {key: _with_page(key, item, catalog, addresses) for key, item in catalog.items.items()}
    visible = visible_tools(listed, items, uses, catalog.context.requirements)
    is_same_plan = sent is not None and sent.catalog.plan == catalog.plan
    shown = present(visible, catalog.plan, sent.presentation if sent is not None and is_same_plan else None)
    if shown.scopes is not None:
        shown = shown._replace(scopes=with_empty_scopes(shown.scopes, _hidden_for_now(catalog, listed)))
    return PublishedLists(
        catalog=catalog,
        decisions=decisions,
        client_decisions=client_decisions or {},
        visible=visible,
        presentation=shown,
        tools=_listing(_tools(shown), before and before.tools),
        resources=_listing(_resources(catalog, servers, addresses, shown), before and before.resources),
        templates=_listing(_templates(catalog, servers, addresses), before and before.templates),
        prompts=_listing(_prompts(catalog, servers), before and before.prompts),
        groups={group.name: group for group in shown.groups},
        rooms={group.name: group for group in shown.resources},
        scopes=None if shown.scopes is None else _scopes(shown.scopes, before),
        addresses=addresses,
    )


def _is_echo(tool: Tool) -> bool:
    """Return whether an agent reported one of the gateway's own tools."""
    return tool.authority is not Authority.CONFIG and served_name(tool.name) is not None


def _scopes(scopes: Sequence[ToolGroup], before: PublishedLists | None) -> dict[str, PublishedList]:
    """Build the list of each scope: its tools, without Remit's own."""
    old = (before and before.scopes) or {}
    return {
        group.name: _listing([each.item for each in group.entries], old.get(group.name)) for group in scopes
    }


def _hidden_for_now(catalog: EndpointCatalog, listed: Iterable[ToolDecision]) -> set[str]:
    """Return the namespaces of tools and servers that a change of states would show."""
    return {
        catalog.plan.namespace(tool)
        for tool, decision in listed
        if tool.kind in (Kind.MCP_TOOL, Kind.MCP_SERVER)
        and decision.gate is not None
        and decision.gate.depends_on_states
    }


def _tools(shown: Presentation) -> list[Item]:
    own = [DEFINITIONS[each] for each in shown.own]
    return [*(each.item for each in shown.entries), *map(group_item, shown.groups), *own]


def _servers(catalog: EndpointCatalog, decisions: Mapping[Key, Decision]) -> Iterator[Key]:
    """Yield the available servers that the gateway can reach, sorted by name."""
    for key, row in sorted(catalog.servers.items(), key=lambda each: (each[1].name, str(each[0]))):
        if (
            key in catalog.upstreams
            and key in decisions
            and decisions[key].is_available
            and row.kind is Kind.MCP_SERVER
        ):
            yield key


def _addresses(
    catalog: EndpointCatalog,
    servers: Sequence[Key],
    before: ResourceAddresses[Key] | None,
) -> ResourceAddresses[Key]:
    """Assign each address to the server that lists it, or whose tool has it as its page."""
    rows = {key: catalog.servers[key] for key in servers}
    labels = {key: full_label(row.server or "", row.plugin) for key, row in rows.items()}
    claims = (
        (key, item[field])
        for part, field in (("resources", "uri"), ("templates", "uriTemplate"))
        for key in servers
        for item in _of(catalog, key, part)
    )
    pages = (
        (owner, page)
        for key, item in catalog.items.items()
        if (page := page_of(item)) is not None and (owner := catalog.owners.get(key)) in rows
    )
    is_by_room = catalog.plan.strategy is Strategy.ROOMS
    rooms = (f"{ROOM}{name}" for name in (catalog.plan.rooms if is_by_room else ()))
    return ResourceAddresses(labels, (*claims, *pages), rooms, before)


def _with_page(key: Key, item: Item, catalog: EndpointCatalog, addresses: ResourceAddresses[Key]) -> Item:
    owner = catalog.owners.get(key)
    return item if owner is None else readdressed(item, lambda page: addresses.written(owner, page))


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
