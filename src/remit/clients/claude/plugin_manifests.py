"""What one plugin of Claude Code brings: its manifest, its servers, and its folders of Markdown files."""

import os
from dataclasses import dataclass, replace
from typing import NamedTuple

from remit.clients.claude.claude_entries import NAME, read_entry
from remit.clients.claude.markdown_tools import FOLDERS, SKILL_FILE, Shelf, read_file, read_folder
from remit.clients.parsing.client_reader import Origin, Reader, declare_servers, plugin_row
from remit.clients.parsing.entry_fields import EntryError, Fields
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tool_names import storable


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin whose copy lies here."""

    id: str  # `<plugin>@<marketplace>`
    folder: str
    data: str  # the directory it may write to
    own_status: ConfigStatus | None  # None: it is on
    project_hash: str | None  # where only this project's settings speak of it


class _Manifest(NamedTuple):
    origin: Origin
    servers: dict[str, object]
    commands: dict[str, Fields]  # those that it lists by name
    paths: dict[Kind, list[str] | None]  # of its files; None: it does not say
    description: str | None


def manifest_path(folder: str) -> str:
    """Name the manifest of the plugin in a folder."""
    return os.path.join(folder, ".claude-plugin", "plugin.json")


def read_fields(reader: Reader, path: str) -> Fields:
    """Read an object from a file about plugins; empty where there is none."""
    found = reader.fields(path)
    if path in reader.unreadable:  # it may lead to other files, and it may name what they hold
        reader.lost.add(Scope.PLUGIN)
    return found


def read_plugin(reader: Reader, plugin: Plugin) -> None:
    """Declare a plugin, and what it brings if it is on; a mistake in its manifest makes it unusable."""
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
            _read_shelf(reader, plugin, manifest)


def _manifest(reader: Reader, plugin: Plugin, top: Fields, path: str) -> _Manifest:
    name = top.text("name") if "name" in top else plugin.id.rpartition("@")[0]
    origin = Origin(
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


def _own_servers(reader: Reader, plugin: Plugin, top: Fields) -> dict[str, object]:
    """Read the servers of a manifest: entries, or files that hold them."""
    found: dict[str, object] = {}
    if "mcpServers" not in top or top.is_object("mcpServers"):
        found |= top.fields("mcpServers").items()
    else:
        for item in top.item_or_items("mcpServers"):
            if isinstance(item, str):
                found |= _in_file(reader, _inside(plugin.folder, item, "mcpServers"))
            else:
                found |= Fields(item).items()
    for label, entry in found.items():
        read_entry(label, Fields(entry))
    return found


def _in_file(reader: Reader, path: str) -> dict[str, object]:
    """Read a plugin's `.mcp.json`, which may be a bare map of servers."""
    top = read_fields(reader, path)
    return dict((reader.fields_in(top, "mcpServers", path) if "mcpServers" in top else top).items())


def _named_commands(top: Fields) -> dict[str, Fields]:
    """Read commands that a manifest lists by name, each with a file or its content."""
    if not top.is_object("commands"):
        return {}
    named = {name: Fields(entry) for name, entry in top.fields("commands").items()}
    for name, entry in named.items():
        if "source" not in entry and "content" not in entry:
            raise EntryError(f"commands.{name}: expected `source` or `content`")
    return named


def _paths(top: Fields, field: str) -> list[str] | None:
    """Read where a plugin keeps its files of one kind; None where it does not say."""
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


def _declare_servers(reader: Reader, plugin: Plugin, manifest: _Manifest) -> None:
    file = os.path.join(plugin.folder, ".mcp.json")
    beside = _in_file(reader, file)
    for label, entry in {**beside, **manifest.servers}.items():  # the manifest's, in the order of the file
        source = manifest.origin.source if label in manifest.servers else file
        with reader.part(source) as parsed:
            origin = replace(manifest.origin, source=source)
            declare_servers(Fields({label: entry}), origin, parsed, read_entry=read_entry)


def _read_shelf(reader: Reader, plugin: Plugin, manifest: _Manifest) -> None:
    shelf = Shelf(
        folder=plugin.folder,
        scope=Scope.PLUGIN,
        project_hash=plugin.project_hash,
        plugin=manifest.origin.plugin,
    )
    for kind, paths in manifest.paths.items():
        _read_part(reader, shelf, kind, paths)
    for name, entry in manifest.commands.items():
        _declare_named(reader, shelf, name, entry, manifest.origin.source)


def _read_part(reader: Reader, shelf: Shelf, kind: Kind, paths: list[str] | None) -> None:
    """Read a plugin's files of one kind: at the usual place, or where the manifest says."""
    usual = os.path.join(shelf.folder, FOLDERS[kind])
    if paths is None or kind is Kind.SKILL:  # skills are added to the usual ones, others replace them
        read_folder(reader, shelf, kind, usual)
    for path in paths or ():
        place = os.path.normpath(os.path.join(shelf.folder, path))
        if place.endswith(".md"):
            read_file(reader, shelf, kind, place, os.path.basename(place).removesuffix(".md"))
            continue
        read_folder(reader, shelf, kind, place)
        if kind is Kind.SKILL:  # the folder may be a skill itself
            read_file(reader, shelf, kind, os.path.join(place, SKILL_FILE), os.path.basename(place))
    if kind is Kind.SKILL and shelf.plugin is not None and not reader.look_at(usual):
        read_file(reader, shelf, kind, os.path.join(shelf.folder, SKILL_FILE), shelf.plugin)


def _declare_named(reader: Reader, shelf: Shelf, name: str, entry: Fields, source: str) -> None:
    described = entry.text("description") if "description" in entry else None
    if "source" in entry:
        path = os.path.join(shelf.folder, entry.text("source"))
        read_file(reader, shelf, Kind.SLASH_COMMAND, path, name, described)
    else:
        with reader.part(source) as parsed:
            parsed.declarations.append(shelf.declaration(Kind.SLASH_COMMAND, name, source, described))
