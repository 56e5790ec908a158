"""Cline: one file that its editions share, and the older one of the extension in VS Code."""

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

NAME = "cline"
DIR = "CLINE_DIR"
DATA_DIR = "CLINE_DATA_DIR"
SETTINGS_PATH = "CLINE_MCP_SETTINGS_PATH"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "sse": Transport.SSE, "streamableHttp": Transport.HTTP},
    untyped=Transport.SSE,
    switch="disabled",
)


def read_entry(name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry, which may hold its launch in a nested object."""
    if "transport" in entry:
        inner = _ENTRY(name, entry.fields("transport"))
        return ServerEntry(inner.launch, is_off=entry.flag("disabled") is True)
    return _ENTRY(name, entry)


SERVERS = ServerFiles(client=NAME, read_entry=read_entry)


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    storage = os.path.join(
        platform_paths.code_user(reader.machine), "globalStorage", "saoudrizwan.claude-dev"
    )
    SERVERS.read(reader, os.path.join(storage, "settings", "cline_mcp_settings.json"), Scope.GLOBAL)
    SERVERS.read(reader, _shared(reader.machine), Scope.GLOBAL)


def _shared(machine: Machine) -> str:
    variables = machine.variables
    if path := variables.get(SETTINGS_PATH):
        return path
    own = variables.get(DIR) or os.path.join(machine.home, ".cline")
    data = variables.get(DATA_DIR) or os.path.join(own, "data")
    return os.path.join(data, "settings", "cline_mcp_settings.json")


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(),
    behavior=NEVER_ASKS,
)
