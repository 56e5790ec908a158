"""Zed: `context_servers` in its settings, the user's and a project's."""

import os

from remit.adapters.clients import places
from remit.adapters.clients.entries import Entry, EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.adapters.clients.wire import Fields
from remit.adapters.formats import parse_jsonc
from remit.core.client_settings import NEVER_ASKS
from remit.core.scopes import Scope

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
        return os.path.join(places.roaming(machine), "Zed")
    if machine.platform == "darwin":  # `XDG_CONFIG_HOME` means nothing to it there
        return os.path.join(machine.home, ".config", "zed")
    return os.path.join(places.config(machine), "zed")


CLIENT = Client(name=NAME, variables=places.CONFIG_VARIABLES, read=read, syntaxes=(), habits=NEVER_ASKS)
