"""VS Code: the user's file, profiles, the older key in the settings, and a project's file."""

import os

from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.entry_fields import EntryFields
from remit.clients.parsing.server_entries import EntryRule
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import Transport, VariableSyntax
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS
from remit.files.formats import parse_jsonc

NAME = "vscode"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "http": Transport.HTTP, "sse": Transport.SSE},
    read_env=EntryFields.scalars,
)
SERVERS = ServerFiles(client=NAME, read_entry=_ENTRY, keys=("servers",), is_settings=True, format=parse_jsonc)
SETTINGS = ServerFiles(
    client=NAME, read_entry=_ENTRY, keys=("mcp", "servers"), is_settings=True, format=parse_jsonc
)


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    user = platform_paths.code_user(reader.machine)
    profiles = os.path.join(user, "profiles")
    SETTINGS.read(reader, os.path.join(user, "settings.json"), Scope.GLOBAL)
    for profile in reader.names_in(profiles):
        SERVERS.read(reader, os.path.join(profiles, profile, "mcp.json"), Scope.GLOBAL)
    SERVERS.read(reader, os.path.join(user, "mcp.json"), Scope.GLOBAL)
    SERVERS.read_in_project(reader, ".vscode", "mcp.json")


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(VariableSyntax.DOLLAR_ENV, VariableSyntax.INPUT, VariableSyntax.WORKSPACE),
    behavior=NEVER_ASKS,
)
