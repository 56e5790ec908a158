"""Builds the catalog of an endpoint from the store, the declarations and the configuration."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from remit.configuration.merged_configuration import Transition
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Declaration, Key
from remit.decision.globs import tool_globs
from remit.decision.kinds import Kind
from remit.decision.tool_names import server_name
from remit.decision.tools import Definition, Tool
from remit.gateway.endpoint_catalog import EndpointCatalog, PromptKey
from remit.memory.memory_server import is_own, own_upstream
from remit.presentation.plan import ServingPlan
from remit.presentation.served_names import NameClaim, ServedNames, claim_name, name_tools
from remit.presentation.tool_items import Item, item
from remit.settings import DEADLINE
from remit.text.foreign import clean_item
from remit.upstream.upstream_model import PATIENCE, ServerExtras, Sharing, Upstream, upstream


class CatalogSources(NamedTuple):
    """The inputs of a catalog."""

    context: Context
    plan: ServingPlan
    listed: Sequence[ToolDecision]  # decided without a snapshot
    definitions: Mapping[Key, Definition]
    extras: Mapping[Key, ServerExtras]
    declarations: Mapping[Key, Declaration]
    transitions: Iterable[Transition] = ()
    items: Mapping[tuple[str, Definition], Item] = {}  # from the previous catalog, for reuse


def build_catalog(sources: CatalogSources) -> EndpointCatalog:
    """Build the catalog of an endpoint."""
    context, plan = sources.context, sources.plan
    servers = {
        tool.key: tool for tool, _ in sources.listed if tool.kind is Kind.MCP_SERVER and tool.agent is None
    }
    in_force = {tool.key for tool, decision in sources.listed if not decision.frees_name}
    tools = [tool for tool, _ in sources.listed if tool.kind is Kind.MCP_TOOL]
    owners = dict(_owners(tools, servers, in_force))
    definitions = dict(_defined(tools, sources.definitions))
    named = [tool for tool in tools if tool.key in in_force and tool.key in owners]
    names = name_tools(named, definitions, plan)
    served = {
        tool.key: (names.of(tool.key), definitions[tool.key])
        for tool in named
        if tool.key in definitions and definitions[tool.key].tool is not None  # listed by the server itself
    }
    made_of = {each: sources.items.get(each) or item(*each) for each in served.values()}
    return EndpointCatalog(
        context=context,
        plan=plan,
        rows=_by_name(tools),
        servers=servers,
        owners=owners,
        definitions=definitions,
        items={key: made_of[each] for key, each in served.items()},
        made_of=made_of,
        names=names,
        extras={key: _cleaned(extras) for key, extras in sources.extras.items() if key in servers},
        prompt_names=ServedNames(_prompts(sources, servers, in_force)),
        advancing=[form for each in sources.transitions for form in tool_globs(each.pattern)],
        upstreams=dict(_upstreams(servers, sources)),
        declarations=sources.declarations,
    )


def _cleaned(extras: ServerExtras) -> ServerExtras:
    """Clean the titles and descriptions of a server's prompts and resources."""
    return replace(
        extras,
        resources=[clean_item(each) for each in extras.resources],
        templates=[clean_item(each) for each in extras.templates],
        prompts=[clean_item(each) for each in extras.prompts],
    )


def _owners(
    tools: Iterable[Tool], servers: Mapping[Key, Tool], in_force: Collection[Key]
) -> Iterator[tuple[Key, Key]]:
    """Yield the server of each tool: the one in the same place, else the effective one of that label."""
    by_label = {
        (server.client, server.server, server.plugin): key
        for key, server in servers.items()
        if key in in_force
    }
    for tool in tools:
        place = (tool.client, Kind.MCP_SERVER, tool.scope, tool.project_hash, tool.dir, None, tool.server)
        beside = (*place, server_name(tool.server or "", tool.plugin))
        owner = beside if beside in servers else by_label.get((tool.client, tool.server, tool.plugin))
        if owner is not None and tool.agent is None:
            yield tool.key, owner


def _defined(
    tools: Iterable[Tool], definitions: Mapping[Key, Definition]
) -> Iterator[tuple[Key, Definition]]:
    """Yield the definition of each tool; a tool that was only observed may be stored under another label."""
    by_name = {(key[0], key[-1]): definition for key, definition in definitions.items()}
    for tool in tools:
        definition = definitions.get(tool.key) or by_name.get((tool.client, tool.name))
        if definition is not None:
            yield tool.key, definition


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
        is_prefixed = sources.plan.is_prefixed(server, plugin)
        for prompt in sources.extras[key].prompts:
            own = prompt["name"]
            yield claim_name((key, own), server, own, plugin, is_prefixed=is_prefixed)


def _upstreams(servers: Mapping[Key, Tool], sources: CatalogSources) -> Iterator[tuple[Key, Upstream]]:
    """Yield the servers that may be started: those whose entry has not changed since it was stored."""
    for key, row in servers.items():
        declaration = sources.declarations.get(key)
        if declaration is None or declaration.digest != row.digest:
            continue
        workspace, home = sources.context.workspace.dir, sources.context.home
        if is_own(declaration):
            yield key, own_upstream(declaration, workspace)
            continue
        made = upstream(declaration, workspace=workspace, home=home, deadline=DEADLINE)
        if made is not None:
            run = sources.plan.run(row.server or "", row.plugin)
            yield (
                key,
                replace(
                    made,
                    sharing=None if run.sessions is None else Sharing(run.sessions),
                    inherits=True if run.inherit_env is None else run.inherit_env,
                    patience=run.deadline or PATIENCE,
                ),
            )
