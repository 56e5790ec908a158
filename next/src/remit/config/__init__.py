"""Remit's own configuration: reads, checks and merges its files, and compiles them into rules and states."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.config.check import VARIABLES, Finding, unmatched
    from remit.config.compile import (
        Configuration,
        Embeddings,
        Lock,
        Room,
        Sandbox,
        ServerOptions,
        ServerRule,
        StateRule,
        ToolPattern,
        TrustRequest,
        state_rule,
        tool_rule,
    )
    from remit.config.detectors import Comparison, Detector, Scalar, action
    from remit.config.edit import read_table, remove_key, set_key
    from remit.config.fields import ConfigKey, Merge, Mistake, ProjectRight, Table, Tables, Value
    from remit.config.files import (
        LOCK,
        Layer,
        config_paths,
        data_directory,
        machine_path,
        managed_path,
        personal_path,
        shared_path,
    )
    from remit.config.keys import STRATEGIES, check_tools
    from remit.config.load import Configurations
    from remit.config.reference import config_keys, reference_page

_MODULES = {
    "check": "VARIABLES Finding unmatched",
    "compile": "Configuration Embeddings Lock Room Sandbox ServerOptions ServerRule StateRule ToolPattern"
    " TrustRequest state_rule tool_rule",
    "detectors": "Comparison Detector Scalar action",
    "edit": "read_table remove_key set_key",
    "fields": "ConfigKey Merge Mistake ProjectRight Table Tables Value",
    "files": "LOCK Layer config_paths data_directory machine_path managed_path personal_path shared_path",
    "keys": "STRATEGIES check_tools",
    "load": "Configurations",
    "reference": "config_keys reference_page",
}
_HOMES = {name: f"remit.config.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.config` has no attribute `{name}`")
