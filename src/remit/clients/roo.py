"""Roo Code: its extension's file in VS Code, and a project's file."""

import os

from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.server_entries import EntryRule, ServerEntry
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import Transport, VariableSyntax
from remit.decision.scopes import Scope
from remit.decision.settings_rules import ApprovalPrompt, ClientBehavior

NAME = "roo"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "sse": Transport.SSE, "streamable-http": Transport.HTTP},
    untyped=None,
    switch="disabled",
)


def read_entry(name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry, with either a command or a URL."""
    if "command" in entry and "url" in entry:
        raise EntryError("both `command` and `url` are set; remove one")
    return _ENTRY(name, entry)


SERVERS = ServerFiles(client=NAME, read_entry=read_entry)


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    storage = os.path.join(
        platform_paths.code_user(reader.machine), "globalStorage", "rooveterinaryinc.roo-cline"
    )
    SERVERS.read(reader, os.path.join(storage, "settings", "mcp_settings.json"), Scope.GLOBAL)
    SERVERS.read_in_project(reader, ".roo", "mcp.json")


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(VariableSyntax.DOLLAR_ENV, VariableSyntax.WORKSPACE),
    behavior=ClientBehavior(asks=ApprovalPrompt.NEVER, off_shadows=False),
)
