"""Remit gives every AI agent exactly the tools it should have, and can always say why."""

TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.bootstrap import open_registry
    from remit.decision.context import Context as Context
    from remit.decision.decide import Decision, Verdict, decide
    from remit.decision.kinds import Kind as Kind
    from remit.decision.scopes import Scope as Scope
    from remit.decision.tools import Tool as Tool
    from remit.errors import RemitError
    from remit.filters.filter_functions import FilterTool as FilterTool
    from remit.filters.filter_functions import ToolFilterContext as ToolFilterContext
    from remit.hooks.hook_context import record_use
    from remit.python_tools.decorators import location_scope as location_scope
    from remit.python_tools.decorators import requires, tool
    from remit.python_tools.tool_registry import ToolRegistry
    from remit.registry import Registry
    from remit.search.tool_filter import ToolFilter, filter_tools

__version__ = "0.1.0"

__all__ = [
    "Decision",
    "Registry",
    "RemitError",
    "ToolFilter",
    "ToolRegistry",
    "Verdict",
    "decide",
    "filter_tools",
    "open_registry",
    "record_use",
    "requires",
    "tool",
]

_HOMES = {
    "Decision": "remit.decision.decide",
    "Registry": "remit.registry",
    "RemitError": "remit.errors",
    "ToolFilter": "remit.search.tool_filter",
    "ToolRegistry": "remit.python_tools.tool_registry",
    "Verdict": "remit.decision.decide",
    "decide": "remit.decision.decide",
    "filter_tools": "remit.search.tool_filter",
    "open_registry": "remit.bootstrap",
    "record_use": "remit.hooks.hook_context",
    "requires": "remit.python_tools.decorators",
    "tool": "remit.python_tools.decorators",
    # For decisions, filters and locations; not part of `import *`.
    "Context": "remit.decision.decide",
    "FilterTool": "remit.filters.filter_functions",
    "Kind": "remit.decision.kinds",
    "Scope": "remit.decision.scopes",
    "Tool": "remit.decision.tools",
    "ToolFilterContext": "remit.filters.filter_functions",
    "location_scope": "remit.python_tools.decorators",
}


def __getattr__(name: str) -> object:
    # Imported on demand: a hook process imports this package and has only milliseconds.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module `remit` has no attribute `{name}`")
