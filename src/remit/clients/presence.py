"""Which clients are on this machine: their program is on the PATH, or their own settings are in place.

A file in a project does not count: anyone may have written it, and several clients read the same one.
"""

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from remit.clients.parsing import platform_paths
from remit.files.bounded_reader import Machine


class _Traces(NamedTuple):
    """What a client leaves on a machine."""

    home: tuple[str, ...] = ()  # in the home directory
    app: tuple[str, ...] = ()  # in the platform's directory for desktop programs
    config: tuple[str, ...] = ()  # in the XDG directory
    variable: str = ""  # names its directory
    programs: tuple[str, ...] = ()


_STORAGE = "Code/User/globalStorage"
_TRACES = {
    "claude-code": _Traces((".claude", ".claude.json"), variable="CLAUDE_CONFIG_DIR", programs=("claude",)),
    "klaude": _Traces((".klaude",), programs=("klaude",)),
    "cursor": _Traces((".cursor",), app=("Cursor",), programs=("cursor", "cursor-agent")),
    "vscode": _Traces((".vscode",), app=("Code",), programs=("code",)),
    "claude-desktop": _Traces(app=("Claude",)),
    "windsurf": _Traces((".codeium/windsurf",), app=("Windsurf",), programs=("windsurf",)),
    "codex": _Traces((".codex",), variable="CODEX_HOME", programs=("codex",)),
    "gemini-cli": _Traces((".gemini",), programs=("gemini",)),
    "opencode": _Traces((".opencode",), config=("opencode",), programs=("opencode",)),
    "zed": _Traces(app=("Zed",), config=("zed",), programs=("zed", "zeditor")),
    "goose": _Traces(app=("Block/goose",), config=("goose",), programs=("goose",)),
    "continue": _Traces((".continue",), variable="CONTINUE_GLOBAL_DIR", programs=("cn",)),
    "cline": _Traces((".cline",), app=(f"{_STORAGE}/saoudrizwan.claude-dev",), programs=("cline",)),
    "roo": _Traces((".roo",), app=(f"{_STORAGE}/rooveterinaryinc.roo-cline",)),
    "kiro": _Traces((".kiro",), app=("Kiro",), programs=("kiro", "kiro-cli")),
    "copilot-cli": _Traces((".copilot",), variable="COPILOT_HOME", programs=("copilot",)),
}


def is_on_machine(client: str, machine: Machine) -> bool:
    """Tell whether a client is on this machine; one of which no traces are known counts as present."""
    traces = _TRACES.get(client)
    if traces is None:
        return True
    path = os.pathsep.join(filter(os.path.isabs, machine.variables.get("PATH", "").split(os.pathsep)))
    has_program = any(shutil.which(program, path=path) for program in traces.programs)
    return has_program or any(map(os.path.exists, trace_places(client, machine)))


def trace_places(client: str, machine: Machine) -> Iterator[str]:
    """Yield where a client keeps files on a machine, whether they exist or not."""
    traces = _TRACES[client]
    if traces.variable and (given := machine.variables.get(traces.variable)):
        yield given
    bases = (machine.home, platform_paths.app_data(machine), platform_paths.xdg_config(machine))
    for base, names in zip(bases, (traces.home, traces.app, traces.config), strict=True):
        yield from (os.path.join(base, *name.split("/")) for name in names)
