"""What a tool's name tells: its kind, its server, and the scope to assume until a config says otherwise.

A name cannot be inverted in general: servers `a.b` and `a_b` are both called `mcp__a_b__...`, and in
`mcp__plugin_x_y_z__t` nothing says where the plugin ends. So a known server is always preferred to parsing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from remit.decision.kinds import Kind
from remit.decision.scopes import Scope

MCP = "mcp__"
OWN = "mcp__remit__"  # how a client calls what the gateway serves
_OWN = (OWN, "mcp__plugin_remit_remit__")  # the latter where it has Remit as a plugin
REMIT = "Remit"  # the source of what no file declares, and Remit brings along:
MEMORY_SERVER = "remit-memory"  # and not `memory`, as many have a server of that name
_KEPT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class Classified(NamedTuple):
    """What a bare name says of its tool."""

    kind: Kind
    scope: Scope
    server: str | None


def normalise(text: str) -> str:
    """Replace what a client does not allow in a tool name.

    Claude Code does this on UTF-16 units, so a character beyond the basic plane becomes two underscores.
    """
    return "".join(char if char in _KEPT else "__" if ord(char) > 0xFFFF else "_" for char in text)


def full_label(server: str, plugin: str | None = None) -> str:
    """Name a server as clients' settings do: a plugin's by its plugin, too."""
    return server if plugin is None else f"plugin:{plugin}:{server}"


def server_name(server: str, plugin: str | None = None) -> str:
    """Name a server's own row: the pattern that covers all its tools."""
    return tool_name(server, "", plugin) + "*"


def tool_name(server: str, tool: str, plugin: str | None = None) -> str:
    """Name a server's tool in the canonical way."""
    owner = f"plugin_{normalise(plugin)}_" if plugin is not None else ""
    return f"{MCP}{owner}{normalise(server)}__{normalise(tool)}"


def canonical(name: str) -> str:
    """Write a reported name as rows have it: storable, and a server as the pattern of its tools."""
    clean = storable(name)
    is_server = clean.startswith(MCP) and "__" not in clean.removeprefix(MCP).removesuffix("__")
    return f"{clean.removesuffix('__')}__*" if is_server else clean


def storable(text: str) -> str:
    """Replace what JSON can write but no database can hold: halves of surrogate pairs."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def served_name(name: str) -> str | None:
    """Tell what the gateway serves under the name that a client calls; None where that is no such name."""
    return next((name.removeprefix(own) for own in _OWN if name.startswith(own)), None)


def classify(name: str) -> Classified:
    """Read a canonical name by its prefix alone; scopes are the narrowest that could be meant."""
    if name.startswith(MCP):
        is_server = name.endswith("__*")
        server = name[len(MCP) : -3] if is_server else name.removeprefix(MCP).partition("__")[0]
        scope = Scope.PLUGIN if server.startswith("plugin_") else Scope.PROJECT
        return Classified(Kind.MCP_SERVER if is_server else Kind.MCP_TOOL, scope, server)
    if name.startswith("/"):
        return Classified(Kind.SLASH_COMMAND, Scope.PROJECT, None)
    return Classified(Kind.BUILTIN, Scope.GLOBAL, None)


def is_covered(name: str, server_row: str) -> bool:
    """Tell whether a tool's name falls under a server's row (`mcp__git__*`)."""
    return server_row.endswith("__*") and name.startswith(server_row[:-1])


def server_rows(name: str) -> Iterator[str]:
    """List the names of the servers' rows that a tool's name may fall under, the longest first."""
    end = name.rfind("__")
    while end >= len(MCP):
        yield f"{name[:end]}__*"
        end = name.rfind("__", 0, end)


def spellings(name: str) -> tuple[str, ...]:
    """List the canonical names that a person, a client or the gateway may mean by a name, likeliest first."""
    return tuple(
        dict.fromkeys(
            (
                name,
                MCP + (name if (called := served_name(name)) is None else called),
                canonical(name) if name.startswith(MCP) else server_name(name),
            )
        )
    )
