"""Claude Code: `.mcp.json` here and in every directory above; `~/.claude.json` for user and local servers."""

import os

from remit.adapters.clients.reading import Client, ConfigFile, Origin, Parsed, declare_servers
from remit.adapters.clients.wire import EntryError, Fields, Server, remote_server, stdio_server
from remit.adapters.files import Machine
from remit.core.declarations import Switch
from remit.core.kinds import ConfigStatus
from remit.core.names import normalise, storable
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


def files(workspace: Workspace, machine: Machine) -> list[ConfigFile]:
    """Name the files that count in a workspace."""
    config = machine.variables.get(CONFIG_DIR) or machine.home
    state = os.path.join(config, ".claude.json")
    shared = [os.path.join(dir, ".mcp.json") for dir in ancestors(workspace.dir)]
    return [
        ConfigFile(path=state, limit=_STATE_FILE_LIMIT, parse=parse_state_file),
        *(ConfigFile(path=path, limit=_PROJECT_FILE_LIMIT, parse=parse_project_file) for path in shared),
    ]


def parse_project_file(content: object, path: str, workspace: Workspace) -> Parsed:
    """Read a `.mcp.json`; a flat map of servers is not one."""
    parsed = Parsed(source=path)
    origin = Origin(
        client=NAME,
        source=path,
        scope=Scope.PROJECT,
        place="mcpServers",
        project_hash=workspace.project.hash,
        dir=os.path.dirname(path),
    )
    with parsed.part(""):
        top = Fields(content)
        if "mcpServers" not in top:
            raise EntryError("`mcpServers` is missing")
        declare_servers(top.fields("mcpServers"), origin, parsed, read_entry=_read_entry)
    return parsed


def parse_state_file(content: object, path: str, workspace: Workspace) -> Parsed:
    """Read `~/.claude.json`: the user's servers, and this project's local ones with what is switched off."""
    parsed = Parsed(source=path)
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
    with parsed.part(""):
        top = Fields(content)
        with parsed.part(""):
            declare_servers(top.fields("mcpServers"), user, parsed, read_entry=_read_entry)
        project = top.fields("projects").fields(key)
        with parsed.part(here):
            declare_servers(project.fields("mcpServers"), local, parsed, read_entry=_read_entry)
        _read_switches(project, "disabledMcpServers", ConfigStatus.DISABLED, here, parsed)
        _read_switches(project, "disabledMcpjsonServers", ConfigStatus.REJECTED, here, parsed)
    return parsed


def _read_switches(project: Fields, name: str, effect: ConfigStatus, place: str, into: Parsed) -> None:
    """Read a list of servers that are switched off; a bad item costs only itself."""
    with into.part(place):
        for at, item in enumerate(project.items_of(name)):
            if not isinstance(item, str):
                into.note(f"{place}.{name}[{at}]", "expected text")
                continue
            server = normalise(item) if effect is ConfigStatus.REJECTED else storable(item)
            into.switches.append(Switch(source=into.source, effect=effect, server=server))


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


CLIENT = Client(name=NAME, variables=(CONFIG_DIR,), files=files)
