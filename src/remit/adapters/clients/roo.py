"""Roo Code: a file of its extension in VS Code, and one in a project."""

import os

from remit.adapters.clients import places
from remit.adapters.clients.entries import Entry, EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.adapters.clients.wire import EntryError, Fields
from remit.core.client_settings import Asks, Habits
from remit.core.launch import Syntax, Transport
from remit.core.scopes import Scope

NAME = "roo"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "sse": Transport.SSE, "streamable-http": Transport.HTTP},
    untyped=None,
    switch="disabled",
)


def read_entry(name: str, entry: Fields) -> Entry:
    """Read one entry, which has either a command or a URL."""
    if "command" in entry and "url" in entry:
        raise EntryError("`command` and `url` are both there; one of them must go")
    return _ENTRY(name, entry)


SERVERS = ServerFiles(client=NAME, read_entry=read_entry)


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    storage = os.path.join(places.code_user(reader.machine), "globalStorage", "rooveterinaryinc.roo-cline")
    SERVERS.read(reader, os.path.join(storage, "settings", "mcp_settings.json"), Scope.GLOBAL)
    SERVERS.read_in_project(reader, ".roo", "mcp.json")


CLIENT = Client(
    name=NAME,
    variables=places.CONFIG_VARIABLES,
    read=read,
    syntaxes=(Syntax.DOLLAR_ENV, Syntax.WORKSPACE),
    habits=Habits(asks=Asks.NEVER, off_shadows=False),
)
