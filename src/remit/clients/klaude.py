"""klaude: four server files, where the most specific wins, and agents."""

import os

from remit.clients.claude.markdown_tools import ToolFolder, read_folder
from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.server_entries import EntryRule
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import Transport
from remit.decision.kinds import Kind
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS

NAME = "klaude"

_ENTRY = EntryRule(
    types={"stdio": Transport.STDIO, "http": Transport.HTTP, "sse": Transport.SSE}, untyped=None
)
SERVERS = ServerFiles(client=NAME, read_entry=_ENTRY)
SETTINGS = ServerFiles(client=NAME, read_entry=_ENTRY, is_settings=True)


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    home, root = reader.machine.home, reader.workspace.checkout
    SETTINGS.read(reader, os.path.join(home, ".claude", "settings.json"), Scope.GLOBAL)
    SERVERS.read(reader, os.path.join(home, ".klaude", ".mcp.json"), Scope.GLOBAL)
    SERVERS.read(reader, os.path.join(root, ".mcp.json"), Scope.PROJECT, root)
    if root != home:
        SETTINGS.read(reader, os.path.join(root, ".claude", "settings.json"), Scope.LOCAL)
        hash = reader.workspace.project.hash
        _read_agents(
            reader, root, ToolFolder(folder="", client=NAME, scope=Scope.PROJECT, project_hash=hash, dir=root)
        )
    _read_agents(reader, home, ToolFolder(folder="", client=NAME, scope=Scope.GLOBAL))


def _read_agents(reader: ClientReader, base: str, target: ToolFolder) -> None:
    read_folder(reader, target, Kind.SUBAGENT, os.path.join(base, ".claude", "agents"))


CLIENT = Client(name=NAME, read=read, syntaxes=(), behavior=NEVER_ASKS)
