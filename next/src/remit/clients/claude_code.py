"""Claude Code: its files at every scope, and which of them count."""

import os
from collections.abc import Iterator

from remit.clients.claude_markdown import read_tool_folders
from remit.clients.claude_plugins import read_plugins
from remit.clients.claude_settings import (
    executed_settings,
    parse_answers,
    parse_managed_servers,
    parse_settings,
    read_entry,
)
from remit.clients.fields import EntryError, EntryFields
from remit.clients.reader import ClientReader, Ignored, Part, origin
from remit.clients.server_files import declare_servers
from remit.clients.settings import Effect, Level
from remit.decision import SERVER, Scope, Workspace, ancestors
from remit.files import Machine, index_path, is_tracked

_MANAGED = {
    "linux": "/etc/claude-code",
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:\\Program Files\\ClaudeCode",
}
_STATE_FILE_LIMIT = 256 * 2**20  # bytes; it holds history, too: tens of megabytes are common
# `auto` sends all definitions that fit a limit.
_SEARCH_ON = frozenset({"", "true", "1", "yes", "on", "force"})
_SEARCH = "ENABLE_TOOL_SEARCH"
_SCOPES = {Level.USER: Scope.GLOBAL, Level.PROJECT: Scope.PROJECT, Level.LOCAL: Scope.LOCAL}


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    machine = reader.machine
    home, managed = config_home(machine), managed_directory(machine)
    reader.searches = _is_search_on(machine.variables.get(_SEARCH, ""))
    _read_managed_servers(reader, managed_servers_path(machine))
    for path, level in _settings_files(reader, managed):
        _read_settings(reader, path, level)
    _read_state(reader, state_path(machine))
    _note_tracked(reader)
    for path in reader.flags.mcp_configs:
        _read_servers(reader, path, Scope.DYNAMIC)
    for dir in ancestors(reader.workspace.dir):
        _read_servers(reader, os.path.join(dir, ".mcp.json"), Scope.PROJECT, dir)
    read_tool_folders(reader, home, managed)
    read_plugins(
        reader, machine.variables.get("CLAUDE_CODE_PLUGIN_CACHE_DIR") or os.path.join(home, "plugins"), home
    )


def managed_directory(machine: Machine) -> str:
    """Return the directory of the administrator's settings and servers."""
    return machine.root + _MANAGED.get(machine.platform, _MANAGED["linux"])


def managed_servers_path(machine: Machine) -> str:
    """Return the path of the administrator's servers."""
    return os.path.join(managed_directory(machine), "managed-mcp.json")


def config_home(machine: Machine) -> str:
    """Return the directory of the user's settings, skills and plugins."""
    return machine.variables.get("CLAUDE_CONFIG_DIR") or os.path.join(machine.home, ".claude")


def state_path(machine: Machine) -> str:
    """Return the path of the user's servers, which also holds the client's state."""
    return os.path.join(machine.variables.get("CLAUDE_CONFIG_DIR") or machine.home, ".claude.json")


def state_key(path: str) -> str:
    """Write a path as a key of the client's `projects`."""
    return path.replace(os.sep, "/")


def _settings_files(reader: ClientReader, managed: str) -> Iterator[tuple[str, Level]]:
    """Yield the settings files; the last of a level is the strongest."""
    workspace, fragments = reader.workspace, os.path.join(managed, "managed-settings.d")
    names = [name for name in reader.names_in(fragments) if name.endswith(".json")]
    yield os.path.join(managed, "managed-settings.json"), Level.MANAGED
    yield from ((os.path.join(fragments, name), Level.MANAGED) for name in names)
    yield os.path.join(config_home(reader.machine), "settings.json"), Level.USER
    # A project's settings apply in the launch directory only; the root's personal ones below it too.
    yield os.path.join(workspace.dir, ".claude", "settings.json"), Level.PROJECT
    for dir in dict.fromkeys((workspace.dir, workspace.project.path)):
        yield os.path.join(dir, ".claude", "settings.local.json"), Level.LOCAL


def _read_settings(reader: ClientReader, path: str, level: Level) -> None:
    content = reader.content(path)
    if level in (Level.MANAGED, Level.USER):
        reader.everywhere.add(path)
    if level is Level.MANAGED:
        reader.has_managed_settings |= reader.inputs[path] != ""
    if content is None:
        return
    with reader.part(path) as part:
        settings = EntryFields(content[0])
        parse_settings(settings, part, level)
        if level is Level.MANAGED:
            parse_managed_servers(settings, part)
        elif level is Level.USER:
            value = settings.fields("env").value(_SEARCH) if settings.is_object("env") else None
            reader.searches = _is_search_on(value) if isinstance(value, str) else reader.searches
        elif executed := list(executed_settings(settings, path)):
            is_personal = level is Level.LOCAL and _is_tracked(path, reader) is False
            reader.executed += executed if reader.within(path) and not is_personal else ()
        if level in _SCOPES:
            _read_ignored(reader, settings, path, _SCOPES[level])


def _read_ignored(reader: ClientReader, settings: EntryFields, path: str, scope: Scope) -> None:
    """Read the servers in a settings file, which the client ignores; skip invalid ones."""
    part, dir = Part(path), reader.workspace.dir if scope is Scope.PROJECT else None
    instead = os.path.join(dir, ".mcp.json") if dir is not None else state_path(reader.machine)
    with part.section(""):
        place = origin(reader, path, scope, dir, place="mcpServers")
        declare_servers(settings.fields("mcpServers"), place, part, read_entry)
    reader.ignored += [Ignored(item, instead) for item in part.declarations]


def _is_search_on(value: str) -> bool:
    return value.strip().lower() in _SEARCH_ON


def _is_tracked(path: str, reader: ClientReader) -> bool | None:
    """Return whether git tracks a file; None without an index that could tell."""
    index = index_path(path)
    return is_tracked(path) if index is not None and reader.look_at(index) else None


def _note_tracked(reader: ClientReader) -> None:
    """Mark personal settings that git tracks: in an untrusted repository, their allow rules do not count."""
    rules = reader.rules
    if any(rule.effect is Effect.TRUSTS for rule in rules):
        return
    allowing = [rule for rule in rules if rule.effect is Effect.ALLOWS_TOOL and rule.level is Level.LOCAL]
    for source in dict.fromkeys(rule.source for rule in allowing):
        if _is_tracked(source, reader):
            reader.rule(source, Level.LOCAL, Effect.IS_TRACKED)


def _read_managed_servers(reader: ClientReader, path: str) -> None:
    """Read a `managed-mcp.json`; if it exists, even broken, no other servers count.

    One that Remit itself made leaves the others to Remit.
    """
    content = reader.content(path)
    if not reader.inputs[path]:
        return
    reader.everywhere.add(path)
    with reader.part(path) as part:
        edited = reader.edits_of(path)
        if content is not None:
            servers = EntryFields(content[0]).fields("mcpServers")
            place = origin(reader, path, Scope.MANAGED, place="mcpServers")
            declare_servers(servers, place, part, read_entry)
            if edited is not None and edited.is_new and list(servers.content) == [SERVER]:
                return
    reader.rule(path, Level.MANAGED, Effect.EXCLUDES)


def _read_servers(reader: ClientReader, path: str, scope: Scope, dir: str | None = None) -> None:
    """Read a `.mcp.json`; a flat map of servers is not valid."""
    content = reader.content(path)
    if content is None:
        return
    with reader.part(path) as part:
        top = EntryFields(content[0])
        top.require_servers("mcpServers")
        place = origin(reader, path, scope, dir, place="mcpServers")
        declare_servers(top.fields("mcpServers"), place, part, read_entry)


def _read_state(reader: ClientReader, path: str) -> None:
    """Read `~/.claude.json`: the user's servers, this project's local servers, trust and answers."""
    content = reader.content(path, limit=_STATE_FILE_LIMIT)
    if content is None:
        return
    key = state_key(reader.workspace.project.path)
    here = f'projects["{key}"]'
    user = origin(reader, path, Scope.GLOBAL, place="mcpServers")
    local = origin(reader, path, Scope.LOCAL, place=f"{here}.mcpServers")
    with reader.part(path) as part:
        top = EntryFields(content[0])
        with part.section(""):
            declare_servers(top.fields("mcpServers"), user, part, read_entry)
        projects = top.fields("projects")
        _read_trust(projects, reader.workspace, reader, path)
        project = projects.fields(key)
        with part.section(here):
            declare_servers(project.fields("mcpServers"), local, part, read_entry)
        parse_answers(project, here, part)


def _read_trust(projects: EntryFields, workspace: Workspace, reader: ClientReader, path: str) -> None:
    """Read whether the user trusts the repository, or a folder between its root and the launch directory."""
    folders = ancestors(workspace.dir, up_to=workspace.checkout)
    for subject, paths in (("project", (workspace.project.path,)), ("folder", folders)):
        if any(_is_trusted(projects, path) for path in paths):
            reader.rule(path, Level.STATE, Effect.TRUSTS, subject)


def _is_trusted(projects: EntryFields, path: str) -> bool:
    try:
        return projects.fields(state_key(path)).flag("hasTrustDialogAccepted") is True
    except EntryError:
        return False
