"""Claude Desktop: one file, which the Windows store's edition keeps elsewhere."""

import os

from remit.adapters.clients import places
from remit.adapters.clients.entries import EntryRule
from remit.adapters.clients.reading import Client, Reader
from remit.adapters.clients.server_files import ServerFiles
from remit.core.client_settings import NEVER_ASKS
from remit.core.launch import Transport
from remit.core.scopes import Scope

NAME = "claude-desktop"

SERVERS = ServerFiles(
    client=NAME, read_entry=EntryRule(types={"stdio": Transport.STDIO}, urls=()), is_settings=True
)

_FILE = os.path.join("Claude", "claude_desktop_config.json")
_STORE = os.path.join("Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming")


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    SERVERS.read(reader, os.path.join(places.app_data(reader.machine), _FILE), Scope.GLOBAL)
    if reader.machine.platform == "win32":
        SERVERS.read(reader, os.path.join(places.local(reader.machine), _STORE, _FILE), Scope.GLOBAL)


CLIENT = Client(
    name=NAME,
    variables=(*places.CONFIG_VARIABLES, places.LOCALAPPDATA),
    read=read,
    syntaxes=(),
    habits=NEVER_ASKS,
)
