"""One plugin of Claude Code: its manifest, its servers, and its folders of Markdown files."""

import os
from dataclasses import dataclass, replace
from typing import NamedTuple

from remit.clients.claude.claude_entries import NAME, read_entry
from remit.clients.claude.markdown_tools import FOLDERS, SKILL_FILE, ToolFolder, read_file, read_folder
from remit.clients.parsing.client_reader import ClientReader, EntryOrigin, declare_servers, plugin_row
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tool_names import storable


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """An installed plugin."""

    id: str  # `<plugin>@<marketplace>`
    folder: str
    data: str  # the directory it may write to
    own_status: ConfigStatus | None  # None: enabled
    project_hash: str | None  # set if only this project's settings mention it


class _Manifest(NamedTuple):
    origin: EntryOrigin
    servers: dict[str, object]
    commands: dict[str, EntryFields]  # listed by name
    paths: dict[Kind, list[str] | None]  # of its files; None: the default
    description: str | None


def manifest_path(folder: str) -> str:
    """Return the path of the manifest in a plugin's folder."""
    return os.path.join(folder, ".claude-plugin", "plugin.json")


def read_fields(reader: ClientReader, path: str) -> EntryFields:
    """Read an object from a plugin file; empty if the file is missing."""
    found = reader.fields(path)
    if path in reader.unreadable:  # it may refer to other files
        reader.lost.add(Scope.PLUGIN)
    return found


def read_plugin(reader: ClientReader, plugin: Plugin) -> None:
    """Declare a plugin and, if it is enabled, its contents; an invalid manifest makes it unusable."""
    path = manifest_path(plugin.folder)
    top = read_fields(reader, path)
    with reader.part(path) as parsed:
        manifest = _manifest(reader, plugin, top, path)
        row = plugin_row(
            manifest.origin, plugin.id, own_status=plugin.own_status, description=manifest.description
        )
        parsed.declarations.append(row)
        if plugin.own_status is None:
            _declare_servers(reader, plugin, manifest)
            _read_tool_folder(reader, plugin, manifest)


def _manifest(reader: ClientReader, plugin: Plugin, top: EntryFields, path: str) -> _Manifest:
    name = top.text("name") if "name" in top else plugin.id.rpartition("@")[0]
    origin = EntryOrigin(
        client=NAME,
        source=path,
        scope=Scope.PLUGIN,
        place="mcpServers",
        project_hash=plugin.project_hash,
        plugin=storable(name),
        variables={"CLAUDE_PLUGIN_ROOT": plugin.folder, "CLAUDE_PLUGIN_DATA": plugin.data},
    )
    return _Manifest(
        origin=origin,
        servers=_own_servers(reader, plugin, top),
        commands=_named_commands(top),
        paths={kind: _paths(top, field) for kind, field in FOLDERS.items()},
        description=top.text("description") if "description" in top else None,
    )


def _own_servers(reader: ClientReader, plugin: Plugin, top: EntryFields) -> dict[str, object]:
    """Read the servers of a manifest: entries, or files of entries."""
    found: dict[str, object] = {}
    if "mcpServers" not in top or top.is_object("mcpServers"):
        found |= top.fields("mcpServers").items()
    else:
        for item in top.item_or_items("mcpServers"):
            if isinstance(item, str):
                found |= _in_file(reader, _inside(plugin.folder, item, "mcpServers"))
            else:
                found |= EntryFields(item).items()
    for label, entry in found.items():
        read_entry(label, EntryFields(entry))
    return found


def _in_file(reader: ClientReader, path: str) -> dict[str, object]:
    """Read a plugin's `.mcp.json`, which may be a bare map of servers."""
    top = read_fields(reader, path)
    return dict((reader.fields_in(top, "mcpServers", path) if "mcpServers" in top else top).items())


def _named_commands(top: EntryFields) -> dict[str, EntryFields]:
    """Read the commands that a manifest lists by name."""
    if not top.is_object("commands"):
        return {}
    named = {name: EntryFields(entry) for name, entry in top.fields("commands").items()}
    for name, entry in named.items():
        if "source" not in entry and "content" not in entry:
            raise EntryError(f"commands.{name}: expected `source` or `content`")
    return named


def _paths(top: EntryFields, field: str) -> list[str] | None:
    """Read the paths of a plugin's files of one kind; None for the default."""
    if field not in top:
        return None
    if top.is_object(field):
        return []
    paths = top.text_or_texts(field)
    for path in paths:
        _inside("", path, field)
    return paths


def _inside(folder: str, path: str, field: str) -> str:
    if not path.startswith("./") or ".." in path.split("/"):
        raise EntryError(f"{field}: a path must begin with `./` and stay inside the plugin")
    return os.path.normpath(os.path.join(folder, path))


def _declare_servers(reader: ClientReader, plugin: Plugin, manifest: _Manifest) -> None:
    file = os.path.join(plugin.folder, ".mcp.json")
    beside = _in_file(reader, file)
    for label, entry in {**beside, **manifest.servers}.items():  # the manifest's, in the order of the file
        source = manifest.origin.source if label in manifest.servers else file
        with reader.part(source) as parsed:
            origin = replace(manifest.origin, source=source)
            declare_servers(EntryFields({label: entry}), origin, parsed, read_entry=read_entry)


def _read_tool_folder(reader: ClientReader, plugin: Plugin, manifest: _Manifest) -> None:
    base = ToolFolder(
        folder=plugin.folder,
        scope=Scope.PLUGIN,
        project_hash=plugin.project_hash,
        plugin=manifest.origin.plugin,
    )
    for kind, paths in manifest.paths.items():
        _read_part(reader, base, kind, paths)
    for name, entry in manifest.commands.items():
        _declare_named(reader, base, name, entry, manifest.origin.source)


def _read_part(reader: ClientReader, base: ToolFolder, kind: Kind, paths: list[str] | None) -> None:
    """Read a plugin's files of one kind, at the default path or the manifest's."""
    usual = os.path.join(base.folder, FOLDERS[kind])
    if paths is None or kind is Kind.SKILL:  # skills extend the default path, others replace it
        read_folder(reader, base, kind, usual)
    for path in paths or ():
        place = os.path.normpath(os.path.join(base.folder, path))
        if place.endswith(".md"):
            read_file(reader, base, kind, place, os.path.basename(place).removesuffix(".md"))
            continue
        read_folder(reader, base, kind, place)
        if kind is Kind.SKILL:  # the folder may be a skill itself
            read_file(reader, base, kind, os.path.join(place, SKILL_FILE), os.path.basename(place))
    if kind is Kind.SKILL and base.plugin is not None and not reader.look_at(usual):
        read_file(reader, base, kind, os.path.join(base.folder, SKILL_FILE), base.plugin)


def _declare_named(
    reader: ClientReader, base: ToolFolder, name: str, entry: EntryFields, source: str
) -> None:
    described = entry.text("description") if "description" in entry else None
    if "source" in entry:
        path = os.path.join(base.folder, entry.text("source"))
        read_file(reader, base, Kind.SLASH_COMMAND, path, name, described)
    else:
        with reader.part(source) as parsed:
            parsed.declarations.append(base.declaration(Kind.SLASH_COMMAND, name, source, described))
