"""Claude Code's plugins: which are enabled here, where they lie, and what each brings.

The settings decide whether a plugin is enabled; its installation record only locates it.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from remit.clients.claude_markdown import (
    FOLDERS,
    SKILL_FILE,
    ToolFolder,
    dashed,
    project_dirs,
    read_file,
    read_folder,
)
from remit.clients.claude_settings import NAME, read_entry
from remit.clients.fields import EntryError, EntryFields, storable_text
from remit.clients.reader import ClientReader, EntryOrigin, Mod, off_status, plugin_row
from remit.clients.server_files import declare_servers
from remit.clients.settings import Effect, Level, SettingsRule, plugin_switches
from remit.decision import Kind, Scope, Status
from remit.text import as_list, as_object

_EVERYWHERE = ("user", "managed")
_HOOKS = os.path.join("hooks", "hooks.json")


class Plugin(NamedTuple):
    """A plugin's folder, and what applies to it."""

    id: str  # `<plugin>@<marketplace>`
    folder: str
    data: str  # the directory it may write to
    status: Status
    project_hash: str | None  # set if only this project's settings mention it


class _Found(NamedTuple):
    """The copy of a plugin that applies here."""

    folder: str
    is_everywhere: bool


def read_plugins(reader: ClientReader, root: str, home: str) -> None:
    """Read the plugins that apply to a workspace, and the contents of the enabled ones."""
    policy = _MarketplacePolicy(reader.rules)
    for plugin in (
        *_installed(reader, root, policy),
        *_among_skills(reader, home, policy),
        *_named(reader, policy),
    ):
        _read_plugin(reader, plugin)


def _installed(reader: ClientReader, root: str, policy: "_MarketplacePolicy") -> Iterator[Plugin]:
    record = os.path.join(root, "installed_plugins.json")
    kept = reader.fields(record, keep=lambda top: {"plugins": top.value("plugins")})
    installed = reader.fields_in(kept, "plugins", record)
    marketplaces = reader.fields(os.path.join(root, "known_marketplaces.json"), keep=lambda top: top.content)
    switches = plugin_switches(reader.rules)
    for id in dict.fromkeys((*switches, *sorted(installed.content))):
        levels = switches.get(id, {})
        found = _copy(reader, id, installed.item_or_items(id), marketplaces, levels, policy)
        if found is None:
            continue
        # Both from the user: a plugin that a project enables or installs is the project's.
        is_personal = found.is_everywhere and (not levels or _is_users(levels))
        yield Plugin(
            id,
            found.folder,
            _data(root, id),
            off_status(not _is_on(levels, default=False)),
            None if is_personal else reader.workspace.project.hash,
        )


def _among_skills(reader: ClientReader, home: str, policy: "_MarketplacePolicy") -> Iterator[Plugin]:
    """Find skill folders that are plugins: enabled by default, a project's once it is trusted."""
    rules = reader.rules
    if any(rule.effect is Effect.ADMITS_PLUGINS_ONLY for rule in rules):
        return
    if not policy.admits({"source": "skills-dir"}):
        return
    switches = plugin_switches(rules)
    is_trusted = any(rule.effect is Effect.TRUSTS for rule in rules)
    hash = reader.workspace.project.hash
    bases = [(home, None), *((os.path.join(dir, ".claude"), hash) for dir in project_dirs(reader))]
    for base, project_hash in bases:
        skills = os.path.join(base, FOLDERS[Kind.SKILL])
        for folder in (os.path.join(skills, name) for name in reader.names_in(skills)):
            if not reader.look_at(_manifest_path(folder)):
                continue
            id = f"{os.path.basename(folder)}@skills-dir"
            status = off_status(not _is_on(switches.get(id, {}), default=True))
            if status is Status.ENABLED and project_hash is not None and not is_trusted:
                status = Status.PENDING
            yield Plugin(id, folder, _data(os.path.join(home, "plugins"), id), status, project_hash)


def _named(reader: ClientReader, policy: "_MarketplacePolicy") -> Iterator[Plugin]:
    """Find the plugins whose folders a variable names."""
    named = reader.machine.variables.get("CLAUDE_CODE_PLUGIN_DIRS", "")
    if not policy.admits({"source": "inline"}, is_listed=True):
        return
    for name in filter(None, map(str.strip, named.split(os.pathsep))):
        folder = os.path.join(reader.workspace.dir, os.path.expanduser(name))
        if reader.look_at(folder):
            id = f"{os.path.basename(os.path.normpath(folder))}@inline"
            data = _data(os.path.join(reader.machine.home, ".claude", "plugins"), id)
            yield Plugin(id, folder, data, Status.ENABLED, None)


def _data(root: str, id: str) -> str:
    return os.path.join(root, "data", dashed(id))


def _is_on(levels: Mapping[Level, bool], *, default: bool) -> bool:
    """Return the value of the strongest level."""
    return next((levels[level] for level in Level if level in levels), default)


def _is_users(levels: Mapping[Level, bool]) -> bool:
    return bool(levels.get(Level.USER) or levels.get(Level.MANAGED))


def _copy(
    reader: ClientReader,
    id: str,
    records: list[object],
    marketplaces: EntryFields,
    levels: Mapping[Level, bool],
    policy: "_MarketplacePolicy",
) -> _Found | None:
    """Find the copy that applies here; None without one."""
    plugin, _, marketplace = id.rpartition("@")
    try:
        known = marketplaces.fields(marketplace)
        location, source = known.text("installLocation"), known.fields("source")
        kind = source.text("source")
    except EntryError:
        return None
    if not policy.admits(source.content) or not reader.look_at(location):
        return None
    applying = list(_applying(reader, records))
    if kind != "directory":
        return applying[0] if applying else None
    # Read in place, whatever was installed; one that was installed for other projects alone is theirs.
    entry = _entry_in_marketplace(reader, plugin, location)
    own_source = None if entry is None else entry.value("source")
    if isinstance(own_source, dict):  # fetched from elsewhere: an archive, a repository, a command
        is_admitted = policy.admits(cast("dict[str, Any]", own_source), is_listed=True)
        return applying[0] if applying and is_admitted else None
    if not isinstance(own_source, str) or not (applying or levels or not records):
        return None
    is_everywhere = not records or _is_users(levels) or any(copy.is_everywhere for copy in applying)
    return _Found(os.path.normpath(os.path.join(location, own_source)), is_everywhere)


def _entry_in_marketplace(reader: ClientReader, plugin: str, location: str) -> EntryFields | None:
    path = os.path.join(location, ".claude-plugin", "marketplace.json")
    for item in as_list(reader.fields(path, keep=_sources).value("plugins")):
        entry = as_object(item)
        if not isinstance(entry.get("name"), str):
            return None
        if entry["name"] == plugin:
            return EntryFields(entry)
    return None


def _sources(marketplace: EntryFields) -> dict[str, Any]:
    """Return what is kept of a marketplace: where its plugins lie."""
    plugins = map(as_object, as_list(marketplace.value("plugins")))
    return {"plugins": [{"name": plugin.get("name"), "source": plugin.get("source")} for plugin in plugins]}


def _applying(reader: ClientReader, records: list[object]) -> Iterator[_Found]:
    """Yield the records that apply here, in their order; an old file has a single global record."""
    here = (reader.workspace.dir, reader.workspace.project.path)
    for record in map(as_object, records):
        folder, scope = record.get("installPath"), record.get("scope", _EVERYWHERE[0])
        if isinstance(folder, str) and (scope in _EVERYWHERE or record.get("projectPath") in here):
            yield _Found(folder, scope in _EVERYWHERE)


class _MarketplacePolicy:
    """Which marketplaces, and which sources of plugins, an administrator allows and blocks."""

    def __init__(self, rules: Sequence[SettingsRule]) -> None:
        self._allowed = _patterns(rules, Effect.ALLOWS_MARKETPLACE)
        self._blocked = _patterns(rules, Effect.BLOCKS_MARKETPLACE)
        self._is_strict = any(rule.effect is Effect.ALLOWS_MARKETPLACE for rule in rules)

    def admits(self, source: Mapping[str, Any], *, is_listed: bool = False) -> bool:
        """Return whether a source is allowed; `is_listed` if its marketplace was allowed already."""
        if any(_matches(pattern, source, is_exact=False) for pattern in self._blocked):
            return False
        is_open = is_listed or not self._is_strict
        return is_open or any(_matches(pattern, source, is_exact=True) for pattern in self._allowed)


def _patterns(rules: Sequence[SettingsRule], effect: Effect) -> list[dict[str, Any]]:
    return [json.loads(rule.subject) for rule in rules if rule.effect is effect and rule.subject]


def _matches(pattern: Mapping[str, Any], source: Mapping[str, Any], *, is_exact: bool) -> bool:
    """Compare a source with an item of a policy; one that blocks need not name everything."""
    match pattern.get("source"):
        case "hostPattern":
            return _searches(pattern.get("hostPattern"), _host(source), otherwise=not is_exact)
        case "pathPattern":
            return _searches(pattern.get("pathPattern"), source.get("path"), otherwise=not is_exact)
        case "github" if str(pattern.get("repo", "")).endswith("/*"):
            owner = str(pattern["repo"]).partition("/")[0].lower()
            return (
                source.get("source") == "github"
                and str(source.get("repo")).partition("/")[0].lower() == owner
            )
        case _:
            return source == pattern if is_exact else pattern.items() <= source.items()


def _searches(pattern: object, text: object, *, otherwise: bool) -> bool:
    if not isinstance(pattern, str) or not isinstance(text, str):
        return False
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return otherwise


def _host(source: Mapping[str, Any]) -> str | None:
    if source.get("source") == "github":
        return "github.com"
    url = str(source.get("url") or "")
    host = re.match(r"(?:[a-z+]+://)?(?:[^@/]*@)?([^/:]+)", url, re.IGNORECASE)
    return host[1].lower() if host else None


class _Manifest(NamedTuple):
    origin: EntryOrigin
    servers: dict[str, Any]
    commands: dict[str, EntryFields]  # listed by name
    paths: dict[Kind, list[str] | None]  # of its files; None: the default
    description: str | None


def _manifest_path(folder: str) -> str:
    return os.path.join(folder, ".claude-plugin", "plugin.json")


def _read_plugin(reader: ClientReader, plugin: Plugin) -> None:
    """Declare a plugin and, if it is enabled, its contents; an invalid manifest makes it unusable."""
    path = _manifest_path(plugin.folder)
    top = reader.fields(path, keep=_without_servers)
    with reader.part(path) as part:
        manifest = _manifest(reader, plugin, top, path)
        origin, description = manifest.origin, manifest.description
        part.declarations.append(plugin_row(origin, plugin.id, status=plugin.status, description=description))
        if plugin.status is Status.ENABLED:
            _declare_servers(reader, plugin, manifest)
            _read_contents(reader, plugin, manifest)
            reader.mods += _mods(reader, plugin, top, origin)


def _without_servers(top: EntryFields) -> dict[str, Any]:
    """Return what is kept of a manifest; what its servers were is stored, and their secrets are not."""
    return {name: value for name, value in top.items() if name != "mcpServers" or not isinstance(value, dict)}


def _manifest(reader: ClientReader, plugin: Plugin, top: EntryFields, path: str) -> _Manifest:
    name = top.text("name") if "name" in top else plugin.id.rpartition("@")[0]
    variables = {"CLAUDE_PLUGIN_ROOT": plugin.folder, "CLAUDE_PLUGIN_DATA": plugin.data}
    return _Manifest(
        origin=EntryOrigin(
            NAME,
            path,
            Scope.PLUGIN,
            "mcpServers",
            plugin.project_hash,
            plugin=storable_text(name),
            variables=variables,
        ),
        servers=_own_servers(reader, plugin, top),
        commands=_named_commands(top),
        paths={kind: _paths(top, field) for kind, field in FOLDERS.items()},
        description=top.optional_text("description"),
    )


def _own_servers(reader: ClientReader, plugin: Plugin, top: EntryFields) -> dict[str, Any]:
    """Read the servers of a manifest: entries, or files of entries."""
    servers: dict[str, Any] = {}
    for item in [top.value("mcpServers")] if top.is_object("mcpServers") else top.item_or_items("mcpServers"):
        if isinstance(item, str):
            servers |= _in_file(reader, _inside(plugin.folder, item, "mcpServers"))
        else:
            servers |= EntryFields(item).content
    for label, entry in servers.items():
        read_entry(label, EntryFields(entry))
    return servers


def _in_file(reader: ClientReader, path: str) -> dict[str, Any]:
    """Read a plugin's `.mcp.json`, which may be a bare map of servers."""
    top = reader.fields(path)
    return (reader.fields_in(top, "mcpServers", path) if "mcpServers" in top else top).content


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
    for label, entry in {**_in_file(reader, file), **manifest.servers}.items():  # the manifest's are stronger
        source = manifest.origin.source if label in manifest.servers else file
        with reader.part(source) as part:
            declare_servers(
                EntryFields({label: entry}), manifest.origin._replace(source=source), part, read_entry
            )


def _read_contents(reader: ClientReader, plugin: Plugin, manifest: _Manifest) -> None:
    base = ToolFolder(
        plugin.folder, Scope.PLUGIN, project_hash=plugin.project_hash, plugin=manifest.origin.plugin
    )
    for kind, paths in manifest.paths.items():
        _read_part(reader, base, kind, paths)
    for name, entry in manifest.commands.items():
        described = entry.optional_text("description")
        if "source" in entry:
            path = os.path.join(base.folder, entry.text("source"))
            read_file(reader, base, Kind.SLASH_COMMAND, path, name, described)
        else:
            source = manifest.origin.source
            with reader.part(source) as part:
                part.declarations.append(base.declaration(Kind.SLASH_COMMAND, name, source, described))


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


def _mods(reader: ClientReader, plugin: Plugin, top: EntryFields, origin: EntryOrigin) -> Iterator[Mod]:
    """Find the modules that a plugin runs inside the client: of its `hooks.json`, or of its manifest."""
    usual = os.path.join(plugin.folder, _HOOKS)
    named: list[tuple[str, dict[str, Any]]] = [(usual, reader.fields(usual).content)]
    for item in top.item_or_items("hooks"):
        if isinstance(item, str):
            path = _inside(plugin.folder, item, "hooks")
            named.append((path, reader.fields(path).content))
        else:
            named.append((origin.source, as_object(item)))
    for source, hooks in named:
        for module in as_list(hooks.get("modules")):
            if isinstance(module, str):
                file = os.path.normpath(os.path.join(os.path.dirname(source), module))
                yield Mod(file, source, plugin.id, bool(reader.within(plugin.folder)))
