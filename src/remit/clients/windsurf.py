"""Windsurf: the user's file, with remote URLs in `serverUrl`."""

import os

from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.server_entries import EntryRule
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import VariableSyntax
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS

NAME = "windsurf"

SERVERS = ServerFiles(client=NAME, read_entry=EntryRule(urls=("serverUrl", "url"), switch="disabled"))


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    SERVERS.read(
        reader, os.path.join(reader.machine.home, ".codeium", "windsurf", "mcp_config.json"), Scope.GLOBAL
    )


CLIENT = Client(name=NAME, read=read, syntaxes=(VariableSyntax.DOLLAR_ENV,), behavior=NEVER_ASKS)
