"""Claude Desktop: one file, which the Windows store's edition keeps elsewhere."""

import os

from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import Client, ClientReader
from remit.clients.parsing.server_entries import EntryRule
from remit.clients.parsing.server_files import ServerFiles
from remit.decision.declared_launch import Transport
from remit.decision.scopes import Scope
from remit.decision.settings_rules import NEVER_ASKS

NAME = "claude-desktop"

SERVERS = ServerFiles(
    client=NAME, read_entry=EntryRule(types={"stdio": Transport.STDIO}, urls=()), is_settings=True
)

_FILE = os.path.join("Claude", "claude_desktop_config.json")
_STORE = os.path.join("Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming")


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    SERVERS.read(reader, os.path.join(platform_paths.app_data(reader.machine), _FILE), Scope.GLOBAL)
    if reader.machine.platform == "win32":
        SERVERS.read(reader, os.path.join(platform_paths.local(reader.machine), _STORE, _FILE), Scope.GLOBAL)


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(),
    behavior=NEVER_ASKS,
)
