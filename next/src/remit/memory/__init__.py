"""Keeps what agents should remember of a project, behind the scope gate."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.memory.memory import Memory, open_memory
    from remit.memory.scope import ScopeState
    from remit.memory.server import answer, declaration, instructions, offer, with_own_server
    from remit.memory.session_start import sections

_MODULES = {
    "memory": "Memory open_memory",
    "scope": "ScopeState",
    "server": "answer declaration instructions offer with_own_server",
    "session_start": "sections",
}
_HOMES = {name: f"remit.memory.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.memory` has no attribute `{name}`")
