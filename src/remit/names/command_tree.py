"""Names commands by where their files lie below a `commands` directory, and finds those of plain modules.

`commands/requirement/list.py` is `requirement.list`.
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from remit.names.decorated_functions import FunctionScan
from remit.names.name_tree import Command, ScanWarning
from remit.names.source_files import Module

_USUAL = ("main", "run", "execute", "command", "handler")  # names of the function that is the command
_NOTHING = "no command found"
_UNCLEAR = "cannot tell which function is the command: mark it with `@tool`, or name it like the file"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class NamedCommand(NamedTuple):
    """A command with the name of its program, and the module that its name comes from."""

    command: Command
    program: str
    module: str
    is_explicit: bool = False  # its code states the whole name


def in_tree(found: Iterable[NamedCommand], modules: Mapping[str, Module]) -> list[NamedCommand]:
    """Name the commands of files below `commands` by their path."""
    all_found = list(found)
    counts = Counter(each.module for each in all_found if not each.is_explicit)
    return [
        each
        if each.is_explicit or not (path := modules[each.module].command_path)
        else _renamed(each, path, is_only=counts[each.module] == 1)
        for each in all_found
    ]


def _renamed(each: NamedCommand, path: tuple[str, ...], *, is_only: bool) -> NamedCommand:
    """A file with one command has its name; several are named below it, with their own names."""
    own = each.command.words
    if not own and not is_only:
        last = each.command.name.rpartition(".")[2]
        own = () if last == path[-1] else (last,)
    return each._replace(command=each.command._replace(name=".".join((*path, *own))))


class PlainModules:
    """Finds the commands of modules that use no library for them."""

    def __init__(self, functions: FunctionScan) -> None:
        self._functions = functions
        self.warnings: list[ScanWarning] = []

    def scan(self, module: Module) -> Iterator[NamedCommand]:
        """Find the function of a module that is its command."""
        if not module.command_path or module.is_package or module.own_name.startswith("_"):
            return
        public = [
            node for node in module.tree.body if isinstance(node, Function) and not node.name.startswith("_")
        ]
        function = _command_of(public, module.own_name)
        if function is not None:
            command = self._functions.plain(function, module)
            yield NamedCommand(command, module.own_name, module.name)
        else:
            reason = _UNCLEAR if public else f"{_NOTHING} in this file"
            self.warnings.append(ScanWarning(module.file, public[0].lineno if public else 0, reason))


def _command_of(public: Sequence[Function], file: str) -> Function | None:
    if len(public) == 1:
        return public[0]
    by_name = {function.name.rstrip("_"): function for function in public}
    return next((by_name[name] for name in (file, *_USUAL) if name in by_name), None)


def empty_packages(modules: Iterable[Module], with_commands: Collection[str]) -> Iterator[ScanWarning]:
    """List the packages below `commands` that have no commands."""
    full = {
        module.package_path[:depth]
        for module in modules
        if module.name in with_commands
        for depth in range(len(module.package_path) + 1)
    }
    packages = {module.package_path for module in modules if module.command_path}
    for path in sorted(packages - full):
        yield ScanWarning("/".join(path), 0, f"{_NOTHING} in this package")
