"""Remit gives every AI agent exactly the tools it should have, and can always say why."""

TYPE_CHECKING = False  # as type checkers read it; `typing` itself is not needed to import this package
if TYPE_CHECKING:
    from remit.bootstrap import open_registry
    from remit.core.decide import Context, Decision, Verdict, decide
    from remit.core.kinds import Kind
    from remit.core.scopes import Scope
    from remit.core.tools import Tool
    from remit.errors import RemitError
    from remit.filtering import filter_tools
    from remit.functions.definitions import location_scope as location_scope
    from remit.functions.definitions import requires as requires
    from remit.functions.definitions import tool as tool
    from remit.functions.registry import ToolRegistry as ToolRegistry
    from remit.hot_paths import record_use
    from remit.registry import Registry

__version__ = "0.1.0"

__all__ = [
    "Context",
    "Decision",
    "Kind",
    "Registry",
    "RemitError",
    "Scope",
    "Tool",
    "Verdict",
    "decide",
    "filter_tools",
    "open_registry",
    "record_use",
]

_HOMES = {
    "Context": "remit.core.decide",
    "Decision": "remit.core.decide",
    "Kind": "remit.core.kinds",
    "Registry": "remit.registry",
    "RemitError": "remit.errors",
    "Scope": "remit.core.scopes",
    "Tool": "remit.core.tools",
    "Verdict": "remit.core.decide",
    "decide": "remit.core.decide",
    "filter_tools": "remit.filtering",
    "open_registry": "remit.bootstrap",
    "record_use": "remit.hot_paths",
    # For those who define tools in Python; named one by one, and not by `import *`.
    "ToolRegistry": "remit.functions.registry",
    "location_scope": "remit.functions.definitions",
    "requires": "remit.functions.definitions",
    "tool": "remit.functions.definitions",
}


def __getattr__(name: str) -> object:
    # Loaded when asked for: a hook process imports this package and has milliseconds.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module `remit` has no attribute `{name}`")
