"""Claude Code's plugins: which are on here, where their copy lies, and what they bring.

What counts is whether the settings switch a plugin on; a record of its installation only says where it lies.
"""

import os
import re
from dataclasses import dataclass, replace
from typing import cast

from remit.adapters.clients.claude_entries import NAME, read_entry
from remit.adapters.clients.claude_markdown import Shelf, project_dirs, read_file, read_folder
from remit.adapters.clients.reading import Origin, Parsed, Reader, declare_servers
from remit.adapters.clients.wire import EntryError, Fields
from remit.core.client_settings import Effect, Level, Rule
from remit.core.declarations import Declaration
from remit.core.kinds import ConfigStatus, Kind
from remit.core.names import storable
from remit.core.scopes import Scope

_EVERYWHERE = ("user", "managed")
_FOLDERS = {Kind.SLASH_COMMAND: "commands", Kind.SKILL: "skills", Kind.SUBAGENT: "agents"}
_PARTS = tuple(_FOLDERS.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin whose copy lies here."""

    id: str  # `<plugin>@<marketplace>`
    folder: str
    data: str  # the directory it may write to
    own_status: ConfigStatus | None  # None: it is on
    project_hash: str | None  # where only this project's settings speak of it


def read_plugins(reader: Reader, root: str) -> None:
    """Read the plugins that are installed for a workspace, and what those that are on bring."""
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
        own_status = None if is_on else ConfigStatus.DISABLED
        _declare(
            reader,
            Plugin(
                id=id,
                folder=folder,
                data=_data(root, id),
                own_status=own_status,
                project_hash=project_hash,
            ),
        )


def _data(root: str, id: str) -> str:
    return os.path.join(root, "data", re.sub(r"[^A-Za-z0-9_-]", "-", id))


def read_plugins_among_skills(reader: Reader, home: str) -> None:
    """Read the folders of skills that are plugins: on by themselves, a project's once it is trusted."""
    if any(rule.effect is Effect.ADMITS_PLUGINS_ONLY for rule in reader.rules):
        return
    switches = _switches(reader.rules)
    is_trusted = any(rule.effect is Effect.TRUSTS for rule in reader.rules)
    places = [(home, None), *((os.path.join(dir, ".claude"), dir) for dir in project_dirs(reader))]
    for base, dir in places:
        skills = os.path.join(base, "skills")
        for name in reader.names_in(skills):
            folder = os.path.join(skills, name)
            if reader.look_at(os.path.join(folder, ".claude-plugin", "plugin.json")):
                id = f"{name}@skills-dir"
                levels = switches.get(id, {})
                is_on = next((levels[level] for level in Level if level in levels), True)
                status = None if is_on else ConfigStatus.DISABLED
                if status is None and dir is not None and not is_trusted:
                    status = ConfigStatus.PENDING
                project_hash = None if dir is None else reader.workspace.project.hash
                plugin = Plugin(
                    id=id,
                    folder=folder,
                    data=_data(os.path.join(home, "plugins"), id),
                    own_status=status,
                    project_hash=project_hash,
                )
                _declare(reader, plugin)


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
        own = _own_servers(reader, plugin, manifest)
        named = _named_commands(manifest)
        parts = [(kind, _paths(manifest, field)) for kind, field in _PARTS]
        parsed.declarations.append(
            Declaration(
                name=storable(plugin.id),
                kind=Kind.PLUGIN,
                client=NAME,
                scope=Scope.PLUGIN,
                source=manifest_path,
                project_hash=plugin.project_hash,
                description=manifest.text("description") if "description" in manifest else None,
                own_status=plugin.own_status,
            )
        )
        if plugin.own_status is None:
            _declare_servers(reader, plugin, name, own, manifest_path)
            shelf = Shelf(
                folder=plugin.folder,
                scope=Scope.PLUGIN,
                project_hash=plugin.project_hash,
                plugin=storable(name),
            )
            for kind, paths in parts:
                _read_part(reader, shelf, kind, paths)
            for command, entry in named.items():
                _declare_named(reader, shelf, command, entry, manifest_path)


def _own_servers(reader: Reader, plugin: Plugin, manifest: Fields) -> dict[str, object]:
    """Read the servers of a manifest: entries, or files that hold them; a bad one makes it unusable."""
    found: dict[str, object] = {}
    if "mcpServers" not in manifest or manifest.is_object("mcpServers"):
        found |= manifest.fields("mcpServers").items()
    else:
        for item in manifest.item_or_items("mcpServers"):
            if isinstance(item, str):
                found |= _beside(reader, _inside(plugin.folder, item, "mcpServers"))
            else:
                found |= Fields(item).items()
    for label, entry in found.items():
        read_entry(label, Fields(entry))
    return found


def _named_commands(manifest: Fields) -> dict[str, Fields]:
    """Read commands that a manifest lists by name, each with a file or its content."""
    if not manifest.is_object("commands"):
        return {}
    named = {name: Fields(entry) for name, entry in manifest.fields("commands").items()}
    for name, entry in named.items():
        if "source" not in entry and "content" not in entry:
            raise EntryError(f"commands.{name}: expected `source` or `content`")
    return named


def _declare_named(reader: Reader, shelf: Shelf, name: str, entry: Fields, manifest_path: str) -> None:
    before = len(reader.parsed)
    if "source" in entry:
        read_file(reader, shelf, Kind.SLASH_COMMAND, os.path.join(shelf.folder, entry.text("source")), name)
    described = entry.text("description") if "description" in entry else None
    for parsed in reader.parsed[before:]:
        parsed.declarations = [
            replace(item, description=described or item.description) for item in parsed.declarations
        ]
    if "source" not in entry:
        parsed = Parsed(source=manifest_path)
        parsed.declarations.append(
            Declaration(
                name=storable(f"/{shelf.prefix}{name}"),
                kind=Kind.SLASH_COMMAND,
                client=NAME,
                scope=shelf.scope,
                source=manifest_path,
                project_hash=shelf.project_hash,
                plugin=shelf.plugin,
                description=described,
            )
        )
        reader.parsed.append(parsed)


def _paths(manifest: Fields, field: str) -> list[str] | None:
    """Read where a plugin keeps its files of one kind; None where it does not say."""
    if field not in manifest:
        return None
    if manifest.is_object(field):
        return []
    paths = manifest.text_or_texts(field)
    for path in paths:
        _inside("", path, field)
    return paths


def _inside(folder: str, path: str, field: str) -> str:
    if not path.startswith("./") or ".." in path.split("/"):
        raise EntryError(f"{field}: a path must begin with `./` and stay inside the plugin")
    return os.path.normpath(os.path.join(folder, path))


def _read_part(reader: Reader, shelf: Shelf, kind: Kind, paths: list[str] | None) -> None:
    """Read a plugin's files of one kind: at the usual place, or where the manifest says."""
    usual = os.path.join(shelf.folder, _FOLDERS[kind])
    if paths is None or kind is Kind.SKILL:  # skills are added to the usual ones, others replace them
        read_folder(reader, shelf, kind, usual)
    for path in paths or ():
        place = os.path.normpath(os.path.join(shelf.folder, path))
        if place.endswith(".md"):
            read_file(reader, shelf, kind, place, os.path.basename(place).removesuffix(".md"))
            continue
        read_folder(reader, shelf, kind, place)
        if kind is Kind.SKILL:  # the folder may be a skill itself
            read_file(reader, shelf, kind, os.path.join(place, "SKILL.md"), os.path.basename(place))
    if kind is Kind.SKILL and shelf.plugin is not None and not reader.look_at(usual):
        read_file(reader, shelf, kind, os.path.join(shelf.folder, "SKILL.md"), shelf.plugin)


def _beside(reader: Reader, file: str) -> dict[str, object]:
    """Read a plugin's `.mcp.json`, which may be a bare map of servers."""
    content = _content(reader, file)
    return _checked(reader, file, content, "mcpServers") if "mcpServers" in content else content


def _declare_servers(
    reader: Reader, plugin: Plugin, name: str, own: dict[str, object], manifest_path: str
) -> None:
    file = os.path.join(plugin.folder, ".mcp.json")
    beside = _beside(reader, file)
    for label, entry in {**beside, **own}.items():  # the manifest's entries, in the order of the file
        origin = Origin(
            client=NAME,
            source=manifest_path if label in own else file,
            scope=Scope.PLUGIN,
            place="mcpServers",
            project_hash=plugin.project_hash,
            plugin=storable(name),
            variables={"CLAUDE_PLUGIN_ROOT": plugin.folder, "CLAUDE_PLUGIN_DATA": plugin.data},
        )
        parsed = Parsed(source=origin.source)
        reader.parsed.append(parsed)
        declare_servers(Fields({label: entry}), origin, parsed, read_entry=read_entry)


def _content(reader: Reader, path: str, key: str | None = None) -> dict[str, object]:
    """Read an object from a file, or one of its fields; empty where there is none."""
    content = reader.content(path)
    if path in reader.unreadable:  # it may lead to other files, and it may name what they hold
        reader.lost.add(Scope.PLUGIN)
    return {} if content is None else _checked(reader, path, content[0], key)


def _checked(reader: Reader, path: str, content: object, key: str | None) -> dict[str, object]:
    """Take an object, or one of its fields; what is neither is noted, and costs only its own file."""
    try:
        top = Fields(content)
        return dict((top if key is None else top.fields(key)).items())
    except EntryError as error:
        parsed = Parsed(source=path)
        parsed.note("", str(error))
        reader.parsed.append(parsed)
        return {}
