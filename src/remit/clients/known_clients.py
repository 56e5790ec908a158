"""The clients whose files Remit reads, one module each, and what shows that one is on this machine.

A file in a project does not count: anyone may have written it, and several clients read the same one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from remit.files.bounded_reader import Machine

if TYPE_CHECKING:
    from remit.clients.parsing.client_reader import Client


class KnownClient(NamedTuple):
    """The module that reads a client's files, and what the client leaves on a machine."""

    module: str
    home: tuple[str, ...] = ()  # in the home directory
    app: tuple[str, ...] = ()  # in the platform's directory for desktop programs
    config: tuple[str, ...] = ()  # in the XDG directory
    variable: str = ""  # names its directory
    programs: tuple[str, ...] = ()


_STORAGE = "Code/User/globalStorage"
CLIENTS = {
    "claude-code": KnownClient(
        "claude_code", (".claude", ".claude.json"), variable="CLAUDE_CONFIG_DIR", programs=("claude",)
    ),
    "klaude": KnownClient("klaude", (".klaude",), programs=("klaude",)),
    "cursor": KnownClient("cursor", (".cursor",), app=("Cursor",), programs=("cursor", "cursor-agent")),
    "vscode": KnownClient("vscode", (".vscode",), app=("Code",), programs=("code",)),
    "claude-desktop": KnownClient("claude_desktop", app=("Claude",)),
    "windsurf": KnownClient("windsurf", (".codeium/windsurf",), app=("Windsurf",), programs=("windsurf",)),
    "codex": KnownClient("codex", (".codex",), variable="CODEX_HOME", programs=("codex",)),
    "gemini-cli": KnownClient("gemini_cli", (".gemini",), programs=("gemini",)),
    "opencode": KnownClient("opencode", (".opencode",), config=("opencode",), programs=("opencode",)),
    "zed": KnownClient("zed", app=("Zed",), config=("zed",), programs=("zed", "zeditor")),
    "goose": KnownClient("goose", app=("Block/goose",), config=("goose",), programs=("goose",)),
    "continue": KnownClient("continue_dev", (".continue",), variable="CONTINUE_GLOBAL_DIR", programs=("cn",)),
    "cline": KnownClient(
        "cline", (".cline",), app=(f"{_STORAGE}/saoudrizwan.claude-dev",), programs=("cline",)
    ),
    "roo": KnownClient("roo", (".roo",), app=(f"{_STORAGE}/rooveterinaryinc.roo-cline",)),
    "kiro": KnownClient("kiro", (".kiro",), app=("Kiro",), programs=("kiro", "kiro-cli")),
    "copilot-cli": KnownClient("copilot_cli", (".copilot",), variable="COPILOT_HOME", programs=("copilot",)),
}


def load(name: str) -> Client:
    """Load a client's module."""
    return import_module(f"remit.clients.{CLIENTS[name].module}").CLIENT


def is_on_machine(name: str, machine: Machine) -> bool:
    """Tell whether a client's program is on the PATH or its own settings exist; an unknown one counts."""
    import shutil  # every command loads the list of clients, and few look for them

    client = CLIENTS.get(name)
    if client is None:
        return True
    path = os.pathsep.join(filter(os.path.isabs, machine.variables.get("PATH", "").split(os.pathsep)))
    has_program = any(shutil.which(program, path=path) for program in client.programs)
    return has_program or any(map(os.path.exists, trace_places(name, machine)))


def trace_places(name: str, machine: Machine) -> Iterator[str]:
    """Yield where a client keeps files on a machine, whether they exist or not."""
    from remit.clients.parsing import platform_paths

    client = CLIENTS[name]
    if client.variable and (given := machine.variables.get(client.variable)):
        yield given
    bases = (machine.home, platform_paths.app_data(machine), platform_paths.xdg_config(machine))
    for base, names in zip(bases, (client.home, client.app, client.config), strict=True):
        yield from (os.path.join(base, *name.split("/")) for name in names)
