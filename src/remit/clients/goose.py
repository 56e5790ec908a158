"""Goose: `extensions` in its configuration, some of them MCP servers."""

import os

from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.entry_fields import EntryFields
from remit.clients.parsing.server_entries import EntryRule, ServerEntry
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import Transport
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS
from remit.files.bounded_reader import Machine
from remit.files.formats import parse_yaml

NAME = "goose"
PATH_ROOT = "GOOSE_PATH_ROOT"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "sse": Transport.SSE, "streamable_http": Transport.HTTP},
    command="cmd",
    env="envs",
    urls=("uri",),
    switch="enabled",
)


def read_entry(name: str, entry: EntryFields) -> ServerEntry | None:
    """Read one entry; None for Goose's built-in extensions."""
    return _ENTRY(name, entry) if entry.text("type") in _ENTRY.types else None


SETTINGS = ServerFiles(
    client=NAME, read_entry=read_entry, keys=("extensions",), is_settings=True, format=parse_yaml
)


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    SETTINGS.read(reader, os.path.join(_config(reader.machine), "config.yaml"), Scope.GLOBAL)


def _config(machine: Machine) -> str:
    if root := machine.variables.get(PATH_ROOT):
        return os.path.join(root, "config")
    if machine.platform == "win32":
        return os.path.join(platform_paths.roaming(machine), "Block", "goose", "config")
    return os.path.join(platform_paths.config(machine), "goose")


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(),
    behavior=NEVER_ASKS,
)
