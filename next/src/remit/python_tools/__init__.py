"""Tools written in Python: each is available only while its states, condition and location allow it."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.python_tools.registry import (
        Ask,
        ListedTool,
        Location,
        ToolReasons,
        ToolRegistry,
        refused_call,
    )
    from remit.python_tools.registry import ToolRegistry as StateAwareRegistry
    from remit.python_tools.server import annotations, serve
    from remit.python_tools.states import DetectedState
    from remit.python_tools.tools import (
        CLIENT,
        DefinedTool,
        check_arguments,
        define,
        error_text,
        location_scope,
        marks_of,
        requires,
        result_text,
        run_tool,
        tool,
    )

_MODULES = {
    "registry": "Ask ListedTool Location ToolReasons ToolRegistry refused_call",
    "server": "annotations serve",
    "states": "DetectedState",
    "tools": "CLIENT DefinedTool check_arguments define error_text location_scope marks_of requires"
    " result_text run_tool tool",
}
_HOMES = {
    name: f"remit.python_tools.{module}" for module, names in _MODULES.items() for name in names.split()
}


def __getattr__(name: str) -> object:
    if name == "StateAwareRegistry":
        return __getattr__("ToolRegistry")
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.python_tools` has no attribute `{name}`")
