"""Cataloguing: makes an endpoint's catalog of what is stored, declared and configured."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from remit.configuration.file_parser import OWN_TOOLS
from remit.configuration.layers import Transition
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Declaration, Key
from remit.decision.defaults import DEADLINE
from remit.decision.globs import tool_globs
from remit.decision.kinds import Kind
from remit.decision.tool_names import server_name
from remit.decision.tools import Definition, Tool
from remit.gateway.endpoint_catalog import EndpointCatalog, PromptKey, own_name
from remit.memory.own_server import is_own, own_upstream
from remit.presentation.plan import ServingPlan
from remit.presentation.served_names import NameClaim, ServedNames, claim_name
from remit.presentation.tool_items import Item, item
from remit.upstream.upstream_model import PATIENCE, ServerExtras, Sharing, Upstream, upstream


class CatalogSources(NamedTuple):
    """What a catalog is made of."""

    context: Context
    plan: ServingPlan
    listed: Sequence[ToolDecision]  # in whatever state
    definitions: Mapping[Key, Definition]
    extras: Mapping[Key, ServerExtras]
    declarations: Mapping[Key, Declaration]
    transitions: Iterable[Transition] = ()
    items: Mapping[tuple[str, Definition], Item] = {}  # that were made before


def build_catalog(known: CatalogSources) -> EndpointCatalog:
    """Make a catalog."""
    context, plan = known.context, known.plan
    servers = {
        tool.key: tool for tool, _ in known.listed if tool.kind is Kind.MCP_SERVER and tool.agent is None
    }
    in_force = {tool.key for tool, decision in known.listed if not decision.frees_name}
    tools = [tool for tool, _ in known.listed if tool.kind is Kind.MCP_TOOL]
    owners = dict(_owners(tools, servers, in_force))
    definitions = dict(_defined(tools, known.definitions))
    unprefixed = {
        key for key, row in servers.items() if plan.run(row.server or "", row.plugin).prefix is False
    }
    named = [tool for tool in tools if tool.key in in_force and tool.key in owners]
    names = ServedNames(
        (
            _wish(tool, definitions.get(tool.key), is_prefixed=owners[tool.key] not in unprefixed)
            for tool in named
        ),
        OWN_TOOLS,
    )
    served = {
        tool.key: (names.of(tool.key), definitions[tool.key])
        for tool in named
        if tool.key in definitions and definitions[tool.key].tool is not None  # its server says so itself
    }
    made_of = {each: known.items.get(each) or item(*each) for each in served.values()}
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
        extras={key: extras for key, extras in known.extras.items() if key in servers},
        prompt_names=ServedNames(_prompts(known.extras, servers, in_force, unprefixed)),
        advancing=[form for each in known.transitions for form in tool_globs(each.pattern)],
        upstreams=dict(_upstreams(servers, known)),
        declarations=known.declarations,
    )


def _owners(
    tools: Iterable[Tool], servers: Mapping[Key, Tool], in_force: Collection[Key]
) -> Iterator[tuple[Key, Key]]:
    """Find the server of each tool: in the same place, else the one in force of the same label."""
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
    """Find what is said of each tool; one that was only seen may be stored under another label."""
    by_name = {(key[0], key[-1]): definition for key, definition in definitions.items()}
    for tool in tools:
        definition = definitions.get(tool.key) or by_name.get((tool.client, tool.name))
        if definition is not None:
            yield tool.key, definition


def _wish(tool: Tool, definition: Definition | None, *, is_prefixed: bool) -> NameClaim[Key]:
    own = own_name(tool, definition)
    wished = claim_name(tool.key, tool.server or "", own, tool.plugin, is_prefixed=is_prefixed)
    return wished._replace(canonical=tool.name)


def _by_name(tools: Iterable[Tool]) -> dict[str, list[Tool]]:
    found: dict[str, list[Tool]] = {}
    for tool in tools:
        found.setdefault(tool.name, []).append(tool)
    return found


def _prompts(
    extras: Mapping[Key, ServerExtras],
    servers: Mapping[Key, Tool],
    in_force: Collection[Key],
    unprefixed: Collection[Key],
) -> Iterator[NameClaim[PromptKey]]:
    for key in sorted((key for key in extras if key in servers and key in in_force), key=str):
        row = servers[key]
        for prompt in extras[key].prompts:
            own = prompt["name"]
            yield claim_name((key, own), row.server or "", own, row.plugin, is_prefixed=key not in unprefixed)


def _upstreams(servers: Mapping[Key, Tool], known: CatalogSources) -> Iterator[tuple[Key, Upstream]]:
    """List whom the gateway may ask: what was decided about is what stands in the file now."""
    for key, row in servers.items():
        declaration = known.declarations.get(key)
        if declaration is None or declaration.digest != row.digest:
            continue
        workspace, home = known.context.workspace.dir, known.context.home
        if is_own(declaration):
            yield key, own_upstream(declaration, workspace)
            continue
        made = upstream(declaration, workspace=workspace, home=home, deadline=DEADLINE)
        if made is not None:
            run = known.plan.run(row.server or "", row.plugin)
            yield (
                key,
                replace(
                    made,
                    sharing=None if run.sessions is None else Sharing(run.sessions),
                    inherits=True if run.inherit_env is None else run.inherit_env,
                    patience=run.deadline or PATIENCE,
                ),
            )
