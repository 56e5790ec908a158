"""Claude Code: its servers at every scope, and the settings that decide about them."""

import os
from functools import partial

from remit.clients.claude.claude_entries import NAME, read_entry
from remit.clients.claude.claude_plugins import read_plugins, read_plugins_among_skills
from remit.clients.claude.claude_settings import parse_settings, read_answers, read_trust, state_key
from remit.clients.claude.executed_settings import forget_personal
from remit.clients.claude.markdown_tools import read_tool_folders
from remit.clients.claude.permission_settings import SettingsText, read_tracking
from remit.clients.claude.settings_before_install import has_managed_gateway, is_narrowed
from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import (
    FILE_LIMIT,
    Client,
    ClientReader,
    ConfigFile,
    EntryOrigin,
    ParsedFile,
    declare_servers,
)
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.server_files import origin
from remit.decision.declared_launch import VariableSyntax
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope, ancestors
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import SERVER
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text
from remit.files.formats import parse_json
from remit.install.install_record import EditedFile

CONFIG_DIR = "CLAUDE_CONFIG_DIR"
PLUGIN_DIR = "CLAUDE_CODE_PLUGIN_CACHE_DIR"

_MANAGED = {
    "linux": "/etc/claude-code",
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:\\Program Files\\ClaudeCode",
}
MANAGED_SETTINGS = "managed-settings.json"
MANAGED_SERVERS = "managed-mcp.json"
_SEARCH = "ENABLE_TOOL_SEARCH"
# `auto` sends all definitions that fit a limit
_SEARCH_ON = frozenset({"", "true", "1", "yes", "on", "force"})
_STATE_FILE_LIMIT = 256 * 2**20  # holds history too: tens of megabytes are common


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    machine = reader.machine
    home = config_home(machine)
    managed = managed_directory(machine)
    read_managed_servers(reader, os.path.join(managed, MANAGED_SERVERS))
    for path, level in _settings_files(reader, managed):
        own = _own_edits(reader, path)
        text = SettingsText()
        parse = partial(parse_settings, level=level, own=own, text=text)
        reader.read(ConfigFile(path=path, format=text.parse, parse=parse))
        if path in reader.unreadable:  # it may enable plugins
            reader.lost.add(Scope.PLUGIN)
            with reader.part(path) as parsed:
                parsed.rules.append(SettingsRule(source=path, level=level, effect=Effect.IS_UNREADABLE))
    reader.read(ConfigFile(path=state_path(machine), parse=parse_state_file, limit=_STATE_FILE_LIMIT))
    read_tracking(reader)
    forget_personal(reader)
    for path in reader.flags.mcp_configs:
        reader.read(ConfigFile(path=path, parse=parse_session_file))
    for dir in ancestors(reader.workspace.dir):
        reader.read(ConfigFile(path=os.path.join(dir, ".mcp.json"), parse=parse_project_file))
    read_tool_folders(reader, home, managed)
    read_plugins(reader, machine.variables.get(PLUGIN_DIR) or os.path.join(home, "plugins"))
    read_plugins_among_skills(reader, home)


def managed_directory(machine: Machine) -> str:
    """Return the directory of the administrator's settings and servers."""
    return platform_paths.of_administrator(machine, _MANAGED)


def config_home(machine: Machine) -> str:
    """Return the directory of the user's settings, skills and plugins."""
    return machine.variables.get(CONFIG_DIR) or os.path.join(machine.home, ".claude")


def settings_path(machine: Machine) -> str:
    """Return the path of the user's settings."""
    return os.path.join(config_home(machine), "settings.json")


def state_path(machine: Machine) -> str:
    """Return the path of the user's servers, which also holds the client's state."""
    return os.path.join(machine.variables.get(CONFIG_DIR) or machine.home, ".claude.json")


def _settings_files(reader: ClientReader, managed: str) -> list[tuple[str, SettingsLevel]]:
    """List the settings files; the last of a level is the strongest."""
    workspace, fragments = reader.workspace, os.path.join(managed, "managed-settings.d")
    names = [name for name in reader.names_in(fragments) if name.endswith(".json")]
    return [
        (os.path.join(managed, MANAGED_SETTINGS), SettingsLevel.MANAGED),
        *((os.path.join(fragments, name), SettingsLevel.MANAGED) for name in names),
        (settings_path(reader.machine), SettingsLevel.USER),
        # A project's settings apply in the launch directory only; the root's personal ones below it too.
        (os.path.join(workspace.dir, ".claude", "settings.json"), SettingsLevel.PROJECT),
        *(
            (os.path.join(dir, ".claude", "settings.local.json"), SettingsLevel.LOCAL)
            for dir in dict.fromkeys((workspace.dir, workspace.project.path))
        ),
    ]


def read_managed_servers(reader: ClientReader, path: str) -> None:
    """Read a `managed-mcp.json`; if it exists, even broken, no other servers count.

    One that Remit itself made leaves the others to Remit: then this holds for the client only.
    """
    reader.read(ConfigFile(path=path, parse=parse_managed_file))
    if reader.inputs[path]:
        own, servers = (
            _own_edits(reader, path),
            [it.server for part in reader.parsed for it in part.declarations],
        )
        with reader.part(path) as parsed:
            rule = SettingsRule(source=path, level=SettingsLevel.MANAGED, effect=Effect.EXCLUDES)
            if own is not None and SERVER in servers:
                parsed.own_rules.append(rule)
            if own is None or not own.is_new or servers != [SERVER]:
                parsed.rules.append(rule)


def _own_edits(reader: ClientReader, path: str) -> EditedFile | None:
    """Find what Remit wrote into a file."""
    return next((file for record in reader.installs if (file := record.file(path))), None)


def parse_managed_file(top: EntryFields, into: ParsedFile, _workspace: Workspace) -> None:
    """Read the administrator's servers."""
    origin = EntryOrigin(client=NAME, source=into.source, scope=Scope.MANAGED, place="mcpServers")
    declare_servers(top.fields("mcpServers"), origin, into, read_entry=read_entry)


def parse_project_file(top: EntryFields, into: ParsedFile, workspace: Workspace) -> None:
    """Read a `.mcp.json`; a flat map of servers is not valid."""
    _declare_servers(top, into, workspace, Scope.PROJECT, dir=os.path.dirname(into.source))


def parse_session_file(top: EntryFields, into: ParsedFile, workspace: Workspace) -> None:
    """Read a file passed with `--mcp-config`."""
    _declare_servers(top, into, workspace, Scope.DYNAMIC)


def _declare_servers(
    top: EntryFields, into: ParsedFile, workspace: Workspace, scope: Scope, dir: str | None = None
) -> None:
    top.require_servers("mcpServers")
    place = origin(NAME, into.source, workspace, scope, dir, place="mcpServers")
    declare_servers(top.fields("mcpServers"), place, into, read_entry=read_entry)


def parse_state_file(top: EntryFields, into: ParsedFile, workspace: Workspace) -> None:
    """Read `~/.claude.json`: the user's servers, this project's local servers, and the disabled ones."""
    key = state_key(workspace.project.path)
    here = f'projects["{key}"]'
    user = origin(NAME, into.source, workspace, Scope.GLOBAL, place="mcpServers")
    local = origin(NAME, into.source, workspace, Scope.LOCAL, place=f"{here}.mcpServers")
    with into.part(""):
        declare_servers(top.fields("mcpServers"), user, into, read_entry=read_entry)
    projects = top.fields("projects")
    read_trust(projects, workspace, into)
    project = projects.fields(key)
    with into.part(here):
        declare_servers(project.fields("mcpServers"), local, into, read_entry=read_entry)
    read_answers(project, here, into)


def leaves_servers(machine: Machine) -> bool:
    """Tell whether the client loads Remit in place of its servers."""
    servers = os.path.join(managed_directory(machine), MANAGED_SERVERS)
    return is_narrowed(NAME, settings_path(machine), machine) or has_managed_gateway(NAME, servers, machine)


def searches_itself(client: str | None, machine: Machine) -> bool:
    """Tell whether a client's own tool search is on: Claude Code's is, unless a variable turns it off.

    The client gives its servers and hooks the variables of its settings, so only commands that a person types
    need the user's file.
    """
    if client != NAME:
        return False
    value = _in_settings(machine).get(_SEARCH) or machine.variables.get(_SEARCH, "")
    return value.strip().lower() in _SEARCH_ON


def _in_settings(machine: Machine) -> dict[str, str]:
    try:
        text = read_text(settings_path(machine), limit=FILE_LIMIT, within=ANYWHERE)
        return {} if text is None else EntryFields(parse_json(text)).pairs("env")
    except (FileError, EntryError):
        return {}


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(VariableSyntax.DEFAULTS,),
    leaves_servers=leaves_servers,
)
