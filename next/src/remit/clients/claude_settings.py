"""Claude Code's settings files and server entries, checked as the client checks them.

One wrong type among approvals, permissions, hooks or overrides voids a whole file, its deny rules included;
a wrong item of a policy, or of a list of permissions, is only itself void.
"""

import json
from collections.abc import Iterator
from typing import Any

from remit.clients.fields import EntryError, EntryFields, storable_text
from remit.clients.reader import EntryOrigin, ExecutedSetting, Part
from remit.clients.server_files import ServerEntry, declare_servers, process, remote
from remit.clients.settings import Effect, Level, SettingsRule
from remit.decision import OAuthClient, Scope, Transport, command_digest, normalise
from remit.text import as_list, as_object

NAME = "claude-code"
MAX_RULES = 10_000  # per list of permissions

_REMOTE = {
    "http": Transport.HTTP,
    "streamable-http": Transport.HTTP,
    "sse": Transport.SSE,
    "ws": Transport.WEBSOCKET,
}
_RESERVED = frozenset(
    {"__proto__", "workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"}
)
_MAX_URLS = 300  # of a policy; each is compared with each server
_PERMISSIONS = {"deny": Effect.DENIES_TOOL, "ask": Effect.ASKS_ABOUT_TOOL, "allow": Effect.ALLOWS_TOOL}
_BEYOND = {  # what follows from too many rules
    "deny": "; all tools are denied",
    "ask": "; every call needs approval",
    "allow": "; the rest is ignored",
}
_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan")
_OVERRIDES = ("on", "name-only", "user-invocable-only", "off")
_ON_FAILURE = ("continue", "block")
_APPROVALS = {"enabledMcpjsonServers": Effect.APPROVES, "disabledMcpjsonServers": Effect.REJECTS}
_COMMANDS = (  # settings whose text is a command
    *("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper"),
    "proxyAuthHelper",
)
_WITH_COMMAND = ("statusLine", "subagentStatusLine", "fileSuggestion")  # settings with a `command`
_MAX_HOOKS, _MAX_WORDS, _MAX_WORD = 100, 12, 100


def read_entry(name: str, entry: EntryFields) -> ServerEntry:
    """Read a server's entry.

    Raises:
        EntryError: the client would skip it.
    """
    if name in _RESERVED:
        raise EntryError("the name is reserved by the client")
    transport = entry.text("type") if "type" in entry else "stdio"
    if transport in _REMOTE:
        launch = remote(entry, _REMOTE[transport])
        helper = entry.optional_text("headersHelper")
        return launch._replace(headers_helper=helper, registered=_registered(entry)), False
    if transport != "stdio":
        raise EntryError("type: not one of stdio, http, streamable-http, sse, ws")
    if "command" not in entry and "url" in entry:
        raise EntryError('`url` without a remote `type`; add "type": "http"')
    return process(EntryFields({key: value for key, value in entry.items() if key != "cwd"})), False


def parse_settings(settings: EntryFields, part: Part, level: Level) -> None:
    """Read the rules of a `settings.json`.

    Raises:
        EntryError: the client ignores the whole file.
    """
    rules = [*_approvals(settings), *_permissions(settings, part), *_overrides(settings)]
    _require_valid_hooks(settings)
    rules += _policy(settings, "deniedMcpServers", Effect.DENIES, part)
    rules += _policy(settings, "allowedMcpServers", Effect.ALLOWS, part)
    rules += [
        (Effect.SWITCHES_PLUGIN, f"{storable_text(plugin)}={'true' if value is True else 'false'}", "")
        for plugin, value in settings.fields("enabledPlugins").items()
    ]
    if settings.value("disableAllHooks") is True:
        rules.append((Effect.DISABLES_HOOKS, "disableAllHooks", ""))
    if level is Level.MANAGED:
        rules += _administrators(settings, part)
    part.rules += [SettingsRule(part.source, level, *rule) for rule in rules]


def parse_managed_servers(settings: EntryFields, part: Part) -> None:
    """Declare the servers of an administrator's settings: remote ones, without variables."""
    place = EntryOrigin(NAME, part.source, Scope.MANAGED, "managedMcpServers")
    declare_servers(settings.fields("managedMcpServers"), place, part, _managed_entry)


def parse_answers(project: EntryFields, place: str, part: Part) -> None:
    """Read the user's recorded answers for one project; skip invalid items."""
    with part.section(place):
        if project.flag("enableAllProjectMcpServers"):
            part.rules.append(SettingsRule(part.source, Level.STATE, Effect.APPROVES_ALL, "true"))
    for name, effect in (*_APPROVALS.items(), ("disabledMcpServers", Effect.DISABLES)):
        with part.section(place):
            for at, item in enumerate(project.items_of(name)):
                if isinstance(item, str):
                    part.rules.append(SettingsRule(part.source, Level.STATE, effect, _named(item, effect)))
                else:
                    part.note(f"{place}.{name}[{at}]", "expected text")


def executed_settings(settings: EntryFields, source: str) -> Iterator[ExecutedSetting]:
    """List the settings that make the client run code: hooks and commands."""
    content = settings.content
    handlers = [
        (event, as_object(handler))
        for event, groups in as_object(content.get("hooks")).items()
        for group in as_list(groups)
        for handler in as_list(as_object(group).get("hooks"))
    ]
    commands = {name: content.get(name) for name in _COMMANDS}
    commands |= {name: as_object(content.get(name)).get("command") for name in _WITH_COMMAND}
    written = [
        *(
            (event, [item.get("command"), *as_list(item.get("args"))])
            for event, item in handlers[:_MAX_HOOKS]
        ),
        *((name, [command]) for name, command in commands.items()),
    ]
    for key, words in written:
        if isinstance(words[0], str):
            shown = _shown([word for word in words if isinstance(word, str)])
            yield ExecutedSetting(source, storable_text(key), storable_text(shown))


def _registered(entry: EntryFields) -> OAuthClient | None:
    """Read the OAuth client of an entry; ignore an invalid one, which only matters at sign-in."""
    oauth = as_object(entry.value("oauth"))
    client_id, port = oauth.get("clientId"), oauth.get("callbackPort")
    if not isinstance(client_id, str) or not client_id:
        return None
    return OAuthClient(client_id, port if isinstance(port, int) and 0 < port < 65_536 else 0)


def _managed_entry(name: str, entry: EntryFields) -> ServerEntry:
    launch, _ = read_entry(name, entry)
    if launch.transport not in (Transport.HTTP, Transport.SSE) or not launch.url.startswith("https://"):
        raise EntryError("an administrator's server in the settings must have an https URL")
    if "${" in launch.url:
        raise EntryError("an administrator's server in the settings must not use variables")
    return launch, False


_Rule = tuple[Effect, str, str]  # effect, subject, and the key of a permission rule


def _approvals(settings: EntryFields) -> Iterator[_Rule]:
    everything = settings.flag("enableAllProjectMcpServers")
    if everything is not None:
        yield Effect.APPROVES_ALL, "true" if everything else "false", ""
    for name, effect in _APPROVALS.items():
        for server in settings.text_or_texts(name):
            yield effect, _named(server, effect), ""


def _named(server: str, effect: Effect) -> str:
    return normalise(server) if effect is Effect.REJECTS else storable_text(server)


def _overrides(settings: EntryFields) -> Iterator[_Rule]:
    for skill, word in settings.fields("skillOverrides").items():
        if word not in _OVERRIDES:
            raise EntryError(f"skillOverrides.{skill}: not one of {', '.join(_OVERRIDES)}")
        yield Effect.OVERRIDES_SKILL, f"{storable_text(skill)}={word}", ""


def _require_valid_hooks(settings: EntryFields) -> None:
    for event, groups in as_object(settings.value("hooks")).items():
        for group in as_list(groups):
            fields = as_object(group)
            if not isinstance(fields.get("matcher", ""), str):
                raise EntryError(f"hooks.{event}: a matcher must be text")
            for handler in map(as_object, as_list(fields.get("hooks"))):
                timeout = handler.get("timeout", 1)
                if not isinstance(timeout, int | float) or isinstance(timeout, bool) or timeout <= 0:
                    raise EntryError(f"hooks.{event}: a timeout must be a positive number")
                if handler.get("onFailure", "block") not in _ON_FAILURE:
                    raise EntryError(f"hooks.{event}: onFailure is not one of {', '.join(_ON_FAILURE)}")


def _permissions(settings: EntryFields, part: Part) -> Iterator[_Rule]:
    permissions = settings.fields("permissions")
    mode = permissions.item_or_items("defaultMode")
    if mode and mode[0] not in _MODES:
        raise EntryError(f"permissions.defaultMode: expected one of {', '.join(_MODES)}")
    for name, effect in _PERMISSIONS.items():
        items, key = permissions.items_of(name), f"permissions.{name}"
        for at, item in enumerate(items[:MAX_RULES]):
            if isinstance(item, str):
                yield effect, storable_text(item), key
            else:
                part.note(f"{key}[{at}]", "expected text")
        if len(items) > MAX_RULES:
            part.note(key, f"more than {MAX_RULES:,} rules{_BEYOND[name]}")
            if name != "allow":
                yield effect, "*", key


def _policy(settings: EntryFields, name: str, effect: Effect, part: Part) -> list[_Rule]:
    """Read a policy list; skip entries that are not exactly one matcher."""
    matchers: list[str] = []
    with part.section(""):
        items = settings.items_of(name) if name in settings else []
        if effect is Effect.ALLOWS and name in settings:
            matchers.append("")  # an empty list allows nothing
        for at, item in enumerate(items):
            with part.section(f"{name}[{at}]"):
                matchers.append(_matcher(EntryFields(item), effect))
    urls = [matcher for matcher in matchers if matcher.startswith("url:")]
    if len(urls) > _MAX_URLS:  # deny all, or allow fewer
        part.note(name, f"more than {_MAX_URLS:,} URLs")
        kept = urls[:_MAX_URLS] if effect is Effect.ALLOWS else ["url:*"]
        matchers = [matcher for matcher in matchers if not matcher.startswith("url:")] + kept
    return [(effect, matcher, "") for matcher in matchers]


def _matcher(entry: EntryFields, effect: Effect) -> str:
    match [name for name in ("serverName", "serverCommand", "serverUrl") if name in entry]:
        case ["serverName"]:
            name = entry.text("serverName")
            if effect is Effect.ALLOWS and name != normalise(name):
                raise EntryError("serverName: the client allows only names of letters, digits, `_` and `-`")
            return f"name:{storable_text(name)}"
        case ["serverCommand"]:
            return f"command:{command_digest(entry.texts('serverCommand'))}"
        case ["serverUrl"]:
            return f"url:{storable_text(entry.text('serverUrl'))}"
        case _:
            raise EntryError("expected exactly one of serverName, serverCommand, serverUrl")


def _administrators(settings: EntryFields, part: Part) -> Iterator[_Rule]:
    """Read the settings that only an administrator may set."""
    if settings.value("allowManagedHooksOnly") is True:
        yield Effect.DISABLES_HOOKS, "allowManagedHooksOnly", ""
    if settings.flag("allowManagedMcpServersOnly"):
        yield Effect.ALLOWS_MANAGED_ONLY, "", ""
    if settings.flag("allowManagedPermissionRulesOnly"):
        yield Effect.PERMITS_MANAGED_ONLY, "", ""
    for item in settings.item_or_items("strictPluginOnlyCustomization"):
        surfaces = ("mcp", "skills", "agents") if item is True else (item,)
        yield from (
            (Effect.ADMITS_PLUGINS_ONLY, storable_text(it), "") for it in surfaces if isinstance(it, str)
        )
    yield from _marketplace_rules(settings, part)
    options = (
        as_object(as_object(item).get("options"))
        for item in as_object(settings.value("pluginConfigs")).values()
    )
    only_managed = [
        settings.value("allowManagedModsOnly"),
        *(option.get("allowManagedModsOnly") for option in options),
    ]
    if any(value not in (None, False) for value in only_managed):
        yield Effect.DISABLES_MODS, "", ""


def _marketplace_rules(settings: EntryFields, part: Part) -> Iterator[_Rule]:
    """Read which marketplaces may have plugins, and which kinds of sources are off."""
    strict = "strictKnownMarketplaces" if "strictKnownMarketplaces" in settings else "allowedMarketplaces"
    lists = {strict: Effect.ALLOWS_MARKETPLACE, "blockedMarketplaces": Effect.BLOCKS_MARKETPLACE}
    for name, effect in lists.items():
        if name == strict and name in settings:
            yield effect, "", ""  # an empty list allows none
        with part.section(name):
            for item in settings.items_of(name):
                yield effect, _source(as_object(item)), ""
    off = {"disableCommandPluginSources": "command", "disableSideloadFlags": "inline"}
    for name, kind in off.items():
        if settings.value(name) is True:
            yield Effect.BLOCKS_MARKETPLACE, _source({"source": kind}), ""


def _source(source: dict[str, Any]) -> str:
    return storable_text(json.dumps(source, sort_keys=True))


def _shown(command: list[str]) -> str:
    """Write a command without what may be a secret."""
    from remit.secrets import hidden, may_be_secret  # few repositories run code

    words = [word for part in command for word in part[: _MAX_WORD * _MAX_WORDS].split()]
    shown = [hidden(word) if may_be_secret(word) else word[:_MAX_WORD] for word in words[:_MAX_WORDS]]
    return " ".join([*shown, *(("…",) if len(words) > _MAX_WORDS else ())])
