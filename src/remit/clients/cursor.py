"""Cursor: the user's file and a project's file."""

import os

from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.server_entries import EntryRule
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import VariableSyntax
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS

NAME = "cursor"

SERVERS = ServerFiles(client=NAME, read_entry=EntryRule())


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    SERVERS.read(reader, os.path.join(reader.machine.home, ".cursor", "mcp.json"), Scope.GLOBAL)
    SERVERS.read_in_project(reader, ".cursor", "mcp.json")


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(VariableSyntax.DOLLAR_ENV, VariableSyntax.WORKSPACE),
    behavior=NEVER_ASKS,
)
