"""opencode: JSONC files from the user's to the launch directory's, merged key by key."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from remit.clients.fields import EntryError, EntryFields
from remit.clients.layers import FileLayer, RuleWriter, declare_layers, deep_merge
from remit.clients.reader import ClientReader, Part, origin
from remit.clients.server_files import ServerEntry, remote
from remit.clients.settings import Effect, SettingsRule
from remit.clients.table import place
from remit.decision import Launch, Scope, Transport, ancestors
from remit.files import FileError, Machine, parse_jsonc, read_start
from remit.text import as_object

_CONTENT = "OPENCODE_CONFIG_CONTENT"
_NAMES = ("opencode.json", "opencode.jsonc")
_ACTIONS = {"allow": Effect.ALLOWS_TOOL, "ask": Effect.ASKS_ABOUT_TOOL, "deny": Effect.DENIES_TOOL}


class _Source(NamedTuple):
    """A file, or the variable with the configuration of a session."""

    path: str
    scope: Scope = Scope.GLOBAL
    dir: str | None = None


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    managed = _managed_directory(reader.machine)
    sources = [
        *_sources(reader),
        _Source(f"${_CONTENT}", Scope.DYNAMIC),
        *(_Source(os.path.join(managed, name), Scope.MANAGED) for name in _NAMES),
    ]
    layers: list[FileLayer] = []
    contents: list[EntryFields] = []
    for source in sources:
        target = origin(reader, source.path, source.scope, source.dir, place="mcp")
        with reader.part(source.path) as part:
            top = _content(reader, source)
            contents.append(top)
            layers.append(FileLayer(target, _servers(top, part)))
    declare_layers(reader, layers, _read_entry, deep_merge)
    servers = list(dict.fromkeys(name for layer in layers for name in layer.servers))
    for top, source in zip(contents, sources, strict=True):
        with reader.part(source.path, "permission") as part:
            part.rules += _permission_rules(top, source.path, servers)


def _content(reader: ClientReader, source: _Source) -> EntryFields:
    if source.scope is not Scope.DYNAMIC:
        return reader.fields(source.path, _parse)
    try:
        return EntryFields(_parse(reader.machine.variables.get(_CONTENT, "")))
    except FileError as error:
        reader.note(source.path, error.reason, error.place)
    except EntryError as error:
        reader.note(source.path, str(error))
    return EntryFields({})


def _permission_rules(top: EntryFields, source: str, servers: Sequence[str]) -> list[SettingsRule]:
    """Read `tools` and `permission` of one file, in their order: the last rule that matches a tool decides.

    Raises:
        EntryError: a field has a wrong type.
    """
    switches, permission = RuleWriter(source, "tools"), RuleWriter(source, "permission")
    rules: list[SettingsRule] = []
    for name, is_on in top.fields("tools").items():
        effect = Effect.ALLOWS_TOOL if is_on is True else Effect.DENIES_TOOL
        rules += switches.joined(effect, name, servers, "")
    content = top.value("permission")
    actions = {"*": content} if isinstance(content, str) else top.fields("permission").content
    for name, action in actions.items():
        if isinstance(action, str) and action in _ACTIONS:
            rules += permission.joined(_ACTIONS[action], name, servers, "")
        rules += [  # by arguments, which the client checks itself
            permission.rule(_ACTIONS[word], f"{name}({pattern})")
            for pattern, word in as_object(action).items()
            if isinstance(word, str) and word in _ACTIONS
        ]
    return [permission.rule(Effect.ORDERS_RULES, ""), *rules] if rules else []


def _sources(reader: ClientReader) -> Iterator[_Source]:
    """List the files of the user and the project, weakest first."""
    variables, home, here = reader.machine.variables, reader.machine.home, reader.workspace.dir
    config = place("{xdg}/opencode", reader.machine)
    yield from (_Source(os.path.join(config, name)) for name in ("config.json", *_NAMES))
    if path := variables.get("OPENCODE_CONFIG"):
        yield _Source(os.path.join(here, path))
    is_off = variables.get("OPENCODE_DISABLE_PROJECT_CONFIG", "").lower() in ("1", "true")
    dirs = () if is_off else _project_directories(reader)
    for dir in reversed(dirs):
        yield from (_Source(os.path.join(dir, name), Scope.PROJECT, dir) for name in _NAMES)
    folders = [
        *(_Source(dir, Scope.PROJECT, dir) for dir in dirs if dir != os.path.realpath(home)),
        _Source(home),
    ]
    folders = [folder._replace(path=os.path.join(folder.path, ".opencode")) for folder in folders]
    if path := variables.get("OPENCODE_CONFIG_DIR"):
        folders.append(_Source(os.path.join(here, path)))
    # The outermost of these folders is the strongest, unlike the files above.
    for folder in folders:
        yield from (folder._replace(path=os.path.join(folder.path, name)) for name in _NAMES)


def _project_directories(reader: ClientReader) -> tuple[str, ...]:
    """List the directories from the launch directory up to the checkout's root, or `/` without git."""
    workspace = reader.workspace
    is_repository = _is_repository(os.path.join(workspace.checkout, ".git"))
    return ancestors(workspace.dir, up_to=workspace.checkout if is_repository else None)


def _is_repository(path: str) -> bool:
    if os.path.isdir(path):
        return all(os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs"))
    try:
        return read_start(path, size=8, within=[os.path.dirname(path)]) == b"gitdir: "
    except FileError:
        return False


def _managed_directory(machine: Machine) -> str:
    if machine.platform == "win32":
        return place("{program_data}/opencode", machine)
    folder = "/Library/Application Support" if machine.platform == "darwin" else "/etc"
    return f"{machine.root}{folder}/opencode"


def _parse(text: str) -> object:
    """Parse a file; an empty one is an empty object."""
    return parse_jsonc(text) if text.strip() else {}


def _servers(top: EntryFields, part: Part) -> dict[str, Any]:
    """Read the servers of one file, before merging.

    Each entry must be complete, or only enable or disable a server of a weaker file. Entries are under `mcp`,
    or in the newer layout under `mcp.servers`.
    """
    servers: dict[str, Any] = {}
    with part.section(""):
        for name, entry in _entries(top.fields("mcp")).items():
            with part.section(f"mcp.{name}"):
                servers[name] = _checked(EntryFields(entry))
    return servers


def _entries(servers: EntryFields) -> dict[str, Any]:
    entries = {name: entry for name, entry in servers.items() if name != "__proto__"}
    newer = as_object(entries.get("servers"))
    is_server = isinstance(newer.get("type"), str) or isinstance(newer.get("enabled"), bool)
    if is_server or not isinstance(entries.get("servers"), dict):
        return entries
    older = {name: entry for name, entry in entries.items() if name not in ("servers", "timeout")}
    return {**older, **{name: _lowered(entry) for name, entry in newer.items()}}


def _lowered(entry: object) -> object:
    """Convert an entry of the newer layout to the older one: enabled unless `disabled`."""
    fields = as_object(entry)
    return {"enabled": fields.get("disabled") is not True, **fields} if "type" in fields else entry


def _checked(entry: EntryFields) -> dict[str, Any]:
    try:
        _read_entry("", entry)
    except EntryError:
        is_on = entry.value("enabled")
        if not isinstance(is_on, bool):
            raise
        return {"enabled": is_on}
    return entry.content


def _read_entry(_name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry.

    Raises:
        EntryError: the client would not start with it, or could not start the server.
    """
    is_off = entry.flag("enabled") is False
    match entry.text("type"):
        case "local":
            command, *args = entry.texts("command") or [""]
            if not command:
                raise EntryError("command: must not be empty")
            env, cwd = entry.pairs("environment"), entry.optional_text("cwd")
            return Launch(Transport.STDIO, command, tuple(args), env, cwd), is_off
        case "remote":
            return remote(entry, Transport.HTTP), is_off
        case _:
            raise EntryError("type: not one of local, remote")
