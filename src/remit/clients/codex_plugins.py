"""Codex's plugins: which are on here, where their copy lies, and the servers they bring."""

import os

from remit.clients.codex_entries import NAME
from remit.clients.parsing.client_reader import Origin, Reader, off_status, plugin_row
from remit.clients.parsing.entry_fields import EntryError, Fields
from remit.clients.parsing.layered_files import Layer, deep_merge
from remit.decision.scopes import Scope

_MANIFESTS = (".codex-plugin", ".claude-plugin")


def plugin_layers(
    reader: Reader, home: str, here: dict[str, object], everywhere: dict[str, object]
) -> list[Layer]:
    """Read the plugins that the settings name; of two with a server of one name, the first by name counts."""
    plugins = _plugins(here)
    known_everywhere = _plugins(everywhere)
    layers: list[Layer] = []
    for id in sorted(plugins, reverse=True):
        is_personal = id in known_everywhere and known_everywhere[id] == plugins[id]
        project_hash = None if is_personal else reader.workspace.project.hash
        layers += _layer(reader, home, id, plugins[id], project_hash)
    return layers


def _plugins(settings: dict[str, object]) -> dict[str, object]:
    try:
        if Fields(settings).fields("features").flag("plugins") is False:
            return {}
        return dict(Fields(settings).fields("plugins").items())
    except EntryError:
        return {}


def _layer(reader: Reader, home: str, id: str, entry: object, project_hash: str | None) -> list[Layer]:
    plugin, _, marketplace = id.rpartition("@")
    folder = _copy(reader, os.path.join(home, "plugins", "cache", marketplace, plugin))
    found = _manifest(reader, folder)
    if found is None:
        return []
    layers: list[Layer] = []
    manifest_path, content = found
    with reader.part(manifest_path) as parsed:
        manifest, switches = Fields(content), Fields(entry)
        is_off = switches.flag("enabled") is False
        source, servers = _servers(reader, folder, manifest_path, manifest)
        origin = Origin(
            client=NAME, source=source, scope=Scope.PLUGIN, place="mcpServers", project_hash=project_hash
        )
        parsed.declarations.append(plugin_row(origin, id, own_status=off_status(is_off)))
        if not is_off:
            own = dict(switches.fields("mcp_servers").items())
            servers = {name: deep_merge(entry, own.get(name, {})) for name, entry in servers.items()}
            layers.append(Layer(origin=origin, servers=servers))
    return layers


def _copy(reader: Reader, folder: str) -> str:
    """Find the version that counts: a local one, else the highest."""
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


def _manifest(reader: Reader, folder: str) -> tuple[str, object] | None:
    for name in _MANIFESTS:
        path = os.path.join(folder, name, "plugin.json")
        content = reader.content(path)
        if content is not None:
            return path, content[0]
    return None


def _servers(reader: Reader, folder: str, path: str, manifest: Fields) -> tuple[str, dict[str, object]]:
    """Read the servers in the manifest, in the file that it names, or in the `.mcp.json` beside it."""
    named = dict(manifest.items()).get("mcpServers", ".mcp.json")
    if not isinstance(named, str):
        return path, dict(Fields(named).items())
    file = os.path.normpath(os.path.join(folder, named))
    servers = reader.fields(file)
    return file, dict((servers.fields("mcpServers") if "mcpServers" in servers else servers).items())
