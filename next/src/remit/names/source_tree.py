"""Names the commands of a program: by its tree of files, and by what its modules say when imported.

The walk runs nothing. A child process then imports the modules; one that cannot be imported keeps its name.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remit.errors import BadFileError, NotFoundError
from remit.names.names_file import Command, Names, Start, read_command
from remit.text import one_line

COMMANDS = "commands"  # a directory whose files are named by their paths
_MOST_FILES = 5_000
_SECONDS = 60.0  # for all imports together
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "test", "tests", "venv"})
_NOT_IMPORTED = ("__main__", "conftest", "setup")  # to import one is to run it
_LIBRARIES = (b"click", b"typer", b"argparse", b"remit")  # one of which a module of commands mentions
_NAMELESS_FILES = ("__init__", "__main__")
_NAMELESS = ("app", "cli", "main")  # names of programs that say nothing
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 300  # characters of a problem


class Module(NamedTuple):
    """A source file that may define commands."""

    name: str
    file: str  # relative to the source
    command_path: tuple[str, ...]  # below its `commands` directory; empty if it lies outside

    @property
    def is_command(self) -> bool:
        """Whether its file stands for a command."""
        is_package = self.file.endswith("__init__.py")
        return bool(self.command_path) and not is_package and not self.command_path[-1].startswith("_")


class Generated(NamedTuple):
    """The names of a program, with warnings about files that are left out or could not be imported."""

    names: Names
    warnings: tuple[str, ...]


class _Named(NamedTuple):
    """A command with what its name comes from."""

    command: Command
    program: str
    module: Module
    is_explicit: bool = False  # its code states the whole name


def generate(source: str) -> Generated:
    """Name the commands of a package's directory or of one file; this imports the program.

    Raises:
        BadFileError: the source is not Python, cannot be imported, or two of its files give one name.
        NotFoundError: there is no such file or directory.
    """
    top, files = _files(source)
    root = _root(top)
    modules = [_module(file, root) for file in files]
    is_single = len(modules) == 1 and not os.path.isdir(source)
    asked = [module for module in modules if module.command_path or is_single or _is_promising(module, root)]
    read = _read(asked, root)
    problems: Mapping[str, str] = read["problems"]
    named = [
        item
        for module in asked
        for item in _commands_of(module, read["found"].get(module.name, ()), problems.get(module.name))
    ]
    with_commands = {item.module.name for item in named} | {*read["reached"]}
    warnings = [f"{item.module.file}: {item.command.problem}" for item in named if item.command.problem]
    for module in asked:
        problem = problems.get(module.name, "no command found in this file" if module.is_command else None)
        if problem is not None and module.name not in with_commands:
            warnings.append(f"{module.file}: {problem}")
    if all(item.command.problem for item in named) and warnings:
        raise BadFileError(f"`{source}` cannot be imported: {warnings[0]}")
    if not named:
        raise BadFileError(f"`{source}` has no commands", hint="name a package or a file with commands")
    program = modules[0].name.rpartition(".")[2] if is_single else os.path.basename(top)
    commands = _distinct(named, program)
    groups = {_fit(name): text for name, text in sorted(read["groups"].items()) if text}
    return Generated(Names(program, root, tuple(sorted(commands)), groups), tuple(sorted(warnings)))


def _files(source: str) -> tuple[str, list[str]]:
    path = os.path.realpath(source)
    if os.path.isfile(path):
        if not path.endswith(".py"):
            raise BadFileError(f"`{source}` is not a Python file", hint="name a package's directory")
        return os.path.dirname(path), [path]
    if not os.path.isdir(path):
        raise NotFoundError(f"there is no package `{source}`", hint="name a directory of Python files")
    inner = os.path.join(path, "src")
    if os.path.isdir(inner) and not os.path.exists(os.path.join(path, "__init__.py")):
        path = inner
    files = sorted(_walk(path))
    if len(files) > _MOST_FILES:
        reason = f"`{source}` holds more than {_MOST_FILES:,} Python files"
        raise BadFileError(reason, hint="name the package itself")
    return path, files


def _walk(top: str) -> Iterator[str]:
    for directory, names, files in os.walk(top):
        names[:] = [name for name in names if not (name.startswith(".") or name in _SKIPPED)]
        yield from (
            os.path.join(directory, file)
            for file in files
            if file.endswith(".py") and not file.startswith("test_")
        )


def _root(top: str) -> str:
    """Find the directory that modules are imported from; `commands` counts as a package in any case."""
    if os.path.basename(top) == COMMANDS and os.path.dirname(top) != top:
        top = os.path.dirname(top)
    while os.path.isfile(os.path.join(top, "__init__.py")) and os.path.dirname(top) != top:
        top = os.path.dirname(top)
    return top


def _module(path: str, root: str) -> Module:
    file = os.path.relpath(path, root).replace(os.sep, "/")
    name = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    parts = file.removesuffix(".py").split("/")
    inside = parts[parts.index(COMMANDS) + 1 :] if COMMANDS in parts[:-1] else []
    if inside and inside[-1] in _NAMELESS_FILES:
        inside = inside[:-1]
    return Module(name, file, tuple(part.rstrip("_") or part for part in inside))


def _is_promising(module: Module, root: str) -> bool:
    """Tell whether a module may define commands; others need not be imported."""
    if module.name.rpartition(".")[2] in _NOT_IMPORTED:
        return False
    try:
        with open(os.path.join(root, module.file), "rb") as stream:
            data = stream.read()
    except OSError:
        return False
    return any(library in data for library in _LIBRARIES)


def _read(modules: Sequence[Module], root: str) -> dict[str, Any]:
    """Let a child process import the modules."""
    names = [module.name for module in modules]
    asked = {
        "source": root,
        "modules": names,
        "tree": [module.name for module in modules if module.is_command],
    }
    command = [sys.executable, "-P", "-m", "remit.names.program", "read"]
    try:
        ended = subprocess.run(  # noqa: S603 - this Python
            command, input=json.dumps(asked), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        reason = f"its import did not end within {_SECONDS:g} s"
    else:
        if ended.returncode == 0 and ended.stdout:
            return json.loads(ended.stdout)
        lines = ended.stderr.strip().splitlines() or ["its import ended the process"]
        reason = one_line(lines[-1], _LONGEST)
    return {"found": {}, "groups": {}, "reached": [], "problems": dict.fromkeys(names, reason)}


def _commands_of(module: Module, found: Sequence[Mapping[str, Any]], problem: str | None) -> Iterator[_Named]:
    """Name what a module defines; a file below `commands` by its path."""
    path, count = module.command_path, sum(not item.get("is_explicit") for item in found)
    if not found and problem is not None and module.is_command:
        name = ".".join(map(_part, path))
        yield _Named(Command(name, Start.FUNCTION, module.name, problem=problem), path[-1], module, True)
    for item in found:
        fields = {key: value for key, value in item.items() if key not in ("program", "is_explicit")}
        is_explicit = bool(item.get("is_explicit"))
        name = item["name"]
        if path and not is_explicit:
            own = item.get("words", [])
            if not own and count > 1:
                last = name.rpartition(".")[2]
                own = [] if last == path[-1] else [last]
            name = ".".join((*path, *own))
        command = read_command({**fields, "name": _fit(name)})
        yield _Named(command, item["program"], module, is_explicit)


def _distinct(named: Sequence[_Named], program: str) -> list[Command]:
    """Give every command a name of its own: shared names get the name of their program in front."""
    shared = Counter(item.command.name for item in named)
    files: dict[str, str] = {}
    commands: list[Command] = []
    for item in named:
        name = item.command.name
        if not item.command.words and name in _NAMELESS and not item.module.command_path:
            name = program
        elif shared[name] > 1 and not (item.module.command_path or item.is_explicit):
            name = f"{_fit(item.program)}.{name}"
        file = files.setdefault(name, item.module.file)
        if len(files) == len(commands):
            raise BadFileError(
                f"two commands are called `{name}`: in {file} and in {item.module.file}",
                hint="rename one of them",
            )
        commands.append(item.command._replace(name=name))
    return commands


def _part(word: str) -> str:
    return _UNFIT.sub("_", word)


def _fit(name: str) -> str:
    """Replace characters that tool names cannot have."""
    return ".".join(_part(part) or "_" for part in name.split("."))
