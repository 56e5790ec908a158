"""Windsurf: one file of the user's, in which a remote server's URL is its `serverUrl`."""

import os

from remit.adapters.clients.entries import EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.core.client_settings import NEVER_ASKS
from remit.core.launch import Syntax
from remit.core.scopes import Scope

NAME = "windsurf"

SERVERS = ServerFiles(client=NAME, read_entry=EntryRule(urls=("serverUrl", "url"), switch="disabled"))


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    SERVERS.read(
        reader, os.path.join(reader.machine.home, ".codeium", "windsurf", "mcp_config.json"), Scope.GLOBAL
    )


CLIENT = Client(name=NAME, variables=(), read=read, syntaxes=(Syntax.DOLLAR_ENV,), habits=NEVER_ASKS)
