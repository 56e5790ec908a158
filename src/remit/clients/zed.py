"""Zed: `context_servers` in its settings, the user's and a project's."""

import os

from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import Client, Reader
from remit.clients.parsing.entry_fields import Fields
from remit.clients.parsing.server_entries import Entry, EntryRule
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS
from remit.files.formats import parse_jsonc

NAME = "zed"

_ENTRY = EntryRule(types={}, switch="enabled")
_OLDER = EntryRule(types={}, command="path")


def read_entry(name: str, entry: Fields) -> Entry | None:
    """Read one entry; one with neither a command nor a URL sets up what an extension brings."""
    if "command" not in entry and "url" not in entry:
        return None
    if entry.is_object("command"):  # as it was written before the fields were put side by side
        return Entry(_OLDER(name, entry.fields("command")).launch, is_off=entry.flag("enabled") is False)
    return _ENTRY(name, entry)


SETTINGS = ServerFiles(
    client=NAME, read_entry=read_entry, keys=("context_servers",), is_settings=True, format=parse_jsonc
)


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    SETTINGS.read(reader, os.path.join(_user(reader), "settings.json"), Scope.GLOBAL)
    SETTINGS.read_in_project(reader, ".zed", "settings.json")


def _user(reader: Reader) -> str:
    machine = reader.machine
    if machine.platform == "win32":
        return os.path.join(platform_paths.roaming(machine), "Zed")
    if machine.platform == "darwin":  # `XDG_CONFIG_HOME` means nothing to it there
        return os.path.join(machine.home, ".config", "zed")
    return os.path.join(platform_paths.config(machine), "zed")


CLIENT = Client(
    name=NAME, variables=platform_paths.CONFIG_VARIABLES, read=read, syntaxes=(), behavior=NEVER_ASKS
)
