"""The condition language of rules, a strict subset of CEL: parsed, checked, evaluated and explained."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.decision.when.check import (
        LOCATION,
        CelType,
        ConditionMistake,
        Schema,
        Vocabulary,
        mistakes_in,
    )
    from remit.decision.when.condition import Condition, LocationScope, Mentions, StateScope

_MODULES = {  # hooks check nothing
    "check": "LOCATION CelType ConditionMistake Schema Vocabulary mistakes_in",
    "condition": "Condition LocationScope Mentions StateScope",
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
