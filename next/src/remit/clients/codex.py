"""Codex: TOML files from the machine's to the launch directory's, merged key by key, and its plugins."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, cast

from remit.clients.fields import EntryError, EntryFields
from remit.clients.layers import FileLayer, RuleWriter, declare_layers, deep_merge, replace_entry
from remit.clients.reader import ClientReader, EntryOrigin, off_status, origin, plugin_row
from remit.clients.server_files import ServerEntry
from remit.clients.settings import Effect, Level
from remit.clients.table import place
from remit.decision import Declaration, Launch, Scope, Transport, VariableSyntax, ancestors
from remit.files import Machine, parse_toml

_MANIFESTS = (".codex-plugin", ".claude-plugin")
_FOR_A_PROCESS = ("args", "env", "env_vars", "cwd")
_FOR_A_URL = (
    "url",
    "auth",
    "bearer_token_env_var",
    "env_http_headers",
    "http_headers",
    "http_headers_helper",
    "oauth",
    "oauth_resource",
)


class _File(NamedTuple):
    origin: EntryOrigin
    content: Mapping[str, Any]
    servers: Mapping[str, Any]
    is_trusted: bool = True


def read(reader: ClientReader) -> None:
    """Read all files that apply to a workspace."""
    workspace, machine = reader.workspace, reader.machine
    home = os.path.join(workspace.dir, place("$CODEX_HOME | ~/.codex", machine))
    system, user = _system_directory(machine), os.path.join(home, "config.toml")
    everywhere = [_read_file(reader, path) for path in (os.path.join(system, "config.toml"), user)]
    managed = _read_file(reader, os.path.join(system, "managed_config.toml"), Scope.MANAGED)
    settings = _merged([*everywhere, managed])
    files = [*everywhere, *_project_files(reader, settings, user), managed]
    _withhold(reader, files, user)
    plugins = _plugin_layers(reader, home, _merged(file for file in files if file.is_trusted), settings)
    declare_layers(reader, plugins, _read_entry, replace_entry)
    layers = [FileLayer(file.origin, file.servers, file.is_trusted) for file in files]
    declare_layers(reader, layers, _read_entry, deep_merge)
    _read_requirements(reader, os.path.join(system, "requirements.toml"))
    _read_tool_lists(reader, [file for file in files if file.is_trusted])


def _read_tool_lists(reader: ClientReader, files: Sequence[_File]) -> None:
    """Read which tools of a server are enabled, and which the client asks about."""
    sources = {name: file.origin.source for file in files for name in file.servers}
    merged = reduce(deep_merge, (file.servers for file in files), cast("object", {}))
    for name, source in sources.items():
        with reader.part(source, f"mcp_servers.{name}") as part:
            entry = EntryFields(merged).fields(name)
            lists = RuleWriter(source, f"mcp_servers.{name}")
            if "enabled_tools" in entry:
                part.rules += lists.only(name, entry.texts("enabled_tools"))
            part.rules += lists.tools(Effect.DENIES_TOOL, name, entry.texts("disabled_tools"))
            modes = {tool: entry.fields("tools").fields(tool) for tool, _ in entry.fields("tools").items()}
            for tool, options in modes.items():
                mode = options.text("approval_mode") if "approval_mode" in options else ""
                if effect := _APPROVALS.get(mode):
                    part.rules += lists.tools(effect, name, [tool])


_APPROVALS = {"prompt": Effect.ASKS_ABOUT_TOOL, "approve": Effect.ALLOWS_TOOL}


def _system_directory(machine: Machine) -> str:
    if machine.platform != "win32":
        return f"{machine.root}/etc/codex"
    return place("{program_data}/OpenAI/Codex", machine)


def _read_file(
    reader: ClientReader,
    path: str,
    scope: Scope = Scope.GLOBAL,
    dir: str | None = None,
    *,
    is_trusted: bool = True,
) -> _File:
    target = origin(reader, path, scope, dir, place="mcp_servers")
    content = reader.fields(path, parse_toml)
    return _File(target, content.content, reader.fields_in(content, "mcp_servers", path).content, is_trusted)


def _merged(files: Iterable[_File]) -> dict[str, Any]:
    return cast("dict[str, Any]", reduce(deep_merge, (file.content for file in files), cast("object", {})))


def _project_files(reader: ClientReader, settings: dict[str, Any], user: str) -> list[_File]:
    """Read the files from the project's root to the launch directory, nearest last."""
    workspace = reader.workspace
    root = _project_root(reader, settings)
    trust = reader.fields_in(EntryFields(settings), "projects", user).content
    found: list[_File] = []
    for dir in reversed(ancestors(workspace.dir, up_to=root)):
        path = os.path.join(dir, ".codex", "config.toml")
        if os.path.realpath(path) != os.path.realpath(user):
            is_trusted = _is_trusted(trust, (dir, root, workspace.project.path))
            found.append(_read_file(reader, path, Scope.PROJECT, dir, is_trusted=is_trusted))
    return found


def _project_root(reader: ClientReader, settings: dict[str, Any]) -> str:
    """Find the nearest directory with a root marker, else the launch directory."""
    try:
        named = EntryFields(settings)
        markers = named.texts("project_root_markers") if "project_root_markers" in named else [".git"]
    except EntryError:
        markers = [".git"]
    here = reader.workspace.dir
    return next((dir for dir in ancestors(here) if any(_is_marked(reader, dir, it) for it in markers)), here)


def _is_marked(reader: ClientReader, dir: str, marker: str) -> bool:
    path = os.path.join(dir, marker)
    if marker == ".git":  # the client does not accept an empty directory as a repository
        return os.path.isfile(path) or os.path.exists(os.path.join(path, "HEAD"))
    return reader.look_at(path)


def _is_trusted(trust: dict[str, Any], paths: tuple[str, ...]) -> bool:
    """Return the first answer for the directory, its project's root, or the main checkout."""
    for path in paths:
        try:
            project = EntryFields(trust.get(path, {}))
            if "trust_level" in project:
                return project.text("trust_level") == "trusted"
        except EntryError:
            return False
    return False


def _withhold(reader: ClientReader, files: list[_File], user: str) -> None:
    for file in files:
        if not file.is_trusted:
            reader.rule(user, Level.USER, Effect.WITHHOLDS, file.origin.dir or "")


def _read_requirements(reader: ClientReader, path: str) -> None:
    """Deny servers that the administrator's list omits or lists with another command or URL."""
    top = reader.fields(path, parse_toml)
    own, plugins = _required(reader, path, top), _required_of_plugins(reader, path, top)
    withheld = {rule.subject for rule in reader.rules if rule.effect is Effect.WITHHOLDS}
    verdicts: dict[str, bool] = {}
    for item in reader.declarations:
        required = plugins if item.scope is Scope.PLUGIN else own
        if item.server is not None and (item.dir not in withheld or item.server not in verdicts):
            verdicts[item.server] = required is None or _is_required(item, required.get(item.server))
    for server, is_allowed in verdicts.items():
        if not is_allowed:
            reader.rule(path, Level.MANAGED, Effect.DENIES, f"name:{server}")


def _required(reader: ClientReader, path: str, top: EntryFields) -> dict[str, Any] | None:
    return reader.fields_in(top, "mcp_servers", path).content if "mcp_servers" in top else None


def _required_of_plugins(reader: ClientReader, path: str, top: EntryFields) -> dict[str, Any] | None:
    """Read the list for plugins' servers; without it, an empty general list applies to them too."""
    if "plugins" not in top:
        return {} if _required(reader, path, top) == {} else None
    plugins = reader.fields_in(top, "plugins", path)
    named = [plugins.fields(name) for name, _ in plugins.items() if plugins.is_object(name)]
    return dict(item for plugin in named for item in reader.fields_in(plugin, "mcp_servers", path).items())


def _is_required(item: Declaration, requirement: object) -> bool:
    try:
        identity = EntryFields(requirement).fields("identity")
        field = "url" if "url" in identity else "command"
        return item.launch is not None and getattr(item.launch, field) == identity.text(field)
    except EntryError:
        return False


def _plugin_layers(
    reader: ClientReader, home: str, here: dict[str, Any], everywhere: dict[str, Any]
) -> list[FileLayer]:
    """Read the configured plugins; of two servers with one name, the plugin first by name wins."""
    plugins = _plugins(here)
    known_everywhere = _plugins(everywhere)
    layers: list[FileLayer] = []
    for id in sorted(plugins, reverse=True):
        is_personal = id in known_everywhere and known_everywhere[id] == plugins[id]
        project_hash = None if is_personal else reader.workspace.project.hash
        layers += _layer(reader, home, id, plugins[id], project_hash)
    return layers


def _plugins(settings: dict[str, Any]) -> dict[str, Any]:
    try:
        if EntryFields(settings).fields("features").flag("plugins") is False:
            return {}
        return EntryFields(settings).fields("plugins").content
    except EntryError:
        return {}


def _layer(
    reader: ClientReader, home: str, id: str, entry: object, project_hash: str | None
) -> list[FileLayer]:
    plugin, _, marketplace = id.rpartition("@")
    folder = _copy(reader, os.path.join(home, "plugins", "cache", marketplace, plugin))
    found = _manifest(reader, folder)
    if found is None:
        return []
    layers: list[FileLayer] = []
    manifest_path, content = found
    with reader.part(manifest_path) as part:
        manifest, switches = EntryFields(content), EntryFields(entry)
        is_off = switches.flag("enabled") is False
        source, servers = _servers(reader, folder, manifest_path, manifest)
        target = EntryOrigin(reader.client, source, Scope.PLUGIN, "mcpServers", project_hash)
        part.declarations.append(plugin_row(target, id, status=off_status(is_off)))
        if not is_off:
            own = switches.fields("mcp_servers").content
            servers = {name: deep_merge(entry, own.get(name, {})) for name, entry in servers.items()}
            layers.append(FileLayer(target, servers))
    return layers


def _copy(reader: ClientReader, folder: str) -> str:
    """Find the version in use: a local one, else the highest."""
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


def _manifest(reader: ClientReader, folder: str) -> tuple[str, object] | None:
    for name in _MANIFESTS:
        path = os.path.join(folder, name, "plugin.json")
        content = reader.content(path)
        if content is not None:
            return path, content[0]
    return None


def _servers(
    reader: ClientReader, folder: str, path: str, manifest: EntryFields
) -> tuple[str, dict[str, Any]]:
    """Read the servers in the manifest, in the file it names, or in the `.mcp.json` next to it."""
    named = manifest.content.get("mcpServers", ".mcp.json")
    if not isinstance(named, str):
        return path, EntryFields(named).content
    file = os.path.normpath(os.path.join(folder, named))
    servers = reader.fields(file)
    return file, (servers.fields("mcpServers") if "mcpServers" in servers else servers).content


def _read_entry(_name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry.

    Raises:
        EntryError: the client would not start with it, or would skip it in a plugin.
    """
    is_off = entry.flag("enabled") is False
    if "bearer_token" in entry:
        raise EntryError("`bearer_token` is not supported; use `bearer_token_env_var`")
    if "command" in entry:
        _refuse(entry, _FOR_A_URL, "command")
        return _process(entry), is_off
    if "url" in entry:
        _refuse(entry, _FOR_A_PROCESS, "url")
        return _remote(entry), is_off
    raise EntryError("neither `command` nor `url` is given, here or in a file that this one overrides")


def _process(entry: EntryFields) -> Launch:
    passed_on = {(name := _variable(item)): _named(name) for item in entry.items_of("env_vars")}
    return Launch(
        command=entry.text("command"),
        args=tuple(entry.texts("args")),
        env={**passed_on, **entry.pairs("env")},
        cwd=entry.optional_text("cwd"),
    )


def _remote(entry: EntryFields) -> Launch:
    headers = {name: _named(variable) for name, variable in entry.pairs("env_http_headers").items()}
    if "bearer_token_env_var" in entry:
        headers["Authorization"] = f"Bearer {_named(entry.text('bearer_token_env_var'))}"
    headers |= entry.pairs("http_headers")
    return Launch(transport=Transport.HTTP, url=entry.text("url"), headers=headers)


def _named(variable: str) -> str:
    """Refer to a variable in a syntax that the client's literal texts cannot contain."""
    return VariableSyntax.NAMED.replace("X", variable)


def _variable(item: object) -> str:
    return item if isinstance(item, str) else EntryFields(item).text("name")


def _refuse(entry: EntryFields, fields: tuple[str, ...], beside: str) -> None:
    for field in fields:
        if field in entry:
            raise EntryError(f"`{field}` cannot be combined with `{beside}`")
