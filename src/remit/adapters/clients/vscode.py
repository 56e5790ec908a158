"""VS Code: the user's file, those of profiles, the older place in the settings, and a project's file."""

import os

from remit.adapters.clients import places
from remit.adapters.clients.entries import EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.adapters.clients.wire import Fields
from remit.adapters.formats import parse_jsonc
from remit.core.client_settings import NEVER_ASKS
from remit.core.launch import Syntax, Transport
from remit.core.scopes import Scope

NAME = "vscode"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "http": Transport.HTTP, "sse": Transport.SSE}, read_env=Fields.scalars
)
SERVERS = ServerFiles(client=NAME, read_entry=_ENTRY, keys=("servers",), is_settings=True, format=parse_jsonc)
SETTINGS = ServerFiles(
    client=NAME, read_entry=_ENTRY, keys=("mcp", "servers"), is_settings=True, format=parse_jsonc
)


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    user = places.code_user(reader.machine)
    profiles = os.path.join(user, "profiles")
    SETTINGS.read(reader, os.path.join(user, "settings.json"), Scope.GLOBAL)
    for profile in reader.names_in(profiles):
        SERVERS.read(reader, os.path.join(profiles, profile, "mcp.json"), Scope.GLOBAL)
    SERVERS.read(reader, os.path.join(user, "mcp.json"), Scope.GLOBAL)
    SERVERS.read_in_project(reader, ".vscode", "mcp.json")


CLIENT = Client(
    name=NAME,
    variables=places.CONFIG_VARIABLES,
    read=read,
    syntaxes=(Syntax.DOLLAR_ENV, Syntax.INPUT, Syntax.WORKSPACE),
    habits=NEVER_ASKS,
)
