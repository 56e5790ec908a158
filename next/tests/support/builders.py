"""Builders of small values with visible defaults: workspaces, contexts, tools, declarations, rules."""

from typing import Any

from remit.decision import (
    Context,
    Declaration,
    Kind,
    Launch,
    ListTarget,
    Origin,
    RuleStrength,
    Scope,
    Status,
    Tool,
    ToolList,
    ToolRule,
    Workspace,
    glob,
    identify,
    server_name,
    tool_globs,
)

CLIENT = "claude-code"
SHOP = Workspace(dir="/code/shop", checkout="/code/shop", project=identify("/code/shop"))
BLOG = Workspace(dir="/code/blog", checkout="/code/blog", project=identify("/code/blog"))
_SOURCE = "/home/ada/.claude.json"


def context(workspace: Workspace = SHOP, client: str | None = CLIENT, **fields: Any) -> Context:
    return Context(workspace=workspace, client=client, home="/home/ada", **fields)


def server(
    label: str = "git",
    *,
    scope: Scope = Scope.GLOBAL,
    workspace: Workspace = SHOP,
    dir: str | None = None,
    client: str = CLIENT,
    source: str = _SOURCE,
    **fields: Any,
) -> Tool:
    return Tool(
        client=client,
        kind=Kind.MCP_SERVER,
        scope=scope,
        project_hash=_hash(scope, workspace),
        dir=(dir or workspace.dir) if scope is Scope.PROJECT else None,
        agent=fields.pop("agent", None),
        server=label,
        name=server_name(label, fields.get("plugin")),
        source=source,
        **fields,
    )


def tool(
    name: str = "mcp__git__status",
    *,
    scope: Scope = Scope.GLOBAL,
    workspace: Workspace = SHOP,
    dir: str | None = None,
    client: str = CLIENT,
    kind: Kind | None = None,
    **fields: Any,
) -> Tool:
    parts = name.split("__")
    is_servers = name.startswith("mcp__")
    kinds = {True: Kind.MCP_TOOL, False: Kind.SLASH_COMMAND if name.startswith("/") else Kind.BUILTIN}
    return Tool(
        client=client,
        kind=kind or kinds[is_servers],
        scope=scope,
        project_hash=_hash(scope, workspace),
        dir=(dir or workspace.dir) if scope is Scope.PROJECT else None,
        agent=fields.pop("agent", None),
        server=fields.pop("server", parts[1] if is_servers else None),
        name=name,
        source=fields.pop("source", _SOURCE),
        **fields,
    )


def declared(
    label: str = "git",
    scope: Scope = Scope.GLOBAL,
    *,
    dir: str | None = None,
    plugin: str | None = None,
    endpoint: str | None = None,
    kind: Kind = Kind.MCP_SERVER,
    status: Status = Status.ENABLED,
    shadows: bool = True,
    launch: Launch | None = None,
) -> Declaration:
    return Declaration(
        client=CLIENT,
        kind=kind,
        scope=scope,
        project_hash=None if scope in (Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN) else SHOP.project.hash,
        dir=dir or ("/code/shop" if scope is Scope.PROJECT else None),
        agent=None,
        server=label if kind is Kind.MCP_SERVER else None,
        name=server_name(label, plugin) if kind is Kind.MCP_SERVER else label,
        plugin=plugin,
        source=f"/files/{scope}",
        endpoint=endpoint if launch is None else launch.endpoint,
        digest=None if launch is None else launch.digest,
        launch=launch,
        status=status,
        shadows=shadows,
    )


def rule(pattern: str, *, strength: RuleStrength = RuleStrength.MACHINE, **says: Any) -> ToolRule:
    """Return what a file says of the tools that match a pattern."""
    origin = Origin("/home/ada/remit.toml", f"tools.{pattern}", 3)
    return ToolRule(pattern, tool_globs(pattern), strength, origin, **says)


def listed(
    *patterns: str, allows: bool = False, server: str | None = None, agent: str | None = None
) -> ToolList:
    """Return an allow or block list, of a server or an agent if one is named."""
    target = ListTarget.SERVER if server else ListTarget.AGENT if agent else ListTarget.ALL
    key = "allow" if allows else "block"
    forms = tuple((text, (glob(text),) if server else tool_globs(text)) for text in patterns)
    return ToolList(
        target, glob(server or agent or "*"), forms, allows, Origin("/home/ada/remit.toml", key, 1)
    )


def _hash(scope: Scope, workspace: Workspace) -> str | None:
    return None if scope in (Scope.GLOBAL, Scope.MANAGED) else workspace.project.hash
