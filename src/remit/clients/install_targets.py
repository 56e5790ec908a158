"""The files that `remit install` edits in each client: its entry, and switches of the servers it serves.

The administrator's apply to every user of the machine.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from remit.clients.claude_code import (
    MANAGED_SERVERS,
    MANAGED_SETTINGS,
    managed_directory,
    settings_path,
    state_path,
)
from remit.clients.codex import HOME as CODEX_HOME
from remit.clients.gemini_cli import HOME as GEMINI_HOME
from remit.clients.parsing import platform_paths
from remit.configuration.own_files import edits_of
from remit.decision.client_settings import declared_label
from remit.decision.declarations import Declaration
from remit.decision.declared_launch import references
from remit.decision.permissions.client_facts import CLIENTS, client_title
from remit.decision.scopes import Scope
from remit.decision.tool_names import SERVER
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text, require_text
from remit.files.formats import parse_commented_json, parse_json, parse_jsonc
from remit.files.safe_changes import LIMIT, change_file
from remit.install.install_record import ASKED, Edit, Format, TargetFile, denials, matcher, unserved_servers
from remit.install.install_record_path import managed_record_path, record_path
from remit.install.recorded_environment import record_words

_ALLOWED = ("mcp", "allowed")  # Gemini CLI's list of allowed servers

Declared = Sequence[Declaration]  # servers that the client may use now
_PLUGIN_COPY = re.compile(r"[/\\]plugins[/\\]cache[/\\]([^/\\]+)[/\\]([^/\\]+)[/\\]")  # marketplace, plugin
_OPENCODE_NAMES = ("opencode.jsonc", "opencode.json")  # strongest first


class InstallInput(NamedTuple):
    """What the edits of an install depend on."""

    command: Sequence[str]  # that starts this Remit
    machine: Machine
    declared: Declared = ()
    served: Callable[[], Declared] = tuple  # that Remit serves, so the client need not load them


class InstallRecipe(NamedTuple):
    """How to install Remit in one client."""

    targets: "Callable[[InstallInput], list[TargetFile]]"
    takes_over: bool = False  # the client stops loading what Remit serves
    steps: str = ""  # how its user switches off servers, where Remit cannot


def _words(command: Sequence[str], client: str, record: str) -> list[str]:
    return [*command, "serve", "--client", client, *record_words(record)]


def _entry(command: Sequence[str], client: str, machine: Machine) -> dict[str, Any]:
    program, *args = _words(command, client, record_path(client, machine))
    return {"command": program, "args": args}


def claude_entry(command: Sequence[str], record: str) -> Edit:
    """Return the edit that adds our gateway to a file of Claude Code's servers."""
    program, *args = _words(command, "claude-code", record)
    # Its tools are part of every request instead of behind the client's search.
    return Edit(
        ("mcpServers", SERVER), {"type": "stdio", "command": program, "args": args, "alwaysLoad": True}
    )


def _claude_code(given: InstallInput) -> list[TargetFile]:
    command, machine, declared, _ = given
    record = record_path("claude-code", machine)
    # By command: a name would also admit a repository's server of that name.
    own = {"serverCommand": _words(command, "claude-code", record)}
    allowed = Edit(("allowedMcpServers",), [own, *map(matcher, unserved_servers(declared))])
    # A repository's server of that name would hide ours, even if the list does not admit it.
    disabled = Edit(("disabledMcpjsonServers",), SERVER, is_item=True)
    # Even in the mode that asks about nothing, an agent must not remove Remit's entry and hooks unasked.
    places = (settings_path(machine), state_path(machine))
    asked = [Edit(ASKED, rule, is_item=True) for path in places for rule in edits_of(path)]
    return [  # the server first: never narrow the list to a missing server
        TargetFile(state_path(machine), Format.JSON, [claude_entry(command, record)]),
        TargetFile(
            settings_path(machine),
            Format.JSON,
            [*claude_hooks(command, record), allowed, disabled, *asked],
        ),
    ]


def _claude_desktop(given: InstallInput) -> list[TargetFile]:
    command, machine, *_ = given
    file = os.path.join("Claude", "claude_desktop_config.json")
    usual = os.path.join(platform_paths.app_data(machine), file)
    store = os.path.join(
        platform_paths.local(machine), "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming"
    )
    is_from_store = machine.platform == "win32" and os.path.isdir(store)
    path = os.path.join(store, file) if is_from_store else usual
    return [_among_servers(path, "mcpServers", _entry(command, "claude-desktop", machine))]


def _cursor(given: InstallInput) -> list[TargetFile]:
    command, machine, *_ = given
    path = os.path.join(machine.home, ".cursor", "mcp.json")
    return [_among_servers(path, "mcpServers", _entry(command, "cursor", machine))]


def _vscode(given: InstallInput) -> list[TargetFile]:
    command, machine, *_ = given
    path = os.path.join(platform_paths.code_user(machine), "mcp.json")
    entry = {"type": "stdio", **_entry(command, "vscode", machine)}
    return [_among_servers(path, "servers", entry, Format.JSONC)]


def _codex(given: InstallInput) -> list[TargetFile]:
    command, machine, declared, served = given
    home = machine.variables.get(CODEX_HOME) or os.path.join(machine.home, ".codex")
    path = os.path.join(home, "config.toml")
    program, *args = _words(command, "codex", record_path("codex", machine))
    # Codex sends its first request without servers that take more than a second, except required ones.
    entry: dict[str, Any] = {"command": program, "args": args, "required": True}
    # A server gets only the variables its entry names, so Remit's entry names those of all others.
    if handed := sorted(set[str]().union(*map(_variables, declared))):
        entry["env_vars"] = handed
    gateway = Edit(("mcp_servers", SERVER), entry)
    return [TargetFile(path, Format.TOML, [*_codex_switches(served()), gateway])]


def _variables(declaration: Declaration) -> list[str]:
    launch = declaration.launch
    if launch is None or declaration.is_remit:
        return []
    values = (*launch.env.values(), *launch.headers.values())
    return [name for value in values for name in references(value, launch.syntaxes)]


def _gemini_cli(given: InstallInput) -> list[TargetFile]:
    command, machine, _, served = given
    home = machine.variables.get(GEMINI_HOME) or machine.home
    path = os.path.join(home, ".gemini", "settings.json")
    entry = Edit(("mcpServers", SERVER), _entry(command, "gemini-cli", machine))
    # With an allow list, the client loads nothing else.
    allowed = [Edit(_ALLOWED, SERVER, is_item=True)] if _has_list(path, _ALLOWED) else []
    return [TargetFile(path, Format.JSONC, [entry, *allowed, *_gemini_switches(served())])]


def _opencode(given: InstallInput) -> list[TargetFile]:
    command, machine, _, served = given
    path = _opencode_path(machine)
    words = _words(command, "opencode", record_path("opencode", machine))
    entry = Edit(("mcp", SERVER), {"type": "local", "command": words, "enabled": True})
    return [TargetFile(path, Format.JSONC, [entry, *_opencode_switches(served(), path)])]


def _has_list(path: str, keys: Sequence[str]) -> bool:
    try:
        found: Any = parse_commented_json(read_text(path, limit=LIMIT, within=ANYWHERE) or "{}")
        for key in keys:
            found = found[key]
    except (FileError, KeyError, TypeError):
        return False
    return isinstance(found, list)


def _among_servers(path: str, key: str, entry: dict[str, Any], format: Format = Format.JSON) -> TargetFile:
    return TargetFile(path, format, [Edit((key, SERVER), entry)])


PLACES: Mapping[str, InstallRecipe] = {
    "claude-code": InstallRecipe(_claude_code, takes_over=True),
    "claude-desktop": InstallRecipe(
        _claude_desktop,
        steps="in the tools menu of a chat, turn off every server except `remit`",
    ),
    "cursor": InstallRecipe(
        _cursor, steps="in Cursor Settings, under MCP, turn off every server except `remit`"
    ),
    "vscode": InstallRecipe(
        _vscode,
        steps="in the Extensions view, under MCP Servers, disable every server except `remit`",
    ),
    "codex": InstallRecipe(_codex, takes_over=True),
    "gemini-cli": InstallRecipe(_gemini_cli, takes_over=True),
    "opencode": InstallRecipe(_opencode, takes_over=True),
}


class ClientTargets:
    """The install targets of the clients on one machine."""

    def __init__(self, machine: Machine, command: Callable[[], Sequence[str]]) -> None:
        self._machine = machine
        self._command = command
        self.clients: Sequence[str] = tuple(PLACES)

    def title(self, client: str) -> str:
        """Return the display name of a client."""
        return client_title(client)

    def targets(
        self, client: str, declared: Declared, blocks: Sequence[str], served: Callable[[], Declared] = tuple
    ) -> Sequence[TargetFile]:
        """Return the files to edit, with the edits; only Claude Code has deny rules for static blocks.

        Raises:
            BadVariableError: a variable that locates files is invalid.
        """
        for variable in CLIENTS[client].locating:
            require_text(variable, self._machine.variables)
        found = PLACES[client].targets(InstallInput(self._command(), self._machine, declared, served))
        if client == "claude-code":
            *others, last = found
            return [*others, last._replace(changes=[*last.changes, *denials(blocks)])]
        return found

    def projects(self, client: str) -> Sequence[str]:
        """List the existing directories that Claude Code has answers for."""
        if client != "claude-code":
            return []
        try:
            text = read_text(state_path(self._machine), limit=LIMIT, within=ANYWHERE)
            content: Any = {} if text is None else parse_json(text)
            return [path for path in content["projects"] if os.path.isabs(path) and os.path.isdir(path)]
        except (FileError, KeyError, TypeError, ValueError):
            return []

    def change(self, path: str, change: Callable[[str | None], str | None]) -> None:
        """Replace a file's text with the result of a function."""
        change_file(path, change)


def _codex_switches(served: Sequence[Declaration]) -> Iterator[Edit]:
    """Switch off the user's servers and those of plugins.

    Not a project's: Codex does not start in other projects if an entry has no command there.
    """
    for item in _switchable(served):
        if item.scope is Scope.PLUGIN and (copy := _PLUGIN_COPY.search(item.source)):
            yield _flag(("plugins", f"{copy[2]}@{copy[1]}", "mcp_servers"), item)
        elif item.scope is Scope.GLOBAL:
            yield _flag(("mcp_servers",), item)


def _gemini_switches(served: Sequence[Declaration]) -> Iterator[Edit]:
    """Exclude servers by name; the client compares names without case and outer spaces."""
    for item in _switchable(served):
        if (item.server or "").strip().lower() != SERVER:
            yield Edit(("mcp", "excluded"), item.server, is_item=True, switches=declared_label(item))


def _opencode_switches(served: Sequence[Declaration], path: str) -> Iterator[Edit]:
    """Switch off servers in one file; an entry elsewhere needs only the switch here."""
    newer = _newer_entries(path)
    for item in _switchable(served):
        yield _flag(("mcp", "servers") if item.server in newer else ("mcp",), item)


def _opencode_path(machine: Machine) -> str:
    """Return the strongest of the user's files that exists, else the usual one."""
    folder = os.path.join(platform_paths.xdg_config(machine), "opencode")
    found = [path for name in _OPENCODE_NAMES if os.path.exists(path := os.path.join(folder, name))]
    return found[0] if found else os.path.join(folder, "opencode.json")


def _switchable(served: Sequence[Declaration]) -> list[Declaration]:
    """List the servers once each, without the administrator's and any that has the gateway's name."""
    found = {declared_label(item): item for item in served if item.scope is not Scope.MANAGED}
    return [item for item in found.values() if item.server not in (None, "", SERVER)]


def _flag(parents: tuple[str, ...], item: Declaration) -> Edit:
    return Edit((*parents, item.server or "", "enabled"), value=False, switches=declared_label(item))


def _newer_entries(path: str) -> dict[str, object]:
    """Return the entries of the newer layout, which stand in `mcp.servers`."""
    try:
        content: Any = parse_jsonc(read_text(path, limit=LIMIT, within=ANYWHERE) or "{}")
        servers: object = content["mcp"]["servers"]
    except (FileError, KeyError, TypeError):
        return {}
    is_server = not isinstance(servers, dict) or "type" in servers or isinstance(servers.get("enabled"), bool)  # pyright: ignore[reportUnknownMemberType] - any object
    return {} if is_server else cast("dict[str, object]", servers)


class ManagedTargets:
    """The administrator's install targets on one machine: of Claude Code, which alone has such files.

    Its managed hooks run even if a user or a repository switches hooks off, and with a `managed-mcp.json` it
    loads no other server.
    """

    def __init__(self, machine: Machine, command: Callable[[], Sequence[str]]) -> None:
        self._machine = machine
        self._command = command
        self.clients: Sequence[str] = ("claude-code",)

    def title(self, client: str) -> str:
        """Return the display name of a client."""
        return f"{client_title(client)} for every user of this machine"

    def targets(
        self,
        client: str,
        declared: Declared,  # noqa: ARG002 - as of `ClientTargets`
        blocks: Sequence[str],
        served: Callable[[], Declared] = tuple,  # noqa: ARG002 - as of `ClientTargets`
    ) -> Sequence[TargetFile]:
        """Return the files to edit, with the edits; no user's servers are named in them."""
        folder, command = managed_directory(self._machine), self._command()
        record = managed_record_path(client, self._machine)
        settings = [*claude_hooks(command, record, " --managed"), *denials(blocks)]
        return [
            TargetFile(os.path.join(folder, MANAGED_SETTINGS), Format.JSON, settings),
            TargetFile(os.path.join(folder, MANAGED_SERVERS), Format.JSON, [claude_entry(command, record)]),
        ]

    def projects(self, client: str) -> Sequence[str]:  # noqa: ARG002 - as of `ClientTargets`
        """List no directories: they are a user's."""
        return ()

    def change(self, path: str, change: Callable[[str | None], str | None]) -> None:
        """Replace a file's text with the result of a function; every user can read a new one."""
        change_file(path, change, is_public=True)


# The events a hook receives, and its timeout. Remit decides within two or three seconds; a hook that cannot
# decide, because it crashed or is gone, blocks the call.
HOOKS: Mapping[str, Mapping[str, Any]] = {
    "SessionStart": {"timeout": 30},
    "UserPromptSubmit": {"timeout": 15},
    "UserPromptExpansion": {"timeout": 60, "async": True},
    "PreToolUse": {"timeout": 10, "onFailure": "block"},
    "PostToolUse": {"timeout": 60, "async": True},
    "PostToolUseFailure": {"timeout": 60, "async": True},
    "ConfigChange": {"timeout": 60, "async": True},
    "FileChanged": {"timeout": 30},
    "CwdChanged": {"timeout": 30},
    "SessionEnd": {"timeout": 5},
}


# An argument that hooks ignore: if their Python is gone, the client shows only the command line.
REPAIR = (
    "--if-this-cannot-run=ask the user to run `remit install claude-code{0}` again, or to remove this hook "
    "with `remit uninstall claude-code{0}` or by hand from the client's settings"
)


def claude_hooks(command: Sequence[str], record: str, option: str = "") -> list[Edit]:
    """Return the edits that add our hooks to Claude Code's settings; `option` is that of the install."""
    program, *args = (*command, "hook", *record_words(record))
    repair = REPAIR.format(option)
    return [
        Edit(
            ("hooks", event),
            {"hooks": [_handler(program, [*args, repair] if "onFailure" in details else args, details)]},
            is_item=True,
        )
        for event, details in HOOKS.items()
    ]


def _handler(program: str, args: Sequence[str], details: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "command", "command": program, "args": list(args), **details}
