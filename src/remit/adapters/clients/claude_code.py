"""Claude Code: its servers at every scope, and the settings that decide about them."""

import os
from functools import partial

from remit.adapters.clients.claude_settings import parse_settings, read_answers
from remit.adapters.clients.reading import Client, ConfigFile, Origin, Parsed, declare_servers
from remit.adapters.clients.wire import EntryError, Fields, Server, remote_server, stdio_server
from remit.adapters.files import Machine
from remit.core.client_settings import Effect, Level, Rule
from remit.core.projects import Workspace
from remit.core.scopes import Scope, ancestors

NAME = "claude-code"
CONFIG_DIR = "CLAUDE_CONFIG_DIR"

_MANAGED = {
    "linux": "/etc/claude-code",
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:\\Program Files\\ClaudeCode",
}
_STATE_FILE_LIMIT = 256 * 2**20  # the client keeps history in it: tens of megabytes are seen
_REMOTE = frozenset({"http", "streamable-http", "sse", "ws"})
_RESERVED = frozenset(
    {"__proto__", "workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"}
)


def files(workspace: Workspace, machine: Machine) -> list[ConfigFile]:
    """Name the files that count in a workspace."""
    config = machine.variables.get(CONFIG_DIR)
    state = os.path.join(config or machine.home, ".claude.json")
    user = os.path.join(config or os.path.join(machine.home, ".claude"), "settings.json")
    managed = machine.root + _MANAGED.get(machine.platform, _MANAGED["linux"])
    fragments = os.path.join(managed, "managed-settings.d")
    shared = [os.path.join(dir, ".mcp.json") for dir in ancestors(workspace.dir)]
    personal = dict.fromkeys((workspace.dir, workspace.project.path))  # the last one is the stronger
    return [
        ConfigFile(path=os.path.join(managed, "managed-mcp.json"), parse=parse_managed_file),
        _settings(os.path.join(managed, "managed-settings.json"), Level.MANAGED),
        ConfigFile(path=fragments, parse=None),
        *(_settings(path, Level.MANAGED) for path in _json_files(fragments)),
        ConfigFile(path=state, limit=_STATE_FILE_LIMIT, parse=parse_state_file),
        _settings(user, Level.USER),
        # A project's settings count in the launch directory alone; the personal ones of its root everywhere.
        _settings(os.path.join(workspace.dir, ".claude", "settings.json"), Level.PROJECT),
        *(_settings(os.path.join(dir, ".claude", "settings.local.json"), Level.LOCAL) for dir in personal),
        *(ConfigFile(path=path, parse=parse_project_file) for path in shared),
    ]


def _settings(path: str, level: Level) -> ConfigFile:
    return ConfigFile(path=path, parse=partial(parse_settings, level=level))


def _json_files(directory: str) -> list[str]:
    try:
        return sorted(
            os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".json")
        )
    except OSError:
        return []


def parse_managed_file(content: object, path: str, _workspace: Workspace) -> Parsed:
    """Read a `managed-mcp.json`: where there is one, its servers are all there are."""
    parsed = Parsed(source=path)
    parsed.rules.append(Rule(source=path, level=Level.MANAGED, effect=Effect.EXCLUDES))
    with parsed.part(""):
        servers = Fields(content).fields("mcpServers")
        origin = Origin(client=NAME, source=path, scope=Scope.MANAGED, place="mcpServers")
        declare_servers(servers, origin, parsed, read_entry=_read_entry)
    return parsed


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
        read_answers(project, here, parsed)
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


CLIENT = Client(name=NAME, variables=(CONFIG_DIR,), files=files)
