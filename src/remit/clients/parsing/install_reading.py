"""Reads what an install put into a client: our gateway, and the switches of the servers that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.decision.client_settings import ClientSettings, declared_label
from remit.decision.kinds import RUNS, Kind
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import SERVER
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text
from remit.install.install_record import InstallRecord, read
from remit.install.install_record_path import record_path, record_paths

if TYPE_CHECKING:
    from remit.clients.parsing.client_reader import ClientReader
    from remit.decision.declarations import Declaration
    from remit.decision.settings_rules import ClientBehavior

RECORD_LIMIT = 16 * 2**20  # bytes
_OWN_SCOPES = (Scope.GLOBAL, Scope.MANAGED)  # only the user and the administrator write their files


def read_installs(reader: ClientReader, client: str) -> list[InstallRecord]:
    """Read the install records of a client: the user's and the administrator's; note invalid ones."""
    return [
        record
        for path in record_paths(client, reader.machine)
        if reader.look_at(path) and (record := _read_install(reader, path)) is not None
    ]


def _read_install(reader: ClientReader, path: str) -> InstallRecord | None:
    try:
        text = read_text(path, limit=RECORD_LIMIT, within=ANYWHERE)
        return None if text is None else read(text)
    except FileError as error:
        reader.note(path, error.reason, error.place)
    except ValueError as error:
        reader.note(path, str(error))
    return None


def has_gateway(client: str) -> Callable[[Machine], bool]:
    """Tell of a client whether an install put our gateway in the place of its servers."""

    def check(machine: Machine) -> bool:
        try:
            text = read_text(record_path(client, machine), limit=RECORD_LIMIT, within=ANYWHERE)
            return text is not None and read(text).gateway is not None
        except (FileError, ValueError):
            return False

    return check


def switched_off(
    reader: ClientReader, as_client: ClientReader, behavior: ClientBehavior
) -> Iterator[SettingsRule]:
    """Yield a rule for each server that the client does not load because an install switched it off.

    The second reader reads the files as the client does: another file may switch a server on again.
    """
    settings = ClientSettings(as_client.rules, behavior=behavior)
    loaded = {declared_label(item) for item in _servers(as_client) if settings.status(item) in RUNS}
    labels = dict.fromkeys(map(declared_label, _servers(reader)))
    for install in reader.installs:
        source = install.gateway.source if install.gateway is not None else ""
        for label in labels:
            if label in install.switched and label not in loaded:
                yield SettingsRule(
                    source=source, level=SettingsLevel.USER, effect=Effect.DISABLES, subject=label
                )


def _servers(reader: ClientReader) -> list[Declaration]:
    found = (item for part in reader.parsed for item in part.declarations)
    return [item for item in found if item.kind is Kind.MCP_SERVER]


def mark_gateway(declaration: Declaration, installs: Iterable[InstallRecord]) -> Declaration:
    """Mark a declaration if it is our gateway: in the recorded file, with the recorded command line."""
    launch = declaration.launch
    if launch is None or declaration.server != SERVER or declaration.scope not in _OWN_SCOPES:
        return declaration
    found = (declaration.source, (launch.command, *launch.args))
    is_own = declaration.plugin is None and any(record.gateway == found for record in installs)
    return replace(declaration, is_remit=is_own)
