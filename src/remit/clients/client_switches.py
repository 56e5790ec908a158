"""How clients switch off a server in the user's own file, so Remit can serve it instead."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from remit.clients.parsing import platform_paths
from remit.decision.client_settings import declared_label
from remit.decision.declarations import Declaration
from remit.decision.scopes import Scope
from remit.decision.tool_names import SERVER
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text
from remit.files.formats import parse_jsonc
from remit.files.safe_changes import LIMIT
from remit.install.install_record import Edit

_PLUGIN_COPY = re.compile(r"[/\\]plugins[/\\]cache[/\\]([^/\\]+)[/\\]([^/\\]+)[/\\]")  # marketplace, plugin
_OPENCODE_NAMES = ("opencode.jsonc", "opencode.json")  # strongest first


def codex_switches(served: Sequence[Declaration]) -> Iterator[Edit]:
    """Switch off the user's servers and those of plugins.

    Not a project's: Codex does not start in other projects if an entry has no command there.
    """
    for item in _switchable(served):
        if item.scope is Scope.PLUGIN and (copy := _PLUGIN_COPY.search(item.source)):
            yield _flag(("plugins", f"{copy[2]}@{copy[1]}", "mcp_servers"), item)
        elif item.scope is Scope.GLOBAL:
            yield _flag(("mcp_servers",), item)


def gemini_switches(served: Sequence[Declaration]) -> Iterator[Edit]:
    """Exclude servers by name; the client compares names without case and outer spaces."""
    for item in _switchable(served):
        if (item.server or "").strip().lower() != SERVER:
            yield Edit(("mcp", "excluded"), item.server, is_item=True, switches=declared_label(item))


def opencode_switches(served: Sequence[Declaration], path: str) -> Iterator[Edit]:
    """Switch off servers in one file; an entry elsewhere needs only the switch here."""
    newer = _newer_entries(path)
    for item in _switchable(served):
        yield _flag(("mcp", "servers") if item.server in newer else ("mcp",), item)


def opencode_path(machine: Machine) -> str:
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
