"""opencode: JSONC files from the user's to the launch directory's, merged key by key."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from remit.clients.parsing import platform_paths
from remit.clients.parsing.client_reader import Client, ClientReader, EntryOrigin, ParsedFile
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.install_reading import has_gateway
from remit.clients.parsing.layered_files import FileLayer, declare_layers, deep_merge
from remit.clients.parsing.permission_rules import RuleWriter
from remit.clients.parsing.server_entries import ServerEntry, remote
from remit.decision.declared_launch import Launch, Transport, VariableSyntax
from remit.decision.scopes import Scope, ancestors
from remit.decision.settings_rules import NEVER_ASKS, Effect, SettingsRule
from remit.files.bounded_reader import FileError, Machine, read_head
from remit.files.formats import parse_jsonc

NAME = "opencode"
CONFIG = "OPENCODE_CONFIG"
CONFIG_DIR = "OPENCODE_CONFIG_DIR"
CONFIG_CONTENT = "OPENCODE_CONFIG_CONTENT"
DISABLE_PROJECT = "OPENCODE_DISABLE_PROJECT_CONFIG"

_NAMES = ("opencode.json", "opencode.jsonc")


class _Place(NamedTuple):
    path: str
    scope: Scope = Scope.GLOBAL
    dir: str | None = None


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    layers = [_read_layer(reader, place) for place in _places(reader)]
    layers += _session_layer(reader)
    managed = _managed_directory(reader.machine)
    layers += [_read_layer(reader, _Place(os.path.join(managed, name), Scope.MANAGED)) for name in _NAMES]
    declare_layers(reader, layers, read_entry=read_entry, merge=deep_merge)
    servers = list(dict.fromkeys(name for layer in layers for name in layer.servers))
    for layer in layers:
        with reader.part(layer.origin.source, "permission") as parsed:
            parsed.rules += permission_rules(layer.permissions, layer.origin.source, servers)


def permission_rules(top: EntryFields, source: str, servers: Sequence[str]) -> list[SettingsRule]:
    """Read `tools` and `permission` of one file, in their order: the last rule that matches a tool decides.

    Raises:
        EntryError: a field has a wrong type.
    """
    switches, permission = RuleWriter(source, "tools"), RuleWriter(source, "permission")
    rules: list[SettingsRule] = []
    for name, is_on in top.fields("tools").items():
        effect = Effect.ALLOWS_TOOL if is_on is True else Effect.DENIES_TOOL
        rules += switches.joined(effect, name, servers, "")
    content = dict(top.items()).get("permission", {})
    actions = {"*": content} if isinstance(content, str) else dict(top.fields("permission").items())
    for name, action in actions.items():
        if isinstance(action, str) and action in _ACTIONS:
            rules += permission.joined(_ACTIONS[action], name, servers, "")
        elif isinstance(action, dict):  # by arguments, which the client checks itself
            rules += [
                permission.rule(_ACTIONS[word], f"{name}({pattern})")
                for pattern, word in cast("dict[str, object]", action).items()
                if isinstance(word, str) and word in _ACTIONS
            ]
    return [permission.rule(Effect.ORDERS_RULES, ""), *rules] if rules else []


_ACTIONS = {"allow": Effect.ALLOWS_TOOL, "ask": Effect.ASKS_ABOUT_TOOL, "deny": Effect.DENIES_TOOL}


def _places(reader: ClientReader) -> Iterator[_Place]:
    """List all files except the administrator's, weakest first."""
    variables, home, here = reader.machine.variables, reader.machine.home, reader.workspace.dir
    config = os.path.join(platform_paths.xdg_config(reader.machine), "opencode")
    yield from (_Place(os.path.join(config, name)) for name in ("config.json", *_NAMES))
    if variables.get(CONFIG):
        yield _Place(os.path.join(here, variables[CONFIG]))
    dirs = () if variables.get(DISABLE_PROJECT, "").lower() in ("1", "true") else _project_directories(reader)
    for dir in reversed(dirs):
        yield from (_Place(os.path.join(dir, name), Scope.PROJECT, dir) for name in _NAMES)
    folders = [
        _Place(os.path.join(dir, ".opencode"), Scope.PROJECT, dir)
        for dir in dirs
        if dir != os.path.realpath(home)
    ]
    folders.append(_Place(os.path.join(home, ".opencode")))
    if variables.get(CONFIG_DIR):
        folders.append(_Place(os.path.join(here, variables[CONFIG_DIR])))
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
        return read_head(path, size=8, within=[os.path.dirname(path)]) == "gitdir: "
    except FileError:
        return False


def _managed_directory(machine: Machine) -> str:
    match machine.platform:
        case "darwin":
            return f"{machine.root}/Library/Application Support/opencode"
        case "win32":
            return os.path.join(platform_paths.program_data(machine), "opencode")
        case _:
            return f"{machine.root}/etc/opencode"


def _read_layer(reader: ClientReader, place: _Place) -> FileLayer:
    return _layer(reader, place, reader.fields(place.path, parse_config))


def _session_layer(reader: ClientReader) -> list[FileLayer]:
    """Read the configuration in an environment variable."""
    text = reader.machine.variables.get(CONFIG_CONTENT)
    if not text:
        return []
    place = _Place(f"${CONFIG_CONTENT}", Scope.DYNAMIC)
    layers: list[FileLayer] = []
    try:
        with reader.part(place.path):
            layers.append(_layer(reader, place, EntryFields(parse_config(text))))
    except FileError as error:
        reader.note(place.path, error.reason, error.place)
    return layers


def _layer(reader: ClientReader, place: _Place, top: EntryFields) -> FileLayer:
    project_hash = reader.workspace.project.hash if place.scope in (Scope.PROJECT, Scope.DYNAMIC) else None
    origin = EntryOrigin(
        client=NAME,
        source=place.path,
        scope=place.scope,
        place="mcp",
        project_hash=project_hash,
        dir=place.dir,
    )
    servers: dict[str, object] = {}
    with reader.part(place.path) as parsed:
        servers = parse_servers(top, parsed)
    return FileLayer(origin=origin, servers=servers, permissions=top)


def parse_config(text: str) -> object:
    """Parse a file; an empty one is an empty object.

    Raises:
        FileError: the text is not valid JSON with comments.
    """
    return parse_jsonc(text) if text.strip() else {}


def parse_servers(top: EntryFields, into: ParsedFile) -> dict[str, object]:
    """Read the servers of one file, before merging.

    Each entry must be complete, or only enable or disable a server of a weaker file. Entries are under `mcp`,
    or in the newer layout under `mcp.servers`.
    """
    found: dict[str, object] = {}
    for name, entry in _entries(top.fields("mcp")).items():
        with into.part(f"mcp.{name}"):
            found[name] = _checked(EntryFields(entry))
    return found


def _entries(servers: EntryFields) -> dict[str, object]:
    entries = {name: entry for name, entry in servers.items() if name != "__proto__"}
    newer = entries.get("servers")
    if not isinstance(newer, dict) or _is_server(cast("dict[str, object]", newer)):
        return entries
    older = {name: entry for name, entry in entries.items() if name not in ("servers", "timeout")}
    return {**older, **{name: _lowered(it) for name, it in cast("dict[str, object]", newer).items()}}


def _lowered(entry: object) -> object:
    """Convert an entry of the newer layout to the older one: enabled unless `disabled`."""
    if not isinstance(entry, dict) or "type" not in entry:
        return cast("object", entry)
    fields = cast("dict[str, object]", entry)
    return {"enabled": fields.get("disabled") is not True, **fields}


def _is_server(entry: dict[str, object]) -> bool:
    return isinstance(entry.get("type"), str) or isinstance(entry.get("enabled"), bool)


def _checked(entry: EntryFields) -> dict[str, object]:
    try:
        read_entry("", entry)
    except EntryError:
        is_on = dict(entry.items()).get("enabled")
        if not isinstance(is_on, bool):
            raise
        return {"enabled": is_on}
    return dict(entry.items())


def read_entry(_name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry.

    Raises:
        EntryError: the client would not start with it, or could not start the server.
    """
    is_off = entry.flag("enabled") is False
    match entry.text("type"):
        case "local":
            return ServerEntry(_process(entry), is_off)
        case "remote":
            return ServerEntry(remote(entry, Transport.HTTP), is_off)
        case _:
            raise EntryError("type: not one of local, remote")


def _process(entry: EntryFields) -> Launch:
    command, *args = entry.texts("command") or [""]
    if not command:
        raise EntryError("command: must not be empty")
    cwd = entry.text("cwd") if "cwd" in entry else None
    return Launch(command=command, args=tuple(args), env=entry.pairs("environment"), cwd=cwd)


CLIENT = Client(
    name=NAME,
    read=read,
    syntaxes=(VariableSyntax.BRACE_ENV, VariableSyntax.BRACE_FILE),
    behavior=NEVER_ASKS,
    leaves_servers=has_gateway(NAME),
)
