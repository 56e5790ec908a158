"""What is visible here: catalogs, what an endpoint serves, costs, explanations, filters."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.catalog.catalog import Catalog
    from remit.catalog.contexts import ALL_CLIENTS, DEFAULT_CLIENT
    from remit.catalog.declared import JoinedConfigurations
    from remit.catalog.registry import Registry
    from remit.catalog.rows import tools_named

_MODULES = {
    "catalog": "Catalog",
    "contexts": "ALL_CLIENTS DEFAULT_CLIENT",
    "declared": "JoinedConfigurations",
    "registry": "Registry",
    "rows": "tools_named",
}
_HOMES = {name: f"remit.catalog.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.catalog` has no attribute `{name}`")
