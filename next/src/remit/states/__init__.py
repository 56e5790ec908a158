"""The states of a workspace: what detectors find, what applications push, and what workflows set."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.states.changes import StateReport, States
    from remit.states.detectors import Look, Reading
    from remit.states.snapshots import LOCATION, SnapshotReader, implying

_MODULES = {
    "changes": "StateReport States",
    "detectors": "Look Reading",
    "snapshots": "LOCATION SnapshotReader implying",
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
