"""Where Remit goes in each client that it can be put into: the files, and what is to stand in them."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from remit.clients.claude_code import CONFIG_DIR, settings_path, state_path
from remit.clients.codex import HOME as CODEX_HOME
from remit.clients.gemini_cli import HOME as GEMINI_HOME
from remit.clients.parsing import platform_paths
from remit.decision.declarations import Declaration
from remit.decision.launch import references
from remit.files.bounded_reader import FileError, Machine, read_text, require_text
from remit.files.formats import parse_commented_json, parse_json
from remit.files.safe_changes import LIMIT, change_file, missing_directories, read_exactly, remove_empty
from remit.install.record import SERVER, Change, Format, Target, kept

# What a hook is told of, and how long it may take; what is not answered holds nobody up.
HOOKS: Mapping[str, Mapping[str, Any]] = {
    "SessionStart": {"timeout": 30},
    "UserPromptSubmit": {"timeout": 15},
    "UserPromptExpansion": {"timeout": 60, "async": True},
    "PreToolUse": {"timeout": 15},
    "PostToolUse": {"timeout": 60, "async": True},
    "PostToolUseFailure": {"timeout": 60, "async": True},
    "ConfigChange": {"timeout": 60, "async": True},
    "FileChanged": {"timeout": 30},
    "CwdChanged": {"timeout": 30},
    "SessionEnd": {"timeout": 5},
}

_ALLOWED = ("mcp", "allowed")  # where Gemini CLI lists the servers that it may load
_REMITS = ("REMIT_HOME", "REMIT_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME")  # where Remit's own files lie

Declared = Sequence[Declaration]  # what the client may use now


class Place(NamedTuple):
    """How a client takes Remit."""

    title: str
    variables: tuple[str, ...]
    targets: "Callable[[Sequence[str], Declared, Machine], list[Target]]"


def _words(command: Sequence[str], client: str) -> list[str]:
    return [*command, "serve", "--client", client]


def _entry(command: Sequence[str], client: str, machine: Machine) -> dict[str, Any]:
    program, *args = _words(command, client)
    # A client may be started without the variables that say where Remit's own files lie.
    given = {name: machine.variables.get(name, "") for name in ("REMIT_HOME", "REMIT_CONFIG")}
    env = {name: os.path.abspath(value) for name, value in given.items() if value}
    return {"command": program, "args": args, **({"env": env} if env else {})}


def _claude_code(command: Sequence[str], declared: Declared, machine: Machine) -> list[Target]:
    # Its tools are in every request, and not behind the client's search.
    entry = {"type": "stdio", **_entry(command, "claude-code", machine), "alwaysLoad": True}
    program, *args = (*command, "hook")
    hooks = [
        Change(("hooks", event), {"hooks": [_handler(program, args, details)]}, is_item=True)
        for event, details in HOOKS.items()
    ]
    # Names alone: where any list has a command, the client goes by commands.
    allowed = Change(("allowedMcpServers",), [{"serverName": label} for label in (SERVER, *kept(declared))])
    return [  # the server first: nothing is narrowed to what is not there
        Target(state_path(machine), Format.JSON, [Change(("mcpServers", SERVER), entry)]),
        Target(settings_path(machine), Format.JSON, [*hooks, allowed]),
    ]


def _handler(program: str, args: Sequence[str], details: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "command", "command": program, "args": list(args), **details}


def _claude_desktop(command: Sequence[str], _declared: Declared, machine: Machine) -> list[Target]:
    file = os.path.join("Claude", "claude_desktop_config.json")
    usual = os.path.join(platform_paths.app_data(machine), file)
    store = os.path.join(
        platform_paths.local(machine), "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming"
    )
    is_from_store = machine.platform == "win32" and os.path.isdir(store)
    path = os.path.join(store, file) if is_from_store else usual
    return [_among_servers(path, "mcpServers", _entry(command, "claude-desktop", machine))]


def _cursor(command: Sequence[str], _declared: Declared, machine: Machine) -> list[Target]:
    path = os.path.join(machine.home, ".cursor", "mcp.json")
    return [_among_servers(path, "mcpServers", _entry(command, "cursor", machine))]


def _vscode(command: Sequence[str], _declared: Declared, machine: Machine) -> list[Target]:
    path = os.path.join(platform_paths.code_user(machine), "mcp.json")
    entry = {"type": "stdio", **_entry(command, "vscode", machine)}
    return [_among_servers(path, "servers", entry, Format.JSONC)]


def _codex(command: Sequence[str], declared: Declared, machine: Machine) -> list[Target]:
    home = machine.variables.get(CODEX_HOME) or os.path.join(machine.home, ".codex")
    path = os.path.join(home, "config.toml")
    program, *args = _words(command, "codex")
    entry: dict[str, Any] = {"command": program, "args": args}
    # A server gets only the variables that its entry names: Remit hands on those of the others.
    named = {name for name in (CODEX_HOME, *_REMITS) if machine.variables.get(name)}
    if handed := sorted(named.union(*map(_variables, declared))):
        entry["env_vars"] = handed
    return [_among_servers(path, "mcp_servers", entry, Format.TOML)]


def _variables(declaration: Declaration) -> list[str]:
    launch = declaration.launch
    if launch is None or declaration.is_remit:
        return []
    values = (*launch.env.values(), *launch.headers.values())
    return [name for value in values for name in references(value, launch.syntaxes)]


def _gemini_cli(command: Sequence[str], _declared: Declared, machine: Machine) -> list[Target]:
    home = machine.variables.get(GEMINI_HOME) or machine.home
    path = os.path.join(home, ".gemini", "settings.json")
    entry = Change(("mcpServers", SERVER), _entry(command, "gemini-cli", machine))
    # Where there is a list of the allowed, the client loads nothing else.
    allowed = [Change(_ALLOWED, SERVER, is_item=True)] if _has_list(path, _ALLOWED) else []
    return [Target(path, Format.JSONC, [entry, *allowed])]


def _has_list(path: str, keys: Sequence[str]) -> bool:
    try:
        found: Any = parse_commented_json(read_text(path, limit=LIMIT) or "{}")
        for key in keys:
            found = found[key]
    except (FileError, KeyError, TypeError):
        return False
    return isinstance(found, list)


def _among_servers(path: str, key: str, entry: dict[str, Any], format: Format = Format.JSON) -> Target:
    return Target(path, format, [Change((key, SERVER), entry)])


PLACES: Mapping[str, Place] = {
    "claude-code": Place("Claude Code", (CONFIG_DIR,), _claude_code),
    "claude-desktop": Place(
        "Claude Desktop", (*platform_paths.CONFIG_VARIABLES, platform_paths.LOCALAPPDATA), _claude_desktop
    ),
    "cursor": Place("Cursor", (), _cursor),
    "vscode": Place("VS Code", platform_paths.CONFIG_VARIABLES, _vscode),
    "codex": Place("Codex", (CODEX_HOME,), _codex),
    "gemini-cli": Place("Gemini CLI", (GEMINI_HOME,), _gemini_cli),
}


class ClientPlaces:
    """The clients of one machine, and their files."""

    def __init__(self, machine: Machine, command: Sequence[str]) -> None:
        self._machine = machine
        self._command = command
        self.clients: Sequence[str] = tuple(PLACES)

    def title(self, client: str) -> str:
        """What people call a client."""
        return PLACES[client].title

    def targets(self, client: str, declared: Declared) -> Sequence[Target]:
        """Name the files, and what is to stand in them.

        Raises:
            BadVariableError: a variable that says where files lie cannot be used.
        """
        for variable in PLACES[client].variables:
            require_text(variable, self._machine.variables)
        return PLACES[client].targets(self._command, declared, self._machine)

    def projects(self, client: str) -> Sequence[str]:
        """List the directories that Claude Code keeps answers for, and that still exist."""
        if client != "claude-code":
            return []
        try:
            text = read_text(state_path(self._machine), limit=LIMIT)
            content: Any = {} if text is None else parse_json(text)
            return [path for path in content["projects"] if os.path.isabs(path) and os.path.isdir(path)]
        except (FileError, KeyError, TypeError, ValueError):
            return []

    def read(self, path: str) -> str | None:
        """Read a file; None: there is none."""
        return read_exactly(path)

    def change(self, path: str, change: Callable[[str | None], str | None]) -> None:
        """Put in a file's place what a function makes of its text."""
        change_file(path, change)

    def missing_directories(self, path: str) -> Sequence[str]:
        """List the directories that would be made for a file, the innermost first."""
        return missing_directories(path)

    def remove_empty(self, directories: Sequence[str]) -> None:
        """Remove directories in which nothing is left."""
        remove_empty(directories)
