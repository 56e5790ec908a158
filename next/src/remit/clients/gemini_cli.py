"""Gemini CLI: settings of the machine, the user and the launch directory, extensions, and trusted folders.

Entries are not merged, and no server of an untrusted folder starts.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from remit.clients.fields import EntryError, EntryFields
from remit.clients.layers import FileLayer, RuleWriter, declare_layers, replace_entry
from remit.clients.reader import ClientReader, EntryOrigin, off_status, origin, plugin_row
from remit.clients.server_files import ServerEntry, process, remote
from remit.clients.settings import Effect, Level, SettingsRule
from remit.decision import Scope, Transport, is_at_or_below
from remit.files import is_only_roots, parse_commented_json, parse_toml

_SYSTEM_PATH = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
_DEFAULTS_PATH = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
_TRUSTED_FOLDERS = "GEMINI_CLI_TRUSTED_FOLDERS_PATH"
_TRUST = "GEMINI_CLI_TRUST_WORKSPACE"
_SYSTEM = {
    "linux": "/etc/gemini-cli",
    "darwin": "/Library/Application Support/GeminiCli",
    "win32": "C:\\ProgramData\\gemini-cli",
}

_TRUSTING = {"TRUST_FOLDER": True, "TRUST_PARENT": True, "DO_NOT_TRUST": False}
_PREFIX = "mcp_"  # of a server's tool: `mcp_<server>_<tool>`
_LISTS = {"exclude": Effect.DENIES_TOOL, "allowed": Effect.ALLOWS_TOOL}
_DECISIONS = {"deny": Effect.DENIES_TOOL, "ask_user": Effect.ASKS_ABOUT_TOOL, "allow": Effect.ALLOWS_TOOL}
_CONDITIONS = ("argsPattern", "commandPrefix", "commandRegex", "modes", "toolAnnotations", "interactive")


class _File(NamedTuple):
    origin: EntryOrigin
    level: Level
    content: EntryFields


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    workspace, machine = reader.workspace, reader.machine
    home = os.path.join(workspace.dir, machine.variables.get("GEMINI_CLI_HOME") or machine.home)
    folder = os.path.join(home, ".gemini")
    system, defaults = _system_files(reader)
    weak = [_read_system_file(reader, defaults), _read_file(reader, os.path.join(folder, "settings.json"))]
    strong = _read_system_file(reader, system, Scope.MANAGED, Level.MANAGED)
    own: list[_File] = []
    if workspace.dir != os.path.realpath(home):
        path = os.path.join(workspace.dir, ".gemini", "settings.json")
        own.append(_read_file(reader, path, Scope.PROJECT, Level.PROJECT))
    is_trusted = _read_trust(reader, [file.content for file in (strong, *reversed(weak))], folder)
    layers = _extension_layers(reader, os.path.join(folder, "extensions"))
    layers += [FileLayer(file.origin, _servers(reader, file)) for file in (*weak, *own, strong)]
    declare_layers(reader, layers, _read_entry, replace_entry)
    for file in (*weak, *(own if is_trusted else ()), strong):
        _read_lists(reader, file)
    _read_switches(reader, os.path.join(folder, "mcp-server-enablement.json"))
    counting = (*weak, *(own if is_trusted else ()), strong)
    for file in counting:
        _read_tool_lists(reader, file.content, file.origin.source, file.level, _declared(reader))
    _read_server_lists(reader, counting)
    for policies in (os.path.join(folder, "policies"), os.path.join(os.path.dirname(system), "policies")):
        _read_policies(reader, policies, _declared(reader))


def _read_server_lists(reader: ClientReader, files: Sequence[_File]) -> None:
    """Read the lists in the entry of each server; the strongest file's entry counts."""
    strongest = {name: (file, entry) for file in files for name, entry in _servers(reader, file).items()}
    for name, (file, entry) in strongest.items():
        with reader.part(file.origin.source, f"mcpServers.{name}") as part:
            part.rules += _entry_lists(name, EntryFields(entry), file.origin.source, file.level)


def _read_entry(_name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry; a URL wins over a command.

    Raises:
        EntryError: the client could not start it.
    """
    if "httpUrl" in entry:
        return remote(entry, Transport.HTTP, url="httpUrl"), False
    if "url" in entry:
        is_sse = "type" in entry and entry.text("type") == "sse"
        return remote(entry, Transport.SSE if is_sse else Transport.HTTP), False
    return process(entry), False


def _system_files(reader: ClientReader) -> tuple[str, str]:
    machine, here = reader.machine, reader.workspace.dir
    usual = machine.root + _SYSTEM.get(machine.platform, _SYSTEM["linux"])
    system = os.path.join(here, machine.variables.get(_SYSTEM_PATH) or os.path.join(usual, "settings.json"))
    beside = os.path.join(os.path.dirname(system), "system-defaults.json")
    return system, os.path.join(here, machine.variables.get(_DEFAULTS_PATH) or beside)


def _read_file(
    reader: ClientReader, path: str, scope: Scope = Scope.GLOBAL, level: Level = Level.USER
) -> _File:
    dir = reader.workspace.dir if scope is Scope.PROJECT else None
    target = origin(reader, path, scope, dir, place="mcpServers")
    return _File(target, level, reader.fields(path, parse_commented_json))


def _read_system_file(
    reader: ClientReader, path: str, scope: Scope = Scope.GLOBAL, level: Level = Level.USER
) -> _File:
    """Read an administrator's file; a path from a variable must be writable by root only."""
    if not _is_planted(reader, path):
        return _read_file(reader, path, scope, level)
    reader.note(path, "ignored, as the client does: users other than root can write it")
    return _File(origin(reader, path, scope, place=""), level, EntryFields({}))


def _is_planted(reader: ClientReader, path: str) -> bool:
    machine = reader.machine
    if machine.platform == "win32" or not any(
        machine.variables.get(name) for name in (_SYSTEM_PATH, _DEFAULTS_PATH)
    ):
        return False
    return reader.look_at(path) and not is_only_roots(path)


def _servers(reader: ClientReader, file: _File) -> dict[str, Any]:
    servers = reader.fields_in(file.content, "mcpServers", file.origin.source)
    return {name: entry for name, entry in servers.items() if name != "__proto__"}


def _read_lists(reader: ClientReader, file: _File) -> None:
    """Deny servers that a file excludes or that any allow list omits."""
    with reader.part(file.origin.source, "mcp") as part:
        lists = file.content.fields("mcp")
        allowed, excluded = _ids(lists.texts("allowed")), _ids(lists.texts("excluded"))
        part.rules += [
            SettingsRule(part.source, file.level, Effect.DENIES, f"name:{server}")
            for server in _declared(reader)
            if _id(server) in excluded or ("allowed" in lists and _id(server) not in allowed)
        ]


def _read_switches(reader: ClientReader, path: str) -> None:
    """Read the servers disabled with `gemini mcp disable`."""
    switches = reader.fields(path)
    with reader.part(path) as part:
        part.rules += [
            SettingsRule(path, Level.STATE, Effect.DISABLES, server)
            for server in _declared(reader)
            if switches.fields(_id(server)).flag("enabled") is False
        ]


def _declared(reader: ClientReader) -> list[str]:
    servers = (item.server for item in reader.declarations if item.server is not None)
    return list(dict.fromkeys(servers))


def _ids(names: list[str]) -> set[str]:
    return set(map(_id, names))


def _id(server: str) -> str:
    return server.lower().strip()


def _read_trust(reader: ClientReader, settings: Sequence[EntryFields], folder: str) -> bool:
    """Tell whether the launch directory is trusted, by settings (strongest first) and the user's answers."""
    named = reader.machine.variables.get(_TRUSTED_FOLDERS) or os.path.join(folder, "trustedFolders.json")
    path = os.path.join(reader.workspace.dir, named)
    answer = _trust_answer(reader, path)
    is_trusted = _trust_by_variable(reader)
    if is_trusted is None:
        is_trusted = answer or not _asks_for_trust(settings)
    if not is_trusted:
        reader.rule(path, Level.USER, Effect.WITHHOLDS)
    return is_trusted


def _trust_by_variable(reader: ClientReader) -> bool | None:
    variables = reader.machine.variables
    if variables.get("GEMINI_RESTRICTED_MODE") == "true" or variables.get(_TRUST) == "false":
        return False
    return True if variables.get(_TRUST) == "true" else None


def _asks_for_trust(settings: Sequence[EntryFields]) -> bool:
    for file in settings:
        try:
            is_on = file.fields("security").fields("folderTrust").flag("enabled")
        except EntryError:
            continue
        if is_on is not None:
            return is_on
    return True


def _trust_answer(reader: ClientReader, path: str) -> bool:
    """Read the answer for the longest path at or above the launch directory; one invalid rule voids all."""
    answers = reader.fields(path, parse_commented_json)
    levels = {rule: level for rule, level in answers.items() if isinstance(level, str) and level in _TRUSTING}
    if len(levels) < len(answers.items()):
        reader.note(path, f"expected one of {', '.join(_TRUSTING)}")
        return False
    above = [rule for rule in levels if is_at_or_below(reader.workspace.dir, _top(rule, levels[rule]))]
    return bool(above) and _TRUSTING[levels[max(above, key=len)]]


def _top(rule: str, level: str) -> str:
    return os.path.realpath(os.path.dirname(rule) if level == "TRUST_PARENT" else rule)


def _extension_layers(reader: ClientReader, root: str) -> list[FileLayer]:
    """Read the user's extensions; of two servers with one name, the first wins."""
    switches = reader.fields(os.path.join(root, "extension-enablement.json"))
    layers = [_extension_layer(reader, os.path.join(root, name), switches) for name in reader.names_in(root)]
    return [layer for layer in reversed(layers) if layer is not None]


def _extension_layer(reader: ClientReader, folder: str, switches: EntryFields) -> FileLayer | None:
    path = os.path.join(_extension_place(reader, folder), "gemini-extension.json")
    manifest = reader.fields(path)
    if "name" not in manifest:
        return None
    layer = None
    with reader.part(path) as part:
        name = manifest.text("name")
        target = EntryOrigin(reader.client, path, Scope.PLUGIN, "mcpServers")
        is_on = _is_extension_on(switches, name, reader.workspace.dir)
        part.declarations.append(plugin_row(target, name, status=off_status(not is_on)))
        if is_on:
            layer = FileLayer(target, manifest.fields("mcpServers").content)
    return layer


def _extension_place(reader: ClientReader, folder: str) -> str:
    """Return the folder of an extension, following a linked one."""
    record = reader.fields(os.path.join(folder, ".gemini-extension-install.json"))
    try:
        return record.text("source") if record.text("type") == "link" else folder
    except EntryError:
        return folder


def _is_extension_on(switches: EntryFields, name: str, dir: str) -> bool:
    """Apply the rules of an extension: the last that matches the directory wins; `!` disables."""
    is_on = True
    try:
        rules = switches.fields(name).texts("overrides")
    except EntryError:
        return True
    place = "/" + dir.replace("\\", "/").strip("/") + "/"
    for rule in rules:
        if _path_pattern(rule.removeprefix("!")).fullmatch(place):
            is_on = not rule.startswith("!")
    return is_on


def _path_pattern(glob: str) -> re.Pattern[str]:
    """Compile a path pattern; `*` matches anything, including the slash before it."""
    return re.compile(re.sub(r"(/?)\\\*", r"(\1.*)?", re.escape(glob)), re.DOTALL)


def _entry_lists(name: str, entry: EntryFields, source: str, level: Level) -> list[SettingsRule]:
    """Read the tools that a server's entry includes and excludes, and whether it is trusted.

    Raises:
        EntryError: a field has a wrong type.
    """
    lists = RuleWriter(source, f"mcpServers.{name}", level)
    rules = lists.tools(Effect.DENIES_TOOL, name, entry.texts("excludeTools"))
    if "includeTools" in entry:
        rules += lists.only(name, (tool.partition("(")[0] for tool in entry.texts("includeTools")))
    if entry.flag("trust"):
        rules.append(lists.whole(Effect.ALLOWS_TOOL, name))
    return rules


def _read_tool_lists(
    reader: ClientReader, content: EntryFields, source: str, level: Level, servers: Sequence[str]
) -> None:
    """Read `tools.exclude` and `tools.allowed` of one settings file."""
    with reader.part(source, "tools") as part:
        tools = content.fields("tools")
        for name, effect in _LISTS.items():
            lists = RuleWriter(source, f"tools.{name}", level)
            for pattern in tools.texts(name):
                part.rules += lists.joined(effect, pattern, servers, _PREFIX)


def _read_policies(reader: ClientReader, folder: str, servers: Sequence[str]) -> None:
    """Read the policy files of a folder; for each subject, the rule of the highest priority counts."""
    found: dict[tuple[str, str], tuple[float, str, Effect]] = {}
    for name in reader.names_in(folder):
        if name.endswith(".toml"):
            path = os.path.join(folder, name)
            with reader.part(path, "rule"):
                for subject, priority, effect in _policy_rules(reader.fields(path, parse_toml)):
                    if subject not in found or priority > found[subject][0]:
                        found[subject] = priority, path, effect
    for (server, tool), (_, path, effect) in found.items():
        lists = RuleWriter(path, "rule")
        with reader.part(path) as part:
            if not server:
                part.rules += lists.joined(effect, tool, servers, _PREFIX)
            elif tool in ("", "*"):
                part.rules.append(lists.whole(effect, server))
            else:
                part.rules += lists.tools(effect, server, [tool])


def _policy_rules(content: EntryFields) -> Iterator[tuple[tuple[str, str], float, Effect]]:
    """Yield server, tool, priority and effect of the rules that do not depend on arguments or modes."""
    for item in content.items_of("rule"):
        rule = EntryFields(item)
        effect = _DECISIONS.get(rule.text("decision"))
        if effect is None or any(name in rule for name in _CONDITIONS):
            continue
        priority = rule.value("priority")
        server = rule.text("mcpName") if "mcpName" in rule else ""
        for tool in rule.text_or_texts("toolName") or [""]:
            if server or tool:
                yield (server, tool), priority if isinstance(priority, int | float) else 0.0, effect
