"""The plain facts about every client that Remit knows: its name, and where its files are.

Hooks import this module before anything else, so it imports little.
"""

from collections.abc import Mapping
from typing import NamedTuple


class ClientFacts(NamedTuple):
    """What a client is called, what it leaves on a machine, and what it reads in a project."""

    title: str
    home: tuple[str, ...] = ()  # in the home directory
    app: tuple[str, ...] = ()  # in the platform's directory for desktop programs
    config: tuple[str, ...] = ()  # in the XDG directory of configuration
    data: tuple[str, ...] = ()  # in the XDG directory of data
    programs: tuple[str, ...] = ()
    directory: str = ""  # the variable that names its directory
    variables: tuple[str, ...] = ()  # others that locate its files, or say what counts in them
    project: tuple[str, ...] = ()  # in a project, in lower case; may be a pattern

    @property
    def locating(self) -> tuple[str, ...]:
        """Return all variables that its files depend on."""
        return (self.directory, *self.variables) if self.directory else self.variables


_STORAGE = "Code/User/globalStorage"
_CONFIG = ("XDG_CONFIG_HOME", "APPDATA")  # where the platforms keep configuration

CLIENTS: Mapping[str, ClientFacts] = {
    "claude-code": ClientFacts(
        "Claude Code",
        home=(".claude", ".claude.json"),
        programs=("claude",),
        directory="CLAUDE_CONFIG_DIR",
        variables=("CLAUDE_CODE_PLUGIN_CACHE_DIR",),
        project=(".mcp.json", ".claude*"),
    ),
    "klaude": ClientFacts(
        "klaude", home=(".klaude",), programs=("klaude",), project=(".mcp.json", ".claude*")
    ),
    "cursor": ClientFacts(
        "Cursor",
        home=(".cursor",),
        app=("Cursor",),
        programs=("cursor", "cursor-agent"),
        project=(".cursor",),
    ),
    "vscode": ClientFacts(
        "VS Code",
        home=(".vscode",),
        app=("Code",),
        programs=("code",),
        variables=_CONFIG,
        project=(".vscode",),
    ),
    "claude-desktop": ClientFacts("Claude Desktop", app=("Claude",), variables=(*_CONFIG, "LOCALAPPDATA")),
    "windsurf": ClientFacts(
        "Windsurf",
        home=(".codeium/windsurf",),
        app=("Windsurf",),
        programs=("windsurf",),
        project=(".windsurf",),
    ),
    "codex": ClientFacts(
        "Codex",
        home=(".codex",),
        programs=("codex",),
        directory="CODEX_HOME",
        variables=("PROGRAMDATA",),
        project=(".codex",),
    ),
    "gemini-cli": ClientFacts(
        "Gemini CLI",
        home=(".gemini",),
        programs=("gemini",),
        variables=(
            *("GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
            *("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_RESTRICTED_MODE"),
        ),
        project=(".gemini",),
    ),
    "opencode": ClientFacts(
        "opencode",
        home=(".opencode",),
        config=("opencode",),
        data=("opencode",),
        programs=("opencode",),
        variables=(
            *("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT"),
            *("OPENCODE_DISABLE_PROJECT_CONFIG", "XDG_CONFIG_HOME", "PROGRAMDATA"),
        ),
        project=(".opencode", "opencode.json", "opencode.jsonc"),
    ),
    "zed": ClientFacts(
        "Zed",
        app=("Zed",),
        config=("zed",),
        programs=("zed", "zeditor"),
        variables=_CONFIG,
        project=(".zed",),
    ),
    "goose": ClientFacts(
        "goose",
        app=("Block/goose",),
        config=("goose",),
        data=("goose",),
        programs=("goose",),
        variables=("GOOSE_PATH_ROOT", *_CONFIG),
        project=(".goose",),
    ),
    "continue": ClientFacts(
        "Continue",
        home=(".continue",),
        programs=("cn",),
        directory="CONTINUE_GLOBAL_DIR",
        project=(".continue",),
    ),
    "cline": ClientFacts(
        "Cline",
        home=(".cline",),
        app=(f"{_STORAGE}/saoudrizwan.claude-dev",),
        programs=("cline",),
        variables=("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_MCP_SETTINGS_PATH", *_CONFIG),
        project=(".cline",),
    ),
    "roo": ClientFacts(
        "Roo Code",
        home=(".roo",),
        app=(f"{_STORAGE}/rooveterinaryinc.roo-cline",),
        variables=_CONFIG,
        project=(".roo",),
    ),
    "kiro": ClientFacts(
        "Kiro", home=(".kiro",), app=("Kiro",), programs=("kiro", "kiro-cli"), project=(".kiro",)
    ),
    "copilot-cli": ClientFacts(
        "Copilot CLI",
        home=(".copilot",),
        programs=("copilot",),
        directory="COPILOT_HOME",
        project=(".mcp.json", ".github", ".copilot"),
    ),
}

ALIASES = {"gemini": "gemini-cli", "claude": "claude-code"}


def client_called(name: str) -> str:
    """Return the client that people call by a name."""
    return ALIASES.get(name, name)


def client_title(client: str) -> str:
    """Return the display name of a client."""
    return CLIENTS[client].title if client in CLIENTS else client
