"""Collects facts about servers from the machine, without starting anything or using the network."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.decision.declarations import Declaration, Key
from remit.decision.declared_launch import Launch, program
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope
from remit.files.bounded_reader import Machine
from remit.files.git_index import is_tracked
from remit.upstream.launch.start_obstacles import LaunchFacts

if TYPE_CHECKING:
    from remit.trust.server_sandbox import Sandbox

_INTERPRETERS = re.compile(r"(?:node|nodejs|bun|tsx|ruby|perl|php|sh|bash|python[\d.]*)")
_EXTENSIONS = ".COM;.EXE;.BAT;.CMD"


def collect_launch_facts(
    declarations: Sequence[Declaration], workspace: Workspace, machine: Machine
) -> LaunchFacts:
    """Collect the facts for a diagnosis."""
    shared = {item.source for item in declarations if item.scope is Scope.PROJECT}
    absent = {
        item.key: tuple(_absent(item.launch, workspace.dir, machine))
        for item in declarations
        if item.launch is not None and not item.launch.is_remote
    }
    return LaunchFacts(
        variables=frozenset(machine.variables),
        absent=absent,
        tracked=frozenset(source for source in shared if is_tracked(source)),
    )


def add_sandboxes(facts: LaunchFacts, sandboxes: "Mapping[Key, Sandbox | None]", home: str) -> LaunchFacts:
    """Add the sandboxes of servers, and why some are not possible here."""
    from remit.upstream.launch.bubblewrap import sandbox_obstacle  # imported late: few servers have one

    made = {key: each for key, each in sandboxes.items() if each is not None}
    found = {key: sandbox_obstacle(each, home) for key, each in made.items()}
    errors = {key: error for key, error in found.items() if error is not None}
    return replace(
        facts,
        sandboxed=frozenset(made),
        sandbox_obstacles={
            key: f"its sandbox is not possible: {error.reason}" for key, error in errors.items()
        },
        sandbox_fixes={key: error.hint for key, error in errors.items() if error.hint is not None},
    )


def _absent(launch: Launch, directory: str, machine: Machine) -> Iterator[str]:
    """Yield the members of an entry whose file is certainly missing."""
    directory = directory if launch.cwd is None else os.path.join(directory, launch.cwd)
    if _is_plain(launch.program) and not _is_program(launch, directory, machine):
        yield "command"
    script = launch.args[0] if launch.args else ""
    is_script = os.path.isabs(script) and _INTERPRETERS.fullmatch(program(launch.command))
    if is_script and _is_plain(script) and not os.path.exists(script):
        yield "args[0]"


def _is_plain(path: str) -> bool:
    # Variables are not expanded here, and checking `//host/share` would sign in to another machine.
    return "\0" not in path and not re.search(r"[${%]|^[\\/]{2}", path)


def _is_program(launch: Launch, directory: str, machine: Machine) -> bool:
    command = launch.program
    if command.startswith("~"):
        command = machine.home + command[1:]
    endings = [""]
    if machine.platform == "win32":
        endings += machine.variables.get("PATHEXT", _EXTENSIONS).split(";")
    is_path = os.path.dirname(command) != ""
    places = [directory] if is_path else _search_path(launch, machine).split(os.pathsep)
    return any(_is_executable(os.path.join(place, command + end)) for place in places for end in endings)


def _search_path(launch: Launch, machine: Machine) -> str:
    own = launch.env.get("PATH", "")
    return own if own and "$" not in own else machine.variables.get("PATH", os.defpath)


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
