"""Kiro: a file of the user's, and one in a project."""

import os

from remit.adapters.clients.entries import EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.core.client_settings import NEVER_ASKS
from remit.core.launch import Syntax
from remit.core.scopes import Scope

NAME = "kiro"

SERVERS = ServerFiles(client=NAME, read_entry=EntryRule(switch="disabled"))


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    SERVERS.read(reader, os.path.join(reader.machine.home, ".kiro", "settings", "mcp.json"), Scope.GLOBAL)
    SERVERS.read_in_project(reader, ".kiro", "settings", "mcp.json")


CLIENT = Client(name=NAME, variables=(), read=read, syntaxes=(Syntax.BRACES,), habits=NEVER_ASKS)
