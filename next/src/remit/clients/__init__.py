"""Every client that Remit knows: reads its files, installs into them, and takes that back."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_install import TargetFile, Wanted, edit_rules, project_settings
    from remit.clients.fields import EntryError, EntryFields
    from remit.clients.install import Installer, Plan, PlannedChange
    from remit.clients.other_installs import STEPS, TAKING_OVER
    from remit.clients.reader import (
        ClientReading,
        ExecutedSetting,
        Ignored,
        Kept,
        MissingServer,
        Mod,
        SettingsFacts,
        read_client,
    )
    from remit.clients.record import (
        GatewayEntry,
        InstallLevel,
        InstallRecord,
        RecordedEnvironment,
        environment_of,
        gateway_entry,
        load_record,
        managed_environment,
        read_edits,
        read_environment,
        record_path,
        unrecorded,
    )
    from remit.clients.scan import ClientPresence, Scanner, declaration_line, line_of, no_own_server
    from remit.clients.settings import Effect, Level, SettingsRule, declared_label, ineffective_approval
    from remit.clients.table import CLIENTS, Asks, Client, client_called, is_on_machine, marker

_MODULES = {
    "claude_install": "TargetFile Wanted edit_rules project_settings",
    "fields": "EntryError EntryFields",
    "install": "Installer Plan PlannedChange",
    "other_installs": "STEPS TAKING_OVER",
    "record": "GatewayEntry InstallLevel InstallRecord RecordedEnvironment environment_of gateway_entry"
    " load_record managed_environment read_edits read_environment record_path unrecorded",
    "reader": "SettingsFacts ClientReading ExecutedSetting Ignored Kept MissingServer Mod read_client",
    "scan": "ClientPresence Scanner declaration_line line_of no_own_server",
    "settings": "Effect Level SettingsRule declared_label ineffective_approval",
    "table": "CLIENTS Asks Client client_called is_on_machine marker",
}
_HOMES = {name: f"remit.clients.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.clients` has no attribute `{name}`")
