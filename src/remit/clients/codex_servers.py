"""Codex's server entries, and its plugins: which are enabled here, where they are, and their servers."""

import os

from remit.clients.parsing.client_reader import ClientReader, EntryOrigin, off_status, plugin_row
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.layered_files import FileLayer, deep_merge
from remit.clients.parsing.server_entries import ServerEntry
from remit.decision.declared_launch import Launch, Transport, VariableSyntax
from remit.decision.scopes import Scope

_MANIFESTS = (".codex-plugin", ".claude-plugin")
NAME = "codex"

_FOR_A_PROCESS = ("args", "env", "env_vars", "cwd")
_FOR_A_URL = (
    "url",
    "auth",
    "bearer_token_env_var",
    "env_http_headers",
    "http_headers",
    "http_headers_helper",
    "oauth",
    "oauth_resource",
)


def plugin_layers(
    reader: ClientReader, home: str, here: dict[str, object], everywhere: dict[str, object]
) -> list[FileLayer]:
    """Read the configured plugins; of two servers with one name, the plugin first by name wins."""
    plugins = _plugins(here)
    known_everywhere = _plugins(everywhere)
    layers: list[FileLayer] = []
    for id in sorted(plugins, reverse=True):
        is_personal = id in known_everywhere and known_everywhere[id] == plugins[id]
        project_hash = None if is_personal else reader.workspace.project.hash
        layers += _layer(reader, home, id, plugins[id], project_hash)
    return layers


def _plugins(settings: dict[str, object]) -> dict[str, object]:
    try:
        if EntryFields(settings).fields("features").flag("plugins") is False:
            return {}
        return dict(EntryFields(settings).fields("plugins").items())
    except EntryError:
        return {}


def _layer(
    reader: ClientReader, home: str, id: str, entry: object, project_hash: str | None
) -> list[FileLayer]:
    plugin, _, marketplace = id.rpartition("@")
    folder = _copy(reader, os.path.join(home, "plugins", "cache", marketplace, plugin))
    found = _manifest(reader, folder)
    if found is None:
        return []
    layers: list[FileLayer] = []
    manifest_path, content = found
    with reader.part(manifest_path) as parsed:
        manifest, switches = EntryFields(content), EntryFields(entry)
        is_off = switches.flag("enabled") is False
        source, servers = _servers(reader, folder, manifest_path, manifest)
        origin = EntryOrigin(
            client=NAME, source=source, scope=Scope.PLUGIN, place="mcpServers", project_hash=project_hash
        )
        parsed.declarations.append(plugin_row(origin, id, own_status=off_status(is_off)))
        if not is_off:
            own = dict(switches.fields("mcp_servers").items())
            servers = {name: deep_merge(entry, own.get(name, {})) for name, entry in servers.items()}
            layers.append(FileLayer(origin=origin, servers=servers))
    return layers


def _copy(reader: ClientReader, folder: str) -> str:
    """Find the version in use: a local one, else the highest."""
    versions = reader.names_in(folder)
    if "local" in versions or not versions:
        return os.path.join(folder, "local")
    numbers = {version: _number(version) for version in versions}
    if all(numbers.values()):
        return os.path.join(folder, max(versions, key=lambda version: numbers[version]))
    return os.path.join(folder, max(versions))


def _number(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(map(int, parts)) if len(parts) == 3 and all(part.isdecimal() for part in parts) else ()


def _manifest(reader: ClientReader, folder: str) -> tuple[str, object] | None:
    for name in _MANIFESTS:
        path = os.path.join(folder, name, "plugin.json")
        content = reader.content(path)
        if content is not None:
            return path, content[0]
    return None


def _servers(
    reader: ClientReader, folder: str, path: str, manifest: EntryFields
) -> tuple[str, dict[str, object]]:
    """Read the servers in the manifest, in the file it names, or in the `.mcp.json` next to it."""
    named = dict(manifest.items()).get("mcpServers", ".mcp.json")
    if not isinstance(named, str):
        return path, dict(EntryFields(named).items())
    file = os.path.normpath(os.path.join(folder, named))
    servers = reader.fields(file)
    return file, dict((servers.fields("mcpServers") if "mcpServers" in servers else servers).items())


def read_entry(_name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry.

    Raises:
        EntryError: the client would not start with it, or would skip it in a plugin.
    """
    is_off = entry.flag("enabled") is False
    if "bearer_token" in entry:
        raise EntryError("`bearer_token` is not supported; use `bearer_token_env_var`")
    if "command" in entry:
        _refuse(entry, _FOR_A_URL, "command")
        return ServerEntry(_process(entry), is_off)
    if "url" in entry:
        _refuse(entry, _FOR_A_PROCESS, "url")
        return ServerEntry(_remote(entry), is_off)
    raise EntryError("neither `command` nor `url` is given, here or in a file that this one overrides")


def _process(entry: EntryFields) -> Launch:
    passed_on = {(name := _variable(item)): _named(name) for item in entry.items_of("env_vars")}
    return Launch(
        command=entry.text("command"),
        args=tuple(entry.texts("args")),
        env={**passed_on, **entry.pairs("env")},
        cwd=entry.text("cwd") if "cwd" in entry else None,
    )


def _remote(entry: EntryFields) -> Launch:
    headers = {name: _named(variable) for name, variable in entry.pairs("env_http_headers").items()}
    if "bearer_token_env_var" in entry:
        headers["Authorization"] = f"Bearer {_named(entry.text('bearer_token_env_var'))}"
    headers |= entry.pairs("http_headers")
    return Launch(transport=Transport.HTTP, url=entry.text("url"), headers=headers)


def _named(variable: str) -> str:
    """Refer to a variable in a syntax that the client's literal texts cannot contain."""
    return VariableSyntax.NAMED.replace("X", variable)


def _variable(item: object) -> str:
    return item if isinstance(item, str) else EntryFields(item).text("name")


def _refuse(entry: EntryFields, fields: tuple[str, ...], beside: str) -> None:
    for field in fields:
        if field in entry:
            raise EntryError(f"`{field}` cannot be combined with `{beside}`")
