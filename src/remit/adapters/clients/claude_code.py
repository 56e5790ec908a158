"""Claude Code: `.mcp.json` here and in every directory above; `~/.claude.json` for user and local servers."""

import os

from remit.adapters.clients.files import FileError, Machine
from remit.adapters.clients.reading import Client, Origin, Parsed, Place, declare_servers
from remit.adapters.clients.wire import EntryError, Fields, Server, remote_server, stdio_server, storable
from remit.core.names import normalise
from remit.core.projects import Workspace
from remit.core.scopes import Scope, ancestors

NAME = "claude-code"
CONFIG_DIR = "CLAUDE_CONFIG_DIR"

_PROJECT_FILE_LIMIT = 16 * 2**20
_STATE_FILE_LIMIT = 256 * 2**20  # the client keeps history in it: tens of megabytes are seen
_REMOTE = frozenset({"http", "streamable-http", "sse", "ws"})
_RESERVED = frozenset(
    {"__proto__", "workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"}
)


def places(workspace: Workspace, machine: Machine) -> list[Place]:
    """Name the files that count in a workspace."""
    config = machine.variables.get(CONFIG_DIR) or machine.home
    state = Place(path=os.path.join(config, ".claude.json"), limit=_STATE_FILE_LIMIT, parse=parse_state_file)
    shared = [os.path.join(dir, ".mcp.json") for dir in ancestors(workspace.dir)]
    return [
        state,
        *(Place(path=path, limit=_PROJECT_FILE_LIMIT, parse=parse_project_file) for path in shared),
    ]


def parse_project_file(content: object, path: str, workspace: Workspace) -> Parsed:
    """Read a `.mcp.json`; a flat map of servers is not one.

    Raises:
        FileError: the file as a whole is not one.
    """
    parsed = Parsed(source=path)
    try:
        top = Fields(content)
        if "mcpServers" not in top:
            raise EntryError("`mcpServers` is missing")
        servers = top.object("mcpServers")
    except EntryError as error:
        raise FileError(str(error)) from None
    origin = Origin(
        client=NAME,
        source=path,
        scope=Scope.PROJECT,
        place="mcpServers",
        project_hash=workspace.project.hash,
        dir=os.path.dirname(path),
    )
    declare_servers(servers, origin, parsed, read_entry=_read_entry)
    return parsed


def parse_state_file(content: object, path: str, workspace: Workspace) -> Parsed:
    """Read `~/.claude.json`: the user's servers, and this project's local ones with what is switched off.

    Raises:
        FileError: the file as a whole is not one.
    """
    parsed = Parsed(source=path)
    try:
        top = Fields(content)
    except EntryError as error:
        raise FileError(str(error)) from None
    key = workspace.project.path.replace(os.sep, "/")
    here = f'projects["{key}"]'
    user = Origin(client=NAME, source=path, scope=Scope.GLOBAL, place="mcpServers")
    local = Origin(
        client=NAME,
        source=path,
        scope=Scope.LOCAL,
        place=f"{here}.mcpServers",
        project_hash=workspace.project.hash,
    )
    with parsed.part(user.place):
        declare_servers(top.object("mcpServers"), user, parsed, read_entry=_read_entry)
    with parsed.part(here):
        project = top.object("projects").object(key)
        with parsed.part(local.place):
            declare_servers(project.object("mcpServers"), local, parsed, read_entry=_read_entry)
        with parsed.part(f"{here}.disabledMcpServers"):
            parsed.disabled.update(map(storable, project.texts("disabledMcpServers")))
        with parsed.part(f"{here}.disabledMcpjsonServers"):
            parsed.rejected.update(map(normalise, project.texts("disabledMcpjsonServers")))
    return parsed


def _read_entry(name: str, entry: Fields) -> Server:
    if name in _RESERVED:
        raise EntryError("the name is reserved by the client")
    transport = entry.text("type") if "type" in entry else "stdio"
    if transport in _REMOTE:
        return remote_server(entry, transport)
    if transport != "stdio":
        raise EntryError("type: not one of stdio, http, streamable-http, sse, ws")
    if "command" not in entry and "url" in entry:
        raise EntryError('`url` without a remote `type`; add "type": "http"')
    return stdio_server(entry)


CLIENT = Client(name=NAME, variables=(CONFIG_DIR,), places=places)
