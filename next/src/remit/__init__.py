"""Gives every AI agent exactly the tools it should have, and can always say why."""

TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.bootstrap import open_registry
    from remit.catalog import ToolFilterContext
    from remit.decision.when import LocationScope
    from remit.errors import RemitError
    from remit.python_tools import (
        DetectedState,
        StateAwareRegistry,
        ToolRegistry,
        location_scope,
        requires,
        tool,
    )
    from remit.search import ToolFilter, filter_tools

__version__ = "0.1.0"

__all__ = [
    "DetectedState",
    "LocationScope",
    "RemitError",
    "StateAwareRegistry",
    "ToolFilter",
    "ToolFilterContext",
    "ToolRegistry",
    "filter_tools",
    "location_scope",
    "open_registry",
    "requires",
    "tool",
]

_HOMES = {
    "LocationScope": "remit.decision.when",
    "RemitError": "remit.errors",
    "ToolFilter": "remit.search",
    "ToolFilterContext": "remit.catalog",
    "filter_tools": "remit.search",
    "open_registry": "remit.bootstrap",
}


def __getattr__(name: str) -> object:
    # Imported on demand: a hook process imports this package and has only milliseconds.
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(_HOMES.get(name, "remit.python_tools")), name)
    raise AttributeError(f"module `remit` has no attribute `{name}`")
