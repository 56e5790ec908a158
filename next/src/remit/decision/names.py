"""Tool names: canonical forms, and the kind, server and scope that a name implies.

Names cannot be parsed reliably: servers `a.b` and `a_b` both become `mcp__a_b__...`, and
`mcp__plugin_x_y_z__t` does not show where the plugin's name ends. So prefer a known server over parsing.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from remit.decision.scopes import Kind, Scope

MCP = "mcp__"
SEPARATOR = "__"  # between a server and its tool
SERVER = "remit"  # the gateway's name among a client's servers
OWN = "mcp__remit__"  # prefix that clients use for the gateway's tools
CALL_TOOL = "call_tool"  # calls any tool of the gateway by its name
READ_RESULT = "read_result"  # reads on in a large result
GATEWAY_TOOLS = ("discover_tools", CALL_TOOL, "why_tool", READ_RESULT)  # its own
REMIT = "Remit"  # source of the tools that ship with Remit
MEMORY_SERVER = "remit-memory"  # many users have a server called `memory`
KEPT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class Classified(NamedTuple):
    """What a name implies about its tool."""

    kind: Kind
    scope: Scope
    server: str | None


def normalise(text: str) -> str:
    """Replace characters that clients do not allow in tool names.

    Like Claude Code, it replaces UTF-16 units: a character beyond the basic plane becomes two underscores.
    """
    return "".join(char if char in KEPT else "__" if ord(char) > 0xFFFF else "_" for char in text)


def full_label(server: str, plugin: str | None = None) -> str:
    """Return a server's name with its plugin, as written in clients' settings."""
    return server if plugin is None else f"plugin:{plugin}:{server}"


def server_name(server: str, plugin: str | None = None) -> str:
    """Return the name of a server's row, a pattern that covers its tools."""
    return tool_name(server, "", plugin) + "*"


@cache
def tool_prefix(server: str, plugin: str | None = None) -> str:
    """Return what the canonical names of a server's tools start with."""
    return tool_name(server, "", plugin)


def tool_name(server: str, tool: str, plugin: str | None = None) -> str:
    """Return the canonical name of a server's tool."""
    owner = f"plugin_{normalise(plugin)}_" if plugin is not None else ""
    return f"{MCP}{owner}{normalise(server)}__{normalise(tool)}"


def canonical(name: str) -> str:
    """Return a reported name as stored; a server becomes the pattern of its tools."""
    is_server = name.startswith(MCP) and "__" not in name.removeprefix(MCP).removesuffix("__")
    return f"{name.removesuffix('__')}__*" if is_server else name


def served_name(name: str) -> str | None:
    """Return the gateway's name of a tool from the client's name; None for other servers' tools."""
    return name.removeprefix(OWN) if name.startswith(OWN) else None


def served_spellings(name: str) -> tuple[str, ...]:
    """List the served names that a name in a call of the gateway may refer to."""
    own = served_name(name)
    return (name,) if own is None else (name, own)


def meant_names(name: str) -> tuple[str, ...]:
    """List the canonical names that a name in a call of the gateway may mean, likeliest first."""
    written = [
        form
        for served in served_spellings(name)
        for form in (served, MCP + served)
        if form.startswith(MCP)  # as all tools behind the gateway
    ]
    return tuple(dict.fromkeys((*written, *map(normalise, written))))


def classify(name: str) -> Classified:
    """Classify a canonical name by its prefix, assuming the narrowest scope."""
    if name.startswith(MCP):
        is_server = name.endswith("__*")
        server = name[len(MCP) : -3] if is_server else name.removeprefix(MCP).partition("__")[0]
        scope = Scope.PLUGIN if server.startswith("plugin_") else Scope.PROJECT
        return Classified(Kind.MCP_SERVER if is_server else Kind.MCP_TOOL, scope, server)
    if name.startswith("/"):
        return Classified(Kind.SLASH_COMMAND, Scope.PROJECT, None)
    return Classified(Kind.BUILTIN, Scope.GLOBAL, None)


def is_covered(name: str, server_row: str) -> bool:
    """Return whether a server's row such as `mcp__git__*` covers a tool's name."""
    return server_row.endswith("__*") and name.startswith(server_row[:-1])


def server_rows(name: str) -> Iterator[str]:
    """List the server rows that could cover a tool's name, longest first."""
    end = name.rfind("__")
    while end >= len(MCP):
        yield f"{name[:end]}__*"
        end = name.rfind("__", 0, end)


def spellings(name: str) -> tuple[str, ...]:
    """List the canonical names that a name may refer to, likeliest first."""
    return tuple(
        dict.fromkeys(
            (
                name,
                MCP + (name if (called := served_name(name)) is None else called),
                canonical(name) if name.startswith(MCP) else server_name(name),
            )
        )
    )


CLIENT_TITLES = {
    "claude-code": "Claude Code",
    "klaude": "klaude",
    "cursor": "Cursor",
    "vscode": "VS Code",
    "claude-desktop": "Claude Desktop",
    "windsurf": "Windsurf",
    "codex": "Codex",
    "gemini-cli": "Gemini CLI",
    "opencode": "opencode",
    "zed": "Zed",
    "goose": "goose",
    "continue": "Continue",
    "cline": "Cline",
    "roo": "Roo Code",
    "kiro": "Kiro",
    "copilot-cli": "Copilot CLI",
}
