"""A server from a program: the names of its commands, labeled with scopes, and served as the states allow."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.names.command_line import Form, Parameter
    from remit.names.names_file import (
        Branch,
        Command,
        Names,
        Start,
        names_text,
        read_names,
        server_text,
        tree,
        write,
    )
    from remit.names.scopes_file import Labeled, LabeledCommand, Scopes, label, labeled_commands, read_scopes
    from remit.names.server import serve
    from remit.names.source_tree import Generated, generate

_MODULES = {
    "command_line": "Form Parameter",
    "names_file": "Branch Command Names Start names_text read_names server_text tree write",
    "scopes_file": "Labeled LabeledCommand Scopes label labeled_commands read_scopes",
    "server": "serve",
    "source_tree": "Generated generate",
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
