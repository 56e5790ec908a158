"""Answers the hooks of Claude Code, and tells sessions and people what Remit knows at their start."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.hooks.main import Parts, run

_MODULES = {
    "main": "Parts run",
}
_HOMES = {name: f"remit.hooks.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.hooks` has no attribute `{name}`")
