"""Says why a server could not start here, without starting it; hooks load this."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import RUNS, Declaration, Key, Kind, Launch, program
from remit.upstream.variables import unset

if TYPE_CHECKING:
    from remit.files import Machine

_INTERPRETERS = ("node", "nodejs", "bun", "tsx", "ruby", "perl", "php", "sh", "bash", "python")
_EXTENSIONS = ".COM;.EXE;.BAT;.CMD"
_PATH = ("/", "\\")


class Obstacle(NamedTuple):
    """Why a server cannot start, and the one step that would help."""

    reason: str
    fix: str | None = None


def start_obstacles(
    declarations: Iterable[Declaration], machine: "Machine", directory: str, *, by_remit: bool
) -> Mapping[Key, Obstacle]:
    """Explain which of the servers that run in a directory cannot start.

    Variables that are not set count only if Remit starts the servers: clients start them anyway.
    """
    obstacles: dict[Key, Obstacle] = {}
    for declaration in declarations:
        launch = declaration.launch
        if declaration.kind is not Kind.MCP_SERVER or declaration.status not in RUNS or launch is None:
            continue
        found = [] if launch.is_remote else [*_absent(launch, directory, machine)]
        if by_remit:
            found += (
                Obstacle(f"`{name}` is not set", f"set `{name}` before the client is started")
                for name in _unset(launch, machine)
            )
        if found:
            fix = found[0].fix if len(found) == 1 else None
            obstacles[declaration.key] = Obstacle(", ".join(obstacle.reason for obstacle in found), fix)
    return obstacles


def _unset(launch: Launch, machine: "Machine") -> list[str]:
    """List the missing variables; a server may expand those of its own entry in its arguments."""
    words = [launch.url] if launch.is_remote else [launch.command, *launch.args]
    own = {*machine.variables, *launch.env}
    names = [name for text in (*words, *launch.headers.values()) for name in unset(text, launch, own)]
    names += (name for text in launch.env.values() for name in unset(text, launch, machine.variables))
    return list(dict.fromkeys(names))


def _absent(launch: Launch, directory: str, machine: "Machine") -> Iterator[Obstacle]:
    """Describe the program, or the file that it should run, that is certainly missing."""
    directory = directory if launch.cwd is None else os.path.join(directory, launch.cwd)
    command = launch.program
    if _is_plain(command) and not _is_program(launch, directory, machine):
        yield _describe(command)
    script = launch.args[0] if launch.args else ""
    interpreter = program(launch.command).rstrip(".0123456789")
    is_script = os.path.isabs(script) and interpreter in _INTERPRETERS
    if is_script and _is_plain(script) and not os.path.exists(script):
        yield Obstacle("the file to run does not exist", "correct the path")


def _describe(command: str) -> Obstacle:
    from remit.secrets import shown  # most servers have nothing to explain

    words = command.split()
    if len(words) > 1 and not any(sign in words[0] for sign in _PATH):
        name, *arguments = words
        told = f": `{name}` is the command, and `{json.dumps(arguments)}` its `args`"
        return Obstacle(
            "its `command` contains arguments",
            f"put the arguments into `args`{told if all(map(shown, words)) else ''}",
        )
    name = f"`{command}`" if shown(command) else "its program"
    if any(sign in command for sign in _PATH):
        return Obstacle(f"{name} does not exist", "correct the path")
    return Obstacle(f"{name} is not on PATH", "install it, or write the whole path of the program")


def _is_plain(path: str) -> bool:
    # Variables are not expanded here, and checking `//host/share` would sign in to another machine.
    return not any(sign in path for sign in "\0${%") and path[:2].strip("/\\") != ""


def _is_program(launch: Launch, directory: str, machine: "Machine") -> bool:
    command = launch.program
    if command.startswith("~"):
        command = machine.home + command[1:]
    endings = [""]
    if machine.platform == "win32":
        endings += machine.variables.get("PATHEXT", _EXTENSIONS).split(";")
    own = launch.env.get("PATH", "")
    search_path = own if own and "$" not in own else machine.variables.get("PATH", os.defpath)
    directories = [directory] if os.path.dirname(command) else search_path.split(os.pathsep)
    paths = (os.path.join(folder, command + ending) for folder in directories for ending in endings)
    return any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths)
