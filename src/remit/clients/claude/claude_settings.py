"""Claude Code's settings files: which servers they approve, reject, deny and allow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from remit.clients.claude.claude_entries import NAME, read_entry
from remit.clients.claude.executed_settings import executed_settings
from remit.clients.claude.permission_settings import SettingsText, read_permissions
from remit.clients.claude.settings_before_install import ALLOWED, before_install, gateway_item
from remit.clients.parsing.client_reader import EntryOrigin, ParsedFile, declare_servers
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.server_files import origin
from remit.decision.declared_launch import Transport, command_digest
from remit.decision.scopes import Scope, ancestors
from remit.decision.settings_rules import MANAGED_HOOKS_ONLY, Effect, SettingsLevel, SettingsRule
from remit.decision.tool_names import normalise, storable
from remit.install.install_record import EditedFile

if TYPE_CHECKING:
    from remit.clients.parsing.server_entries import ServerEntry
    from remit.decision.declarations import Declaration
    from remit.decision.projects import Workspace

_SCOPES = {  # where servers in a settings file would belong, if the client read them
    SettingsLevel.USER: Scope.GLOBAL,
    SettingsLevel.PROJECT: Scope.PROJECT,
    SettingsLevel.LOCAL: Scope.LOCAL,
}
_MAX_URLS = 300  # of a list; each is compared with each server


def parse_settings(
    written: EntryFields,
    into: ParsedFile,
    workspace: Workspace,
    *,
    level: SettingsLevel,
    own: EditedFile | None = None,
    text: SettingsText | None = None,
) -> None:
    """Read a `settings.json`; as in the client, an approval of a wrong type invalidates the file.

    A list that Remit narrowed is read as it was before the install.
    """
    settings = before_install(written, own)
    found = list(_approvals(settings))
    permissions = read_permissions(settings, into, level=level, own=own, text=text or SettingsText())
    found += _policy(settings, "deniedMcpServers", Effect.DENIES, into)
    found += _policy(settings, ALLOWED, Effect.ALLOWS, into)
    found += [
        (Effect.SWITCHES_PLUGIN, f"{storable(plugin)}={'true' if value is True else 'false'}")
        for plugin, value in settings.fields("enabledPlugins").items()
    ]
    found += [
        (Effect.OVERRIDES_SKILL, f"{storable(skill)}={_override(value, skill)}")
        for skill, value in settings.fields("skillOverrides").items()
    ]
    if dict(settings.items()).get("disableAllHooks") is True:
        found.append((Effect.DISABLES_HOOKS, "disableAllHooks"))
    if level is SettingsLevel.MANAGED:
        found += _administrators(settings)
        _declare_managed(settings, into)
    if level in _SCOPES:
        into.ignored += _ignored_servers(settings, into.source, workspace, level)
    if level in (SettingsLevel.PROJECT, SettingsLevel.LOCAL):
        into.executed += executed_settings(settings, into.source)
    if settings is not written:
        narrowed = _policy(written, ALLOWED, Effect.ALLOWS, into)
        found.append((Effect.ADMITS_REMIT, _matcher(gateway_item(own), Effect.ALLOWS)))
        into.own_rules += [
            SettingsRule(source=into.source, level=level, effect=effect, subject=it)
            for effect, it in narrowed
        ]
    into.rules += [
        SettingsRule(source=into.source, level=level, effect=effect, subject=it) for effect, it in found
    ]
    into.rules += permissions


def _ignored_servers(
    settings: EntryFields, source: str, workspace: Workspace, level: SettingsLevel
) -> list[Declaration]:
    """Read the servers in a settings file, which the client ignores; skip invalid ones."""
    found = ParsedFile(source=source)
    dir = workspace.dir if level is SettingsLevel.PROJECT else None
    with found.part(""):
        place = origin(NAME, source, workspace, _SCOPES[level], dir, place="mcpServers")
        declare_servers(settings.fields("mcpServers"), place, found, read_entry=read_entry)
    return found.declarations


def read_answers(project: EntryFields, place: str, into: ParsedFile) -> None:
    """Read the user's recorded answers for one project; skip invalid items."""
    found: list[tuple[Effect, str]] = []
    with into.part(place):
        if project.flag("enableAllProjectMcpServers"):
            found.append((Effect.APPROVES_ALL, "true"))
    for name, effect in (
        ("enabledMcpjsonServers", Effect.APPROVES),
        ("disabledMcpjsonServers", Effect.REJECTS),
        ("disabledMcpServers", Effect.DISABLES),
    ):
        with into.part(place):
            for at, item in enumerate(project.items_of(name)):
                if isinstance(item, str):
                    found.append((effect, _subject(item, effect)))
                else:
                    into.note(f"{place}.{name}[{at}]", "expected text")
    into.rules += [
        SettingsRule(source=into.source, level=SettingsLevel.STATE, effect=effect, subject=it)
        for effect, it in found
    ]


def read_trust(projects: EntryFields, workspace: Workspace, into: ParsedFile) -> None:
    """Read whether the user trusts the repository, or a folder between its root and the launch directory."""
    folders = ancestors(workspace.dir, up_to=workspace.checkout)
    for subject, paths in (("project", (workspace.project.path,)), ("folder", folders)):
        if any(_is_trusted(projects, path) for path in paths):
            trust = SettingsRule(
                source=into.source, level=SettingsLevel.STATE, effect=Effect.TRUSTS, subject=subject
            )
            into.rules.append(trust)


def _is_trusted(projects: EntryFields, path: str) -> bool:
    try:
        return projects.fields(state_key(path)).flag("hasTrustDialogAccepted") is True
    except EntryError:
        return False


def state_key(path: str) -> str:
    """Write a path as a key of the client's `projects`."""
    return path.replace(os.sep, "/")


def _override(value: object, skill: str) -> str:
    if value not in ("on", "name-only", "user-invocable-only", "off"):
        raise EntryError(f"skillOverrides.{skill}: not one of on, name-only, user-invocable-only, off")
    return str(value)


def _administrators(settings: EntryFields) -> Iterator[tuple[Effect, str]]:
    """Read the settings that only an administrator may set."""
    if dict(settings.items()).get("allowManagedHooksOnly") is True:
        yield Effect.DISABLES_HOOKS, MANAGED_HOOKS_ONLY
    if settings.flag("allowManagedMcpServersOnly"):
        yield Effect.ALLOWS_MANAGED_ONLY, ""
    for item in settings.item_or_items("strictPluginOnlyCustomization"):
        surfaces = ("mcp", "skills", "agents") if item is True else (item,)
        yield from ((Effect.ADMITS_PLUGINS_ONLY, storable(it)) for it in surfaces if isinstance(it, str))


def _declare_managed(settings: EntryFields, into: ParsedFile) -> None:
    """Declare an administrator's servers: remote ones, without variables."""
    with into.part(""):
        servers = settings.fields("managedMcpServers")
        origin = EntryOrigin(client=NAME, source=into.source, scope=Scope.MANAGED, place="managedMcpServers")
        declare_servers(servers, origin, into, read_entry=_managed_entry)


def _managed_entry(name: str, entry: EntryFields) -> ServerEntry:
    found = read_entry(name, entry)
    url = found.launch.url
    if found.launch.transport not in (Transport.HTTP, Transport.SSE) or not url.startswith("https://"):
        raise EntryError("an administrator's server in the settings must have an https URL")
    if "${" in url:
        raise EntryError("an administrator's server in the settings must not use variables")
    return found


def _approvals(settings: EntryFields) -> Iterator[tuple[Effect, str]]:
    everything = settings.flag("enableAllProjectMcpServers")
    if everything is not None:
        yield Effect.APPROVES_ALL, "true" if everything else "false"
    for name, effect in (
        ("enabledMcpjsonServers", Effect.APPROVES),
        ("disabledMcpjsonServers", Effect.REJECTS),
    ):
        for server in settings.text_or_texts(name):
            yield effect, _subject(server, effect)


def _policy(settings: EntryFields, name: str, effect: Effect, into: ParsedFile) -> list[tuple[Effect, str]]:
    """Read a policy list; skip entries that are not exactly one matcher."""
    if name not in settings:
        return []
    found: list[tuple[Effect, str]] = []
    with into.part(""):
        items = settings.items_of(name)
        if effect is Effect.ALLOWS:
            found.append((effect, ""))  # an empty list allows nothing
        for at, item in enumerate(items):
            with into.part(f"{name}[{at}]"):
                found.append((effect, _matcher(EntryFields(item), effect)))
    return _with_few_urls(found, name, into)


def _with_few_urls(found: list[tuple[Effect, str]], name: str, into: ParsedFile) -> list[tuple[Effect, str]]:
    """Keep as many URLs as can be compared with every server; a longer list denies all, or allows fewer."""
    urls = [item for item in found if item[1].startswith("url:")]
    if len(urls) <= _MAX_URLS:
        return found
    into.note(name, f"more than {_MAX_URLS:,} URLs")
    kept = urls[:_MAX_URLS] if found[0][0] is Effect.ALLOWS else [(Effect.DENIES, "url:*")]
    return [item for item in found if item not in set(urls)] + kept


def _matcher(entry: EntryFields, effect: Effect) -> str:
    match [name for name in ("serverName", "serverCommand", "serverUrl") if name in entry]:
        case ["serverName"]:
            name = entry.text("serverName")
            if effect is Effect.ALLOWS and name != normalise(name):
                raise EntryError("serverName: the client allows only names of letters, digits, `_` and `-`")
            return f"name:{storable(name)}"
        case ["serverCommand"]:
            return f"command:{command_digest(entry.texts('serverCommand'))}"
        case ["serverUrl"]:
            return f"url:{storable(entry.text('serverUrl'))}"
        case _:
            raise EntryError("expected exactly one of serverName, serverCommand, serverUrl")


def _subject(server: str, effect: Effect) -> str:
    return normalise(server) if effect is Effect.REJECTS else storable(server)
