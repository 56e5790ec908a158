"""The states of a workspace: what detectors find, what applications push, and what workflows set."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.states.detectors import Comparison, Detector, Look, Observation

_HOMES = dict.fromkeys(("Comparison", "Detector", "Look", "Observation"), "remit.states.detectors")


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
