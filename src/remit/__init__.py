"""Remit gives every AI agent exactly the tools it should have, and can always say why."""

TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.bootstrap import open_registry
    from remit.decision.context import Context
    from remit.decision.decide import Decision, Verdict, decide
    from remit.decision.kinds import Kind
    from remit.decision.scopes import Scope
    from remit.decision.tools import Tool
    from remit.errors import RemitError
    from remit.filters.filter_functions import FilterTool as FilterTool
    from remit.filters.filter_functions import ToolFilterContext as ToolFilterContext
    from remit.hooks.hook_context import record_use
    from remit.python_tools.decorators import location_scope as location_scope
    from remit.python_tools.decorators import requires as requires
    from remit.python_tools.decorators import tool as tool
    from remit.python_tools.tool_registry import ToolRegistry as ToolRegistry
    from remit.registry import Registry
    from remit.search.tool_filter import ToolFilter as ToolFilter
    from remit.search.tool_filter import filter_tools

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
    "Context": "remit.decision.decide",
    "Decision": "remit.decision.decide",
    "Kind": "remit.decision.kinds",
    "Registry": "remit.registry",
    "RemitError": "remit.errors",
    "Scope": "remit.decision.scopes",
    "Tool": "remit.decision.tools",
    "Verdict": "remit.decision.decide",
    "decide": "remit.decision.decide",
    "filter_tools": "remit.search.tool_filter",
    "open_registry": "remit.bootstrap",
    "record_use": "remit.hooks.hook_context",
    # For defining tools and filters in Python; not part of `import *`.
    "FilterTool": "remit.filters.filter_functions",
    "ToolFilter": "remit.search.tool_filter",
    "ToolFilterContext": "remit.filters.filter_functions",
    "ToolRegistry": "remit.python_tools.tool_registry",
    "location_scope": "remit.python_tools.decorators",
    "requires": "remit.python_tools.decorators",
    "tool": "remit.python_tools.decorators",
}


def __getattr__(name: str) -> object:
    # Imported on demand: a hook process imports this package and has only milliseconds.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module `remit` has no attribute `{name}`")
