"""Continue: a list in its configuration, and a directory of files, the user's and a project's."""

import os

from remit.adapters.clients.entries import EntryRule
from remit.adapters.clients.reading import Client, ConfigFile, Parsed, Reader, declare_servers
from remit.adapters.clients.server_files import checkout_dirs, origin
from remit.adapters.clients.wire import EntryError, Fields
from remit.adapters.formats import parse_jsonc, parse_yaml
from remit.core.client_settings import NEVER_ASKS
from remit.core.launch import Syntax
from remit.core.projects import Workspace
from remit.core.scopes import Scope

NAME = "continue"
GLOBAL_DIR = "CONTINUE_GLOBAL_DIR"

_ENTRY = EntryRule()
_FORMATS = {".yaml": parse_yaml, ".yml": parse_yaml, ".json": parse_jsonc}
_BLOCKS = "mcpServers"


def read(reader: Reader) -> None:
    """Read all files that count in a workspace."""
    home = reader.machine.variables.get(GLOBAL_DIR) or os.path.join(reader.machine.home, ".continue")
    _read_blocks(reader, os.path.join(home, _BLOCKS), Scope.GLOBAL)
    _read_file(reader, os.path.join(home, "config.yaml"), Scope.GLOBAL)
    for dir in checkout_dirs(reader.workspace):
        blocks = os.path.join(dir, ".continue", _BLOCKS)
        if blocks not in reader.inputs:  # the user's own, where the checkout is the home directory
            _read_blocks(reader, blocks, Scope.PROJECT, dir)


def _read_blocks(reader: Reader, blocks: str, scope: Scope, dir: str | None = None) -> None:
    for name in reversed(reader.names_in(blocks)):  # of two with the same server, the first counts
        if os.path.splitext(name)[1] in _FORMATS:
            _read_file(reader, os.path.join(blocks, name), scope, dir)


def _read_file(reader: Reader, path: str, scope: Scope, dir: str | None = None) -> None:
    def parse_here(content: object, path: str, workspace: Workspace) -> Parsed:
        return parse(content, path, workspace, scope=scope, dir=dir)

    reader.read(ConfigFile(path=path, parse=parse_here, format=_FORMATS[os.path.splitext(path)[1]]))


def parse(
    content: object, path: str, workspace: Workspace, *, scope: Scope, dir: str | None = None
) -> Parsed:
    """Read a file's content: a list of servers with names, a map of them, or one server by itself."""
    parsed = Parsed(source=path)
    with parsed.part(""):
        top = Fields(content)
        servers = _listed(top, parsed) if top.is_list("mcpServers") else _mapped(top, path)
        place = origin(NAME, path, workspace, scope, dir, place="mcpServers")
        declare_servers(servers, place, parsed, read_entry=_ENTRY)
    return parsed


def _listed(top: Fields, into: Parsed) -> Fields:
    servers: dict[str, object] = {}
    for at, item in enumerate(top.items_of("mcpServers")):
        with into.part(f"mcpServers[{at}]"):
            entry = Fields(item)
            if "uses" not in entry:  # a block of the hub's, which is not on this machine
                servers[entry.text("name")] = item
    return Fields(servers)


def _mapped(top: Fields, path: str) -> Fields:
    if "mcpServers" in top or not path.endswith(".json"):
        return top.fields("mcpServers")
    if "command" not in top and "url" not in top:
        raise EntryError("`mcpServers` is missing")
    return Fields({os.path.splitext(os.path.basename(path))[0]: dict(top.items())})


CLIENT = Client(name=NAME, variables=(GLOBAL_DIR,), read=read, syntaxes=(Syntax.SECRETS,), habits=NEVER_ASKS)
