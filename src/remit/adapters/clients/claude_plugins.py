"""Claude Code's plugins: which are on here, where their copy lies, and the servers they bring.

What counts is whether the settings switch a plugin on; a record of its installation only says where it lies.
"""

import os
import re
from dataclasses import dataclass
from typing import cast

from remit.adapters.clients.claude_entries import NAME, read_entry
from remit.adapters.clients.reading import Origin, Parsed, Reader, declare_servers
from remit.adapters.clients.wire import EntryError, Fields
from remit.core.client_settings import Effect, Level, Rule
from remit.core.declarations import Declaration
from remit.core.kinds import Kind
from remit.core.names import storable
from remit.core.scopes import Scope

_EVERYWHERE = ("user", "managed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin whose copy lies here."""

    id: str  # `<plugin>@<marketplace>`
    folder: str
    data: str  # the directory it may write to
    is_on: bool
    project_hash: str | None  # where only this project's settings speak of it


def read_plugins(reader: Reader, root: str) -> None:
    """Read the plugins that are installed for a workspace, and the servers of those that are on."""
    installed = _content(reader, os.path.join(root, "installed_plugins.json"), "plugins")
    marketplaces = _content(reader, os.path.join(root, "known_marketplaces.json"))
    switches = _switches(reader.rules)
    for id in dict.fromkeys((*switches, *sorted(installed))):
        folder = _folder(reader, id, installed.get(id), marketplaces)
        if folder is None:
            continue
        levels = switches.get(id, {})
        is_on = next((levels[level] for level in Level if level in levels), False)
        is_personal = not levels or Level.USER in levels or Level.MANAGED in levels
        project_hash = None if is_personal else reader.workspace.project.hash
        data = os.path.join(root, "data", re.sub(r"[^A-Za-z0-9_-]", "-", id))
        _declare(reader, Plugin(id=id, folder=folder, data=data, is_on=is_on, project_hash=project_hash))


def _switches(rules: list[Rule]) -> dict[str, dict[Level, bool]]:
    """Gather the switches by plugin, in the order in which the client merges its settings: weakest first."""
    found: dict[str, dict[Level, bool]] = {}
    for rule in sorted(rules, key=lambda rule: list(Level).index(rule.level), reverse=True):
        if rule.effect is Effect.SWITCHES_PLUGIN:
            id, _, value = rule.subject.rpartition("=")
            found.setdefault(id, {})[rule.level] = value == "true"
    return found


def _folder(reader: Reader, id: str, records: object, marketplaces: dict[str, object]) -> str | None:
    """Find the copy of a plugin that counts here; None where there is none."""
    plugin, _, marketplace = id.rpartition("@")
    try:
        known = Fields(marketplaces.get(marketplace))
        location = known.text("installLocation")
        kind = known.fields("source").text("source")
    except EntryError:
        return None
    if not reader.look_at(location):
        return None
    if kind == "directory":  # read in place, whatever was installed
        return _in_marketplace(reader, plugin, location)
    return _installed(reader, records)


def _in_marketplace(reader: Reader, plugin: str, location: str) -> str | None:
    catalogue = _content(reader, os.path.join(location, ".claude-plugin", "marketplace.json"))
    try:
        for item in Fields(catalogue).items_of("plugins"):
            entry = Fields(item)
            if entry.text("name") == plugin:
                return os.path.normpath(os.path.join(location, entry.text("source")))
    except EntryError:
        return None
    return None


def _installed(reader: Reader, records: object) -> str | None:
    """The first record, in the order of the file, that applies here; an old file has one, for everywhere."""
    here = (reader.workspace.dir, reader.workspace.project.path)
    for item in cast("list[object]", records) if isinstance(records, list) else [records]:
        try:
            record = Fields(item)
            is_everywhere = "scope" not in record or record.text("scope") in _EVERYWHERE
            if is_everywhere or record.text("projectPath") in here:
                return record.text("installPath")
        except EntryError:
            continue
    return None


def _declare(reader: Reader, plugin: Plugin) -> None:
    manifest_path = os.path.join(plugin.folder, ".claude-plugin", "plugin.json")
    parsed = Parsed(source=manifest_path)
    manifest = Fields(_content(reader, manifest_path))
    reader.parsed.append(parsed)
    with parsed.part(""):
        name = manifest.text("name") if "name" in manifest else plugin.id.rpartition("@")[0]
        own = dict(manifest.fields("mcpServers").items())
        for label, entry in own.items():
            read_entry(label, Fields(entry))  # one bad entry makes a plugin unusable, as in the client
        parsed.declarations.append(
            Declaration(
                name=storable(plugin.id),
                kind=Kind.PLUGIN,
                client=NAME,
                scope=Scope.PLUGIN,
                source=manifest_path,
                project_hash=plugin.project_hash,
                is_off=not plugin.is_on,
            )
        )
        if plugin.is_on:
            file = os.path.join(plugin.folder, ".mcp.json")
            beside = _beside(reader, file)
            for label, entry in {**beside, **own}.items():  # the manifest's entries, in the order of the file
                source = manifest_path if label in own else file
                _declare_server(reader, label, entry, source, name, plugin)


def _beside(reader: Reader, file: str) -> dict[str, object]:
    """Read a plugin's `.mcp.json`, which may be a bare map of servers."""
    content = _content(reader, file)
    return dict(Fields(content).fields("mcpServers").items()) if "mcpServers" in content else content


def _declare_server(
    reader: Reader, label: str, entry: object, source: str, name: str, plugin: Plugin
) -> None:
    parsed = Parsed(source=source)
    reader.parsed.append(parsed)
    origin = Origin(
        client=NAME,
        source=source,
        scope=Scope.PLUGIN,
        place="mcpServers",
        project_hash=plugin.project_hash,
        plugin=storable(name),
        variables={"CLAUDE_PLUGIN_ROOT": plugin.folder, "CLAUDE_PLUGIN_DATA": plugin.data},
    )
    declare_servers(Fields({label: entry}), origin, parsed, read_entry=read_entry)


def _content(reader: Reader, path: str, key: str | None = None) -> dict[str, object]:
    """Read an object from a file, or one of its fields; empty where there is none."""
    content = reader.content(path)
    if content is None:
        return {}
    try:
        top = Fields(content[0])
        return dict((top if key is None else top.fields(key)).items())
    except EntryError as error:
        parsed = Parsed(source=path)
        parsed.note("", str(error))
        reader.parsed.append(parsed)
        return {}
