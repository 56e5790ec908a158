"""What is visible here: catalogs, what an endpoint serves, costs, explanations, filters."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.catalog.catalog import Catalog
    from remit.catalog.changes import Watcher
    from remit.catalog.contexts import ALL_CLIENTS, DEFAULT_CLIENT
    from remit.catalog.costs import GatewayView, RequestCost, ServerCost
    from remit.catalog.declared import JoinedConfigurations
    from remit.catalog.explain import Elsewhere, Explanation, UnaskedServer
    from remit.catalog.filters import FilterTool, ToolFilterContext, ToolFilterFunction
    from remit.catalog.items import (
        DISCOVER_TOOLS,
        OWN_ITEMS,
        ROOM,
        WHY_TOOL,
        Item,
        clean_item,
        instructions,
        is_for_model,
        room_item,
    )
    from remit.catalog.names import LONGEST, ServedNames, group_name
    from remit.catalog.overview import (
        CAUSES,
        GroupedTools,
        HiddenGroup,
        ListedGroup,
        ScopeCounts,
        SortKey,
        Summary,
        group_tools,
        summarize,
    )
    from remit.catalog.registry import Registry
    from remit.catalog.rows import tools_named
    from remit.catalog.served import Served, Target, serve
    from remit.catalog.strategies import (
        TOKEN_BUDGET,
        ListedTool,
        Presentation,
        ServingPlan,
        ToolGroup,
        make_plan,
    )

_MODULES = {
    "catalog": "Catalog",
    "changes": "Watcher",
    "contexts": "ALL_CLIENTS DEFAULT_CLIENT",
    "costs": "GatewayView RequestCost ServerCost",
    "declared": "JoinedConfigurations",
    "explain": "Elsewhere Explanation UnaskedServer",
    "filters": "FilterTool ToolFilterContext ToolFilterFunction",
    "items": "DISCOVER_TOOLS OWN_ITEMS ROOM WHY_TOOL Item clean_item instructions is_for_model room_item",
    "names": "LONGEST ServedNames group_name",
    "overview": "CAUSES GroupedTools HiddenGroup ListedGroup ScopeCounts SortKey Summary"
    " group_tools summarize",
    "registry": "Registry",
    "rows": "tools_named",
    "served": "Served Target serve",
    "strategies": "TOKEN_BUDGET ListedTool Presentation ServingPlan ToolGroup make_plan",
}
_HOMES = {name: f"remit.catalog.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.catalog` has no attribute `{name}`")
