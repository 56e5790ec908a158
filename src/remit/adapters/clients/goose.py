"""Goose: `extensions` in its configuration, of which some are MCP servers."""

import os

from remit.adapters.clients import places
from remit.adapters.clients.entries import Entry, EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.adapters.clients.wire import Fields
from remit.adapters.files import Machine
from remit.adapters.formats import parse_yaml
from remit.core.client_settings import NEVER_ASKS
from remit.core.launch import Transport
from remit.core.scopes import Scope

NAME = "goose"
PATH_ROOT = "GOOSE_PATH_ROOT"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "sse": Transport.SSE, "streamable_http": Transport.HTTP},
    command="cmd",
    env="envs",
    urls=("uri",),
    switch="enabled",
)


def read_entry(name: str, entry: Fields) -> Entry | None:
    """Read one entry; what Goose brings itself is no server."""
    return _ENTRY(name, entry) if entry.text("type") in _ENTRY.types else None


SETTINGS = ServerFiles(
    client=NAME, read_entry=read_entry, keys=("extensions",), is_settings=True, format=parse_yaml
)


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    SETTINGS.read(reader, os.path.join(_config(reader.machine), "config.yaml"), Scope.GLOBAL)


def _config(machine: Machine) -> str:
    if root := machine.variables.get(PATH_ROOT):
        return os.path.join(root, "config")
    if machine.platform == "win32":
        return os.path.join(places.roaming(machine), "Block", "goose", "config")
    return os.path.join(places.config(machine), "goose")


CLIENT = Client(
    name=NAME, variables=(PATH_ROOT, *places.CONFIG_VARIABLES), read=read, syntaxes=(), habits=NEVER_ASKS
)
