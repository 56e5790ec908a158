"""klaude: four files, of which the project's settings win over its `.mcp.json`, and that over the user's."""

import os

from remit.adapters.clients.entries import EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.core.client_settings import NEVER_ASKS
from remit.core.launch import Transport
from remit.core.scopes import Scope

NAME = "klaude"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "http": Transport.HTTP, "sse": Transport.SSE}, untyped=None
)
SERVERS = ServerFiles(client=NAME, read_entry=_ENTRY)
SETTINGS = ServerFiles(client=NAME, read_entry=_ENTRY, is_settings=True)


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    home, root = reader.machine.home, reader.workspace.checkout
    SETTINGS.read(reader, os.path.join(home, ".claude", "settings.json"), Scope.GLOBAL)
    SERVERS.read(reader, os.path.join(home, ".klaude", ".mcp.json"), Scope.GLOBAL)
    SERVERS.read(reader, os.path.join(root, ".mcp.json"), Scope.PROJECT, root)
    if root != home:
        SETTINGS.read(reader, os.path.join(root, ".claude", "settings.json"), Scope.LOCAL)


CLIENT = Client(name=NAME, variables=(), read=read, habits=NEVER_ASKS)
