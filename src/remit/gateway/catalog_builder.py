"""Builds the catalog of an endpoint from the store, the declarations and the configuration."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from remit.configuration.merged_configuration import Transition
from remit.decision.context import Context
from remit.decision.danger import Danger
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Key, Resolved
from remit.decision.gates import Gate
from remit.decision.globs import tool_globs
from remit.decision.kinds import Authority, Kind
from remit.decision.tool_names import server_name
from remit.decision.tools import Definition, Tool
from remit.gateway.endpoint_catalog import EndpointCatalog, PromptKey
from remit.memory.memory_server import is_own, own_upstream
from remit.presentation.app_metadata import has_app, is_for_app
from remit.presentation.served_names import (
    NameClaim,
    ServedNames,
    claim_name,
    name_tools,
    own_name,
    reads_as_both,
)
from remit.presentation.serving_plan import ServingPlan
from remit.presentation.tool_items import Item, ServedDefinition, item
from remit.settings import DEADLINE
from remit.text.untrusted_text import clean_item
from remit.trust.server_sandbox import ServerSandboxes
from remit.trust.start_permit import ForeignVariables, permit_start
from remit.upstream.upstream_model import ServerExtras, Upstream, upstream, with_options


class CatalogSources(NamedTuple):
    """The inputs of a catalog."""

    context: Context
    plan: ServingPlan
    listed: Sequence[ToolDecision]  # decided without a snapshot
    definitions: Mapping[Key, Definition]  # of held ones, only the name
    held: Sequence[Definition]
    extras: Mapping[Key, ServerExtras]
    resolved: Mapping[Key, Resolved]
    trusts: Mapping[Key, str]  # digests of trusted entries
    sandboxes: ServerSandboxes
    foreign: ForeignVariables
    transitions: Iterable[Transition] = ()
    items: Mapping[ServedDefinition, Item] = {}  # from the previous catalog, for reuse
    sent: EndpointCatalog | None = None  # the last one that a client got lists of, whose names stay


def build_catalog(sources: CatalogSources) -> EndpointCatalog:
    """Build the catalog of an endpoint."""
    context, plan = sources.context, sources.plan
    # Only what a file declares and its server lists is served, not what hooks or agents reported.
    declared = [item for item in sources.listed if item.tool.authority is Authority.CONFIG]
    servers = {tool.key: tool for tool, _ in declared if tool.kind is Kind.MCP_SERVER}
    lock = context.policy.lock
    running = {key: row for key, row in servers.items() if lock is None or lock.objection(row) is None}
    # What the agent of this endpoint does not have is explained under its name, unless another tool has it.
    others = {tool.key for tool, decision in declared if decision.gate is Gate.AGENT}
    taken = {tool.name for tool, decision in declared if not decision.frees_name and tool.key not in others}
    in_force = {
        tool.key
        for tool, decision in declared
        if not decision.frees_name and not (tool.key in others and tool.name in taken)
    }
    tools = [tool for tool, _ in declared if tool.kind is Kind.MCP_TOOL]
    owners = dict(_owners(tools, servers))
    definitions = {
        tool.key: sources.definitions[tool.key] for tool in tools if tool.key in sources.definitions
    }
    named = [tool for tool in tools if tool.key in in_force and tool.key in owners]
    sent = sources.sent
    names = name_tools(named, definitions, plan, None if sent is None else sent.names)
    served = {
        tool.key: ServedDefinition(
            names.of(tool.key), definitions[tool.key], context.policy.rate(tool).rating.level <= Danger.LOW
        )
        for tool in named
        if tool.key in definitions and definitions[tool.key].raw is not None  # listed by the server itself
    }
    made_of = {each: sources.items.get(each) or item(each) for each in served.values()}
    items = {key: made_of[each] for key, each in served.items()}
    return EndpointCatalog(
        context=context,
        plan=plan,
        rows=_by_name(tools),
        servers=servers,
        owners=owners,
        definitions=definitions,
        held=sources.held,
        items=items,
        made_of=made_of,
        names=names,
        app_names=_app_names(items, owners, {tool.key: tool for tool in named}, definitions),
        extras={key: _cleaned(extras) for key, extras in sources.extras.items() if key in running},
        prompt_names=ServedNames(
            _prompts(sources, running, in_force), before=None if sent is None else sent.prompt_names
        ),
        advancing=[form for each in sources.transitions for form in tool_globs(each.pattern)],
        upstreams={key: each for key, each in _upstreams(running, sources) if key not in others},
        declarations={key: item.declaration for key, item in sources.resolved.items()},
    )


def _cleaned(extras: ServerExtras) -> ServerExtras:
    """Clean the titles and descriptions of a server's prompts and resources."""
    return replace(
        extras,
        resources=[clean_item(each) for each in extras.resources],
        templates=[clean_item(each) for each in extras.templates],
        prompts=[clean_item(each) for each in extras.prompts],
    )


def _owners(tools: Iterable[Tool], servers: Mapping[Key, Tool]) -> Iterator[tuple[Key, Key]]:
    """Yield the server of each tool: the declaration in the same place, never another of the same name."""
    for tool in tools:
        place = (
            tool.client,
            Kind.MCP_SERVER,
            tool.scope,
            tool.project_hash,
            tool.dir,
            tool.agent,
            tool.server,
        )
        owner = (*place, server_name(tool.server or "", tool.plugin))
        if owner in servers:
            yield tool.key, owner


def _app_names(
    items: Mapping[Key, Item],
    owners: Mapping[Key, Key],
    tools: Mapping[Key, Tool],
    definitions: Mapping[Key, Definition],
) -> dict[str, Key]:
    """Map the names that pages use to the tools of their servers.

    A name of several servers leads nowhere, and neither does one that reads like another server's tool.
    """
    paged = {owners[key] for key, item in items.items() if has_app(item)}
    found: dict[str, list[Key]] = {}
    for key, made in items.items():
        if owners[key] in paged and is_for_app(made):
            found.setdefault(own_name(tools[key], definitions[key]), []).append(key)
    return {name: keys[0] for name, keys in found.items() if len(keys) == 1 and not reads_as_both(name)}


def _by_name(tools: Iterable[Tool]) -> dict[str, list[Tool]]:
    found: dict[str, list[Tool]] = {}
    for tool in tools:
        found.setdefault(tool.name, []).append(tool)
    return found


def _prompts(
    sources: CatalogSources, servers: Mapping[Key, Tool], in_force: Collection[Key]
) -> Iterator[NameClaim[PromptKey]]:
    for key in sorted((key for key in sources.extras if key in servers and key in in_force), key=str):
        server, plugin = servers[key].server or "", servers[key].plugin
        is_prefixed = sources.plan.is_prefixed(servers[key])
        for prompt in sources.extras[key].prompts:
            own = prompt["name"]
            yield claim_name((key, own), server, own, plugin, is_prefixed=is_prefixed)


def _upstreams(servers: Mapping[Key, Tool], sources: CatalogSources) -> Iterator[tuple[Key, Upstream]]:
    """Yield the servers that may be started: those with a permit whose entry is the stored one."""
    context = sources.context
    for key, row in servers.items():
        item = sources.resolved.get(key)
        if item is None or item.declaration.digest != row.digest:
            continue
        if is_own(item.declaration):
            yield key, own_upstream(item.declaration)
            continue
        permit = permit_start(
            item,
            context.workspace,
            home=context.home,
            trusts=sources.trusts,
            sandboxes=sources.sandboxes,
            foreign=sources.foreign,
            lock=context.policy.lock,
        )
        if permit is not None:
            made = upstream(item.declaration, permit, deadline=DEADLINE)
            options = sources.plan.run(row.server or "", row.plugin, is_projects=permit.is_projects)
            yield key, with_options(made, options)
