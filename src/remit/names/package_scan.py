"""Scans a package for commands, and gives each a unique name.

Commands below a `commands` directory are named by their files: `commands/requirement/list.py` is
`requirement.list`.
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from remit.errors import BadFileError
from remit.names.argparse_commands import ArgparseScan
from remit.names.click_commands import CLICK, TYPER, ClickScan, CommandLibrary, FoundCommand
from remit.names.decorated_functions import FunctionScan
from remit.names.name_tree import Command, Names, ScanWarning, Start
from remit.names.references import References
from remit.names.source_files import Module, Package, read_package

_USUAL = ("main", "run", "execute", "command", "handler")  # names of the function that is the command
_NOTHING = "no command found"
_UNCLEAR = "cannot tell which function is the command: mark it with `@tool`, or name it like the file"

Function = ast.FunctionDef | ast.AsyncFunctionDef
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_NAMELESS = ("app", "cli", "main")  # generic names of programs, replaced by the package name
_DEEPEST = 16  # nested groups


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


class Scanned(NamedTuple):
    """The names of a package, with warnings about code that the scan could not follow."""

    names: Names
    warnings: tuple[ScanWarning, ...]


def scan(source: str) -> Scanned:
    """Find the commands in a package's source files without importing or running them.

    Raises:
        BadFileError: the source is not Python, or has too many files.
        NoSuchFileError: there is no such file or directory.
    """
    package = read_package(source)
    references = References(package.modules)
    walk = _Walk(package, references)
    found = in_tree([*walk.clicks(), *walk.others()], references.modules)
    commands = sorted(walk.distinct(found), key=lambda each: each.name)
    walk.tell_of_empty(source, {each.module for each in found})
    groups = {name: words for name, words in sorted(walk.groups.items()) if words}
    return Scanned(
        Names(package.name, tuple(commands), groups),
        tuple(
            sorted({*package.warnings, *walk.warnings}, key=lambda each: (each.file, each.line, each.reason))
        ),
    )


class _Walk:
    """Walks from the programs of a package down to their commands."""

    def __init__(self, package: Package, references: References) -> None:
        self._package = package
        self._references = references
        self._scan = ClickScan(references)
        self.warnings: list[ScanWarning] = self._scan.scan(package.modules)
        self.groups: dict[str, str] = {}

    def clicks(self) -> Iterator[NamedCommand]:
        """List the click and typer commands, starting at groups without a parent."""
        found = self._scan.found
        below = {child for each in found.values() for _, child in each.children}
        for id in sorted(found):
            if id not in below:
                yield from self._program(found[id])
        self._tell_of_circles(below)

    def others(self) -> Iterator[NamedCommand]:
        """List the argparse commands, the tool functions, and the commands of plain modules."""
        argparse, functions = ArgparseScan(self._references), FunctionScan(self._references)
        plain = PlainModules(functions)
        for module in self._package.modules:
            found = [NamedCommand(each, _program_of(each), module.name) for each in argparse.scan(module)]
            found += [
                NamedCommand(each, _program_of(each), module.name, is_explicit)
                for each, is_explicit in functions.scan(module)
            ]
            if not found and not self._uses_library(module):
                found = list(plain.scan(module))
            yield from found
        self.warnings += [*argparse.warnings, *plain.warnings]

    def _uses_library(self, module: Module) -> bool:
        return any(self._references.imports(each, module.name) for each in (*CLICK, TYPER, "argparse"))

    def tell_of_empty(self, source: str, with_commands: set[str]) -> None:
        """Warn about packages without commands."""
        for id in self._scan.found:
            with_commands.add(self._references.split(id)[0])
        if not with_commands:
            self.warnings.append(ScanWarning(source, 0, "no commands found"))
        else:
            self.warnings += empty_packages(self._package.modules, with_commands)

    def distinct(self, found: Iterable[NamedCommand]) -> Iterator[Command]:
        """Give every command a unique name: prefix shared names with the name of the program.

        Raises:
            BadFileError: commands of two files have the same name.
        """
        fit = [each._replace(command=each.command._replace(name=_fit(each.command.name))) for each in found]
        shared = Counter(each.command.name for each in fit)
        seen: dict[str, tuple[str, Command]] = {}
        for each in fit:
            module, own = self._references.modules[each.module], each.command.name
            is_own = shared[own] == 1 or module.command_path or each.is_explicit
            name = own if is_own else f"{_fit(each.program)}.{own}"
            command = each.command._replace(name=name)
            file, first = seen.setdefault(name, (module.file, command))
            if first is command:
                yield command
            elif file == module.file or _starts_alike(first, command):
                reason = f"there are two commands called `{name}`; the second is left out"
                self.warnings.append(ScanWarning(module.file, 0, reason))
            else:
                raise BadFileError(
                    f"two commands are called `{name}`: in {file} and in {module.file}",
                    hint="rename one of them",
                )

    def _program(self, top: FoundCommand) -> Iterator[NamedCommand]:
        module, own = self._references.split(top.id)
        target = f"{module}:{own.partition('#')[0]}"
        if "#" in own or "." in own:
            return
        program = top.name or own
        if not top.is_group:
            named = module.partition(".")[0] if program in _NAMELESS else program
            yield NamedCommand(_command(top, (), named, target), module.rpartition(".")[2], module)
            return
        alone = self._only_command(top)
        if alone is not None:
            name, child = alone
            yield NamedCommand(_command(child, (), name, target), program, module)
            return
        for words, each in self._below(top, (), (top.id,)):
            yield NamedCommand(_command(each, words, ".".join(map(_part, words)), target), program, module)

    def _only_command(self, top: FoundCommand) -> tuple[str, FoundCommand] | None:
        """Find the only command of a typer app; typer runs it without a subcommand."""
        if top.flavour is not CommandLibrary.TYPER or top.has_callback or len(top.children) != 1:
            return None
        ((name, child),) = top.children
        found = self._scan.found[child]
        return None if found.is_group else (_part(name or found.name or child), found)

    def _below(
        self, group: FoundCommand, words: tuple[str, ...], above: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], FoundCommand]]:
        for name, child in group.children:
            found = self._scan.found[child]
            own = name or found.name or (None if not found.is_group else child.rpartition(".")[2])
            if found.is_hidden or own is None or child in above or len(above) > _DEEPEST:
                continue
            if not found.is_group:
                yield (*words, own), found
                continue
            self.groups.setdefault(".".join(map(_part, (*words, own))), found.description)
            if found.runs_alone:
                yield (*words, own), found
            # A typer app that is added without a name adds its commands to its parent.
            is_merged = found.flavour is CommandLibrary.TYPER and name is None and found.name is None
            yield from self._below(found, words if is_merged else (*words, own), (*above, child))

    def _tell_of_circles(self, below: set[str]) -> None:
        """Warn about groups that contain each other, which no program reaches."""
        reached: set[str] = set()
        waiting = [id for id in self._scan.found if id not in below]
        while waiting:
            id = waiting.pop()
            if id not in reached:
                reached.add(id)
                waiting.extend(child for _, child in self._scan.found[id].children)
        for id in sorted(set(self._scan.found) - reached):
            if self._scan.found[id].is_group:
                module, own = self._references.split(id)
                file = self._references.modules[module].file
                reason = f"the group `{own}` contains itself through others; it is left out"
                self.warnings.append(ScanWarning(file, 0, reason))


def _command(found: FoundCommand, words: tuple[str, ...], name: str, target: str) -> Command:
    return Command(name, Start.CALL, target, words, found.description, found.parameters)


def _starts_alike(first: Command, second: Command) -> bool:
    return first[1:4] == second[1:4]


def _program_of(command: Command) -> str:
    return command.target.partition(":")[0].rpartition(".")[2] or command.target


def _part(word: str) -> str:
    return _UNFIT.sub("_", word)


def _fit(name: str) -> str:
    """Replace characters that tool names cannot have."""
    return ".".join(_part(part) or "_" for part in name.split("."))
