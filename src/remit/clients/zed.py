"""Zed: `context_servers` in its settings, the user's and a project's."""

import os

from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.entry_fields import EntryFields
from remit.clients.parsing.server_entries import EntryRule, ServerEntry
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS
from remit.files.formats import parse_jsonc

NAME = "zed"

_ENTRY = EntryRule(types={}, switch="enabled")
_OLDER = EntryRule(types={}, command="path")


def read_entry(name: str, entry: EntryFields) -> ServerEntry | None:
    """Read one entry; None without a command or URL, which configures an extension."""
    if "command" not in entry and "url" not in entry:
        return None
    if entry.is_object("command"):  # the older, nested layout
        return ServerEntry(
            _OLDER(name, entry.fields("command")).launch, is_off=entry.flag("enabled") is False
        )
    return _ENTRY(name, entry)


SETTINGS = ServerFiles(
    client=NAME, read_entry=read_entry, keys=("context_servers",), is_settings=True, format=parse_jsonc
)


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    SETTINGS.read(reader, os.path.join(_user(reader), "settings.json"), Scope.GLOBAL)
    SETTINGS.read_in_project(reader, ".zed", "settings.json")


def _user(reader: ClientReader) -> str:
    machine = reader.machine
    if machine.platform == "win32":
        return os.path.join(platform_paths.roaming(machine), "Zed")
    if machine.platform == "darwin":  # where it ignores `XDG_CONFIG_HOME`
        return os.path.join(machine.home, ".config", "zed")
    return os.path.join(platform_paths.config(machine), "zed")


CLIENT = Client(name=NAME, read=read, syntaxes=(), behavior=NEVER_ASKS)
