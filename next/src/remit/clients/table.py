"""Every client as a row: its files, how it writes servers, what it leaves on a machine, and how it asks."""

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from remit.decision import Scope, Transport, VariableSyntax
from remit.files import Machine


class Asks(StrEnum):
    """When a client asks its user to approve a project's servers."""

    NEVER = "never"
    AT_A_TERMINAL = "at_a_terminal"
    ALWAYS = "always"  # without a terminal, unapproved servers are ignored


class File(NamedTuple):
    """A file with a map of servers; of two at one scope, the later one wins.

    In a path, `~` is the home, `{app}` `{config}` `{roaming}` `{local}` `{code}` are directories of the
    platform, `{root}` is the root of the checkout, `{dir}` each directory from the launch directory to it,
    and `*` each name in a directory. Of `$X/a | ~/b`, the first counts whose variable is set.
    """

    path: str
    keys: tuple[str, ...] = ("mcpServers",)  # that lead to the map
    scope: Scope = Scope.GLOBAL
    format: str = "json"
    is_settings: bool = False  # valid without the map
    platforms: tuple[str, ...] = ()  # empty: every one


class Entry(NamedTuple):
    """How a client writes a server."""

    types: Mapping[str, Transport] = {
        "stdio": Transport.STDIO,
        "http": Transport.HTTP,
        "streamable-http": Transport.HTTP,
        "streamableHttp": Transport.HTTP,
        "sse": Transport.SSE,
    }  # the values of `type`; empty: the field is ignored
    untyped: Transport | None = Transport.HTTP  # of a URL without a type; None: invalid
    switch: str | None = None  # `disabled` or `enabled`, if entries have such a field
    command: str = "command"
    env: str = "env"
    urls: tuple[str, ...] = ("url",)  # the first present one counts
    has_numbers: bool = False  # variables may be numbers or null
    nested: tuple[str, str] | None = None  # an object with the launch, and what it calls the command
    others: str = ""  # which entries are no servers: `untyped` or `unlaunched`
    is_exclusive: bool = False  # a command and a URL exclude each other


class Client(NamedTuple):
    """What Remit knows of a client."""

    home: tuple[str, ...] = ()  # what it leaves in the home directory
    app: tuple[str, ...] = ()  # in the platform's directory for desktop programs
    config: tuple[str, ...] = ()  # in the XDG directory of configuration
    data: tuple[str, ...] = ()  # in the XDG directory of data
    programs: tuple[str, ...] = ()
    directory: str = ""  # the variable that names its directory
    variables: tuple[str, ...] = ()  # others that locate its files, or say what counts in them
    markers: tuple[str, ...] = ()  # variables that it sets for the commands of its agents
    project: tuple[str, ...] = ()  # in a project, in lower case; may be a pattern
    module: str = ""  # reads what the row cannot say
    files: tuple[File, ...] = ()
    entry: Entry = Entry()
    syntaxes: tuple[VariableSyntax, ...] = ()  # how its entries write variables
    asks: Asks = Asks.NEVER
    off_shadows: bool = True  # a disabled entry shadows weaker ones with its name

    @property
    def locating(self) -> tuple[str, ...]:
        """All variables that its files depend on."""
        return (self.directory, *self.variables) if self.directory else self.variables


_STORAGE = "Code/User/globalStorage"
_CONFIG = ("XDG_CONFIG_HOME", "APPDATA")  # where the platforms keep configuration
_ROO = "rooveterinaryinc.roo-cline"
_CLINE = "settings/cline_mcp_settings.json"
_DESKTOP = "Claude/claude_desktop_config.json"
_STDIO = {"stdio": Transport.STDIO}
_PLAIN = {**_STDIO, "http": Transport.HTTP, "sse": Transport.SSE}
_SERVERS = ("servers",)
_ZED = ("context_servers",)

CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        home=(".claude", ".claude.json"),
        programs=("claude",),
        directory="CLAUDE_CONFIG_DIR",
        variables=("CLAUDE_CODE_PLUGIN_CACHE_DIR", "CLAUDE_CODE_PLUGIN_DIRS", "ENABLE_TOOL_SEARCH"),
        markers=("CLAUDECODE",),
        project=(".mcp.json", ".claude*"),
        module="claude_code",
        syntaxes=(VariableSyntax.DEFAULTS,),
        asks=Asks.AT_A_TERMINAL,
    ),
    "klaude": Client(
        home=(".klaude",),
        programs=("klaude",),
        project=(".mcp.json", ".claude*"),
        module="other_clients",
        files=(
            File("~/.claude/settings.json", is_settings=True),
            File("~/.klaude/.mcp.json"),
            File("{root}/.mcp.json", scope=Scope.PROJECT),
            File("{root}/.claude/settings.json", scope=Scope.LOCAL, is_settings=True),
        ),
        entry=Entry(types=_PLAIN, untyped=None),
    ),
    "cursor": Client(
        home=(".cursor",),
        app=("Cursor",),
        programs=("cursor", "cursor-agent"),
        markers=("CURSOR_AGENT",),
        project=(".cursor",),
        files=(File("~/.cursor/mcp.json"), File("{dir}/.cursor/mcp.json", scope=Scope.PROJECT)),
        syntaxes=(VariableSyntax.DOLLAR_ENV, VariableSyntax.WORKSPACE),
    ),
    "vscode": Client(
        home=(".vscode",),
        app=("Code",),
        programs=("code",),
        variables=_CONFIG,
        project=(".vscode",),
        files=(
            File("{code}/settings.json", ("mcp", "servers"), format="jsonc", is_settings=True),
            File("{code}/profiles/*/mcp.json", _SERVERS, format="jsonc", is_settings=True),
            File("{code}/mcp.json", _SERVERS, format="jsonc", is_settings=True),
            File("{dir}/.vscode/mcp.json", _SERVERS, Scope.PROJECT, "jsonc", is_settings=True),
        ),
        entry=Entry(types=_PLAIN, has_numbers=True),
        syntaxes=(VariableSyntax.DOLLAR_ENV, VariableSyntax.INPUT, VariableSyntax.WORKSPACE),
    ),
    "claude-desktop": Client(
        app=("Claude",),
        variables=(*_CONFIG, "LOCALAPPDATA"),
        files=(
            File(f"{{app}}/{_DESKTOP}", is_settings=True),
            File(
                f"{{local}}/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/{_DESKTOP}",
                is_settings=True,
                platforms=("win32",),
            ),
        ),
        entry=Entry(types=_STDIO, urls=()),
    ),
    "windsurf": Client(
        home=(".codeium/windsurf",),
        app=("Windsurf",),
        programs=("windsurf",),
        project=(".windsurf",),
        files=(File("~/.codeium/windsurf/mcp_config.json"),),
        entry=Entry(urls=("serverUrl", "url"), switch="disabled"),
        syntaxes=(VariableSyntax.DOLLAR_ENV,),
    ),
    "codex": Client(
        home=(".codex",),
        programs=("codex",),
        directory="CODEX_HOME",
        variables=("PROGRAMDATA",),
        markers=("CODEX_SANDBOX", "CODEX_THREAD_ID"),
        project=(".codex",),
        module="codex",
        syntaxes=(VariableSyntax.NAMED,),
    ),
    "gemini-cli": Client(
        home=(".gemini",),
        programs=("gemini",),
        variables=(
            *("GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
            *("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_RESTRICTED_MODE"),
        ),
        markers=("GEMINI_CLI",),
        project=(".gemini",),
        module="gemini_cli",
        syntaxes=(VariableSyntax.DEFAULTS, VariableSyntax.BARE),
    ),
    "opencode": Client(
        home=(".opencode",),
        config=("opencode",),
        data=("opencode",),
        programs=("opencode",),
        variables=(
            *("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT"),
            *("OPENCODE_DISABLE_PROJECT_CONFIG", "XDG_CONFIG_HOME", "PROGRAMDATA"),
        ),
        markers=("OPENCODE",),
        project=(".opencode", "opencode.json", "opencode.jsonc"),
        module="opencode",
        syntaxes=(VariableSyntax.BRACE_ENV, VariableSyntax.BRACE_FILE),
    ),
    "zed": Client(
        app=("Zed",),
        config=("zed",),
        programs=("zed", "zeditor"),
        variables=_CONFIG,
        project=(".zed",),
        files=(
            File("{config}/zed/settings.json", _ZED, format="jsonc", is_settings=True, platforms=("linux",)),
            # On macOS it ignores `XDG_CONFIG_HOME`.
            File("~/.config/zed/settings.json", _ZED, Scope.GLOBAL, "jsonc", True, ("darwin",)),
            File("{roaming}/Zed/settings.json", _ZED, Scope.GLOBAL, "jsonc", True, ("win32",)),
            File("{dir}/.zed/settings.json", _ZED, Scope.PROJECT, "jsonc", is_settings=True),
        ),
        entry=Entry(types={}, switch="enabled", nested=("command", "path"), others="unlaunched"),
    ),
    "goose": Client(
        app=("Block/goose",),
        config=("goose",),
        data=("goose",),
        programs=("goose",),
        variables=("GOOSE_PATH_ROOT", *_CONFIG),
        markers=("GOOSE_TERMINAL",),
        project=(".goose",),
        files=tuple(
            File(
                f"$GOOSE_PATH_ROOT/config/config.yaml | {usual}/config.yaml",
                ("extensions",),
                format="yaml",
                is_settings=True,
                platforms=platforms,
            )
            for usual, platforms in (
                ("{roaming}/Block/goose/config", ("win32",)),
                ("{config}/goose", ("linux", "darwin")),
            )
        ),
        entry=Entry(
            types={**_STDIO, "sse": Transport.SSE, "streamable_http": Transport.HTTP},
            command="cmd",
            env="envs",
            urls=("uri",),
            switch="enabled",
            others="untyped",
        ),
    ),
    "continue": Client(
        home=(".continue",),
        programs=("cn",),
        directory="CONTINUE_GLOBAL_DIR",
        project=(".continue",),
        module="other_clients",
        syntaxes=(VariableSyntax.SECRETS,),
    ),
    "cline": Client(
        home=(".cline",),
        app=(f"{_STORAGE}/saoudrizwan.claude-dev",),
        programs=("cline",),
        variables=("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_MCP_SETTINGS_PATH", *_CONFIG),
        markers=("CLINE_ACTIVE",),
        project=(".cline",),
        files=(
            File(f"{{code}}/globalStorage/saoudrizwan.claude-dev/{_CLINE}"),
            File(
                f"$CLINE_MCP_SETTINGS_PATH | $CLINE_DATA_DIR/{_CLINE} | $CLINE_DIR/data/{_CLINE}"
                f" | ~/.cline/data/{_CLINE}"
            ),
        ),
        entry=Entry(
            types={**_STDIO, "sse": Transport.SSE, "streamableHttp": Transport.HTTP},
            untyped=Transport.SSE,
            switch="disabled",
            nested=("transport", "command"),
        ),
    ),
    "roo": Client(
        home=(".roo",),
        app=(f"{_STORAGE}/{_ROO}",),
        variables=_CONFIG,
        project=(".roo",),
        files=(
            File(f"{{code}}/globalStorage/{_ROO}/settings/mcp_settings.json"),
            File("{dir}/.roo/mcp.json", scope=Scope.PROJECT),
        ),
        entry=Entry(
            types={**_STDIO, "sse": Transport.SSE, "streamable-http": Transport.HTTP},
            untyped=None,
            switch="disabled",
            is_exclusive=True,
        ),
        syntaxes=(VariableSyntax.DOLLAR_ENV, VariableSyntax.WORKSPACE),
        off_shadows=False,
    ),
    "kiro": Client(
        home=(".kiro",),
        app=("Kiro",),
        programs=("kiro", "kiro-cli"),
        project=(".kiro",),
        files=(File("~/.kiro/settings/mcp.json"), File("{dir}/.kiro/settings/mcp.json", scope=Scope.PROJECT)),
        entry=Entry(switch="disabled"),
        syntaxes=(VariableSyntax.BRACES,),
    ),
    "copilot-cli": Client(
        home=(".copilot",),
        programs=("copilot",),
        directory="COPILOT_HOME",
        markers=("COPILOT_CLI",),
        project=(".mcp.json", ".github", ".copilot"),
        module="other_clients",
        files=(
            File("$COPILOT_HOME/mcp-config.json | ~/.copilot/mcp-config.json"),
            File("{dir}/.github/mcp.json", scope=Scope.PROJECT),
            File("{dir}/.mcp.json", scope=Scope.PROJECT),  # wins over the other file of its directory
        ),
        entry=Entry(
            types={
                "local": Transport.STDIO,
                "stdio": Transport.STDIO,
                "http": Transport.HTTP,
                "streamable-http": Transport.HTTP,
                "sse": Transport.SSE,
            }
        ),
        syntaxes=(VariableSyntax.DEFAULTS, VariableSyntax.BARE),
        asks=Asks.ALWAYS,
    ),
}

_ALIASES = {"gemini": "gemini-cli", "claude": "claude-code"}
_OTHER_MARKERS = (  # of clients that Remit does not know; the last is set by several
    *("ANTIGRAVITY_AGENT", "AUGMENT_AGENT", "CRUSH", "PI_CODING_AGENT", "QWEN_CODE", "TRAE_AI_SHELL_ID"),
    "AI_AGENT",
)


def client_called(name: str) -> str:
    """Return the client that people call by a name."""
    return _ALIASES.get(name, name)


def marker(variables: Mapping[str, str]) -> str | None:
    """Return the variable by which a client marks what its agents run; None without one."""
    known = (name for client in CLIENTS.values() for name in client.markers)
    return next((name for name in (*known, *_OTHER_MARKERS) if variables.get(name)), None)


def is_on_machine(name: str, machine: Machine) -> bool:
    """Return whether a client's program is on the `PATH` or its own files exist; an unknown client counts.

    A file in a project does not count: anyone may have written it, and several clients read the same one.
    """
    client = CLIENTS.get(name)
    if client is None or any(map(os.path.exists, trace_paths(name, machine))):
        return True
    import shutil  # every command loads the table, and few look for programs

    path = os.pathsep.join(filter(os.path.isabs, machine.variables.get("PATH", "").split(os.pathsep)))
    return any(shutil.which(program, path=path) for program in client.programs)


def trace_paths(name: str, machine: Machine) -> Iterator[str]:
    """Yield the paths that a client keeps on a machine, whether they exist or not."""
    client = CLIENTS[name]
    if client.directory and (given := machine.variables.get(client.directory)):
        yield given
    bases = (("~", client.home), ("{app}", client.app), ("{xdg}", client.config))
    for base, names in bases:
        yield from (place(f"{base}/{name}", machine) for name in names)


def place(path: str, machine: Machine) -> str:
    """Fill in the directories of the platform; of `$X/a | ~/b`, take the first whose variable is set."""
    for choice in path.split(" | "):
        head, _, rest = choice.partition("/")
        base = machine.variables.get(head[1:], "") if head.startswith("$") else _base(head, machine)
        if base:
            return os.path.join(base, *rest.split("/")) if rest else base
    return ""


def _base(head: str, machine: Machine) -> str:
    match head:
        case "~":
            return machine.home
        case "{app}" if machine.platform == "darwin":
            return os.path.join(machine.home, "Library", "Application Support")
        case "{app}" | "{config}":
            return _base("{roaming}" if machine.platform == "win32" else "{xdg}", machine)
        case "{code}":
            return os.path.join(_base("{app}", machine), "Code", "User")
        case "{xdg}":
            return machine.variables.get("XDG_CONFIG_HOME") or os.path.join(machine.home, ".config")
        case "{roaming}":
            return machine.variables.get("APPDATA") or os.path.join(machine.home, "AppData", "Roaming")
        case "{local}":
            return machine.variables.get("LOCALAPPDATA") or os.path.join(machine.home, "AppData", "Local")
        case "{program_data}":
            return machine.root + (machine.variables.get("PROGRAMDATA") or "C:\\ProgramData")
        case _:
            return head or os.sep
