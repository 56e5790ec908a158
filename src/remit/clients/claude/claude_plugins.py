"""Claude Code's plugins: which are enabled here, and where they are installed.

The settings decide whether a plugin is enabled; its installation record only locates it.
"""

import os
from collections.abc import Iterator, Mapping

from remit.clients.claude.markdown_tools import FOLDERS, dashed, project_dirs
from remit.clients.claude.plugin_manifests import Plugin, manifest_path, read_fields, read_plugin
from remit.clients.parsing.client_reader import ClientReader, off_status
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule

_EVERYWHERE = ("user", "managed")


def read_plugins(reader: ClientReader, root: str) -> None:
    """Read the plugins installed for a workspace, and the contents of the enabled ones."""
    record = os.path.join(root, "installed_plugins.json")
    installed = reader.fields_in(read_fields(reader, record), "plugins", record)
    marketplaces = read_fields(reader, os.path.join(root, "known_marketplaces.json"))
    switches = _switches(reader.rules)
    for id in dict.fromkeys((*switches, *sorted(dict(installed.items())))):
        found = _folder(reader, id, installed.item_or_items(id), marketplaces)
        if found is not None:
            folder, is_everywhere = found
            levels = switches.get(id, {})
            # Both from the user: a plugin that a project enables or installs is the project's.
            is_personal = is_everywhere and (
                not levels or levels.get(SettingsLevel.USER) or levels.get(SettingsLevel.MANAGED)
            )
            plugin = Plugin(
                id=id,
                folder=folder,
                data=_data(root, id),
                own_status=off_status(not _is_on(levels, default=False)),
                project_hash=None if is_personal else reader.workspace.project.hash,
            )
            read_plugin(reader, plugin)


def read_plugins_among_skills(reader: ClientReader, home: str) -> None:
    """Read skill folders that are plugins: enabled by default, a project's once it is trusted."""
    if any(rule.effect is Effect.ADMITS_PLUGINS_ONLY for rule in reader.rules):
        return
    switches = _switches(reader.rules)
    is_trusted = any(rule.effect is Effect.TRUSTS for rule in reader.rules)
    for folder, project_hash in _among_skills(reader, home):
        id = f"{os.path.basename(folder)}@skills-dir"
        status = off_status(not _is_on(switches.get(id, {}), default=True))
        if status is None and project_hash is not None and not is_trusted:
            status = ConfigStatus.PENDING
        data = _data(os.path.join(home, "plugins"), id)
        plugin = Plugin(id=id, folder=folder, data=data, own_status=status, project_hash=project_hash)
        read_plugin(reader, plugin)


def _among_skills(reader: ClientReader, home: str) -> Iterator[tuple[str, str | None]]:
    """Find skill folders with a manifest, each with the hash of its project if it has one."""
    hash = reader.workspace.project.hash
    for base, project_hash in (
        (home, None),
        *((os.path.join(dir, ".claude"), hash) for dir in project_dirs(reader)),
    ):
        skills = os.path.join(base, FOLDERS[Kind.SKILL])
        for folder in (os.path.join(skills, name) for name in reader.names_in(skills)):
            if reader.look_at(manifest_path(folder)):
                yield folder, project_hash


def _data(root: str, id: str) -> str:
    return os.path.join(root, "data", dashed(id))


def _switches(rules: list[SettingsRule]) -> dict[str, dict[SettingsLevel, bool]]:
    """Group the switches by plugin, weakest settings level first."""
    found: dict[str, dict[SettingsLevel, bool]] = {}
    for rule in sorted(rules, key=lambda rule: list(SettingsLevel).index(rule.level), reverse=True):
        if rule.effect is Effect.SWITCHES_PLUGIN:
            id, _, value = rule.subject.rpartition("=")
            found.setdefault(id, {})[rule.level] = value == "true"
    return found


def _is_on(levels: Mapping[SettingsLevel, bool], *, default: bool) -> bool:
    """Return the value of the strongest level."""
    return next((levels[level] for level in SettingsLevel if level in levels), default)


def _folder(
    reader: ClientReader, id: str, records: list[object], marketplaces: EntryFields
) -> tuple[str, bool] | None:
    """Find the installed copy that applies here, and whether it applies everywhere; None without one."""
    plugin, _, marketplace = id.rpartition("@")
    try:
        known = marketplaces.fields(marketplace)
        location = known.text("installLocation")
        kind = known.fields("source").text("source")
    except EntryError:
        return None
    if not reader.look_at(location):
        return None
    if kind == "directory":  # read in place, whatever was installed
        folder = _in_marketplace(reader, plugin, location)
        return None if folder is None else (folder, True)
    return _installed(reader, records)


def _in_marketplace(reader: ClientReader, plugin: str, location: str) -> str | None:
    catalogue = read_fields(reader, os.path.join(location, ".claude-plugin", "marketplace.json"))
    try:
        for item in catalogue.items_of("plugins"):
            entry = EntryFields(item)
            if entry.text("name") == plugin:
                return os.path.normpath(os.path.join(location, entry.text("source")))
    except EntryError:
        return None
    return None


def _installed(reader: ClientReader, records: list[object]) -> tuple[str, bool] | None:
    """Return the first record that applies here; an old file has a single global record."""
    here = (reader.workspace.dir, reader.workspace.project.path)
    for item in records:
        try:
            record = EntryFields(item)
            is_everywhere = "scope" not in record or record.text("scope") in _EVERYWHERE
            if is_everywhere or record.text("projectPath") in here:
                return record.text("installPath"), is_everywhere
        except EntryError:
            continue
    return None
