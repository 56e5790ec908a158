"""Builders of small values with visible defaults: contexts, tools, declarations, config files."""

from collections.abc import Callable, Mapping

from remit.decision.context import Context
from remit.decision.declarations import Declaration
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.projects import Workspace, identify
from remit.decision.scopes import Scope
from remit.decision.tool_names import server_name
from remit.decision.tools import Tool, Winner
from remit.registry import Registry

CLIENT = "claude-code"
SHOP = Workspace(dir="/code/shop", checkout="/code/shop", project=identify("/code/shop"))
BLOG = Workspace(dir="/code/blog", checkout="/code/blog", project=identify("/code/blog"))


def context(workspace: Workspace = SHOP, client: str | None = CLIENT) -> Context:
    return Context(workspace=workspace, client=client, home="/home/ada")


def server(
    label: str = "git",
    *,
    scope: Scope = Scope.GLOBAL,
    workspace: Workspace = SHOP,
    dir: str | None = None,
    client: str = CLIENT,
    status: ToolStatus = ToolStatus.ACTIVE,
    config_status: ConfigStatus | None = ConfigStatus.ENABLED,
    shadowed_by: Winner | None = None,
    is_trusted: bool | None = None,
    usage_count: int = 0,
) -> Tool:
    return Tool(
        name=server_name(label),
        kind=Kind.MCP_SERVER,
        client=client,
        scope=scope,
        project_hash=None if scope in (Scope.GLOBAL, Scope.MANAGED) else workspace.project.hash,
        dir=(dir or workspace.dir) if scope is Scope.PROJECT else None,
        server=label,
        source="/home/ada/.claude.json",
        authority=Authority.CONFIG,
        status=status,
        config_status=config_status,
        shadowed_by=shadowed_by,
        is_trusted=is_trusted,
        usage_count=usage_count,
    )


def declared(
    label: str = "git",
    scope: Scope = Scope.GLOBAL,
    *,
    dir: str | None = None,
    plugin: str | None = None,
    endpoint: str | None = None,
    digest: str | None = None,
    kind: Kind = Kind.MCP_SERVER,
    is_remit: bool = False,
) -> Declaration:
    return Declaration(
        name=server_name(label, plugin),
        kind=kind,
        client=CLIENT,
        scope=scope,
        source=f"/files/{scope}",
        project_hash=None if scope in (Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN) else SHOP.project.hash,
        dir=dir or ("/code/shop" if scope is Scope.PROJECT else None),
        server=label,
        plugin=plugin,
        endpoint=endpoint,
        digest=digest,
        is_remit=is_remit,
    )


def servers(*labels: str, **entries: Mapping[str, object]) -> dict[str, object]:
    """Return the content of a `.mcp.json`."""
    plain = {label: {"command": f"run-{label}"} for label in labels}
    return {"mcpServers": {**plain, **entries}}


def visible_names(
    registry: Registry, at: Context, *, keep: Callable[[Tool], bool] = lambda _: True
) -> list[str]:
    """List the visible tools as scope and label."""
    return sorted(
        f"{tool.scope} {tool.server or tool.name}"
        for tool, decision in registry.tools(at)
        if decision.is_available and keep(tool)
    )
