"""Scans a package for commands, and gives each a unique name."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remit.names.argparse_commands import ArgparseScan
from remit.names.click_commands import ClickScan, CommandLibrary, FoundCommand
from remit.names.decorated_functions import FunctionScan
from remit.names.name_tree import Command, Names, ScanWarning, Start
from remit.names.references import References
from remit.names.source_files import Package, read_package

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_NAMELESS = ("app", "cli", "main")  # generic names of programs, replaced by the package name
_DEEPEST = 16  # nested groups


class Scanned(NamedTuple):
    """The names of a package, with warnings about code that the scan could not follow."""

    names: Names
    warnings: tuple[ScanWarning, ...]


class _Named(NamedTuple):
    """A command with the name of its program."""

    command: Command
    program: str


def scan(source: str) -> Scanned:
    """Find the commands in a package's source files without importing or running them.

    Raises:
        BadFileError: the source is not Python, or has too many files.
        NoSuchFileError: there is no such file or directory.
    """
    package = read_package(source)
    references = References(package.modules)
    walk = _Walk(package, references)
    found = [*walk.clicks(), *walk.others()]
    commands = sorted(walk.distinct(found), key=lambda each: each.name)
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

    def clicks(self) -> Iterator[_Named]:
        """List the click and typer commands, starting at groups without a parent."""
        found = self._scan.found
        below = {child for each in found.values() for _, child in each.children}
        for id in sorted(found):
            if id not in below:
                yield from self._program(found[id])
        self._tell_of_circles(below)

    def others(self) -> Iterator[_Named]:
        """List the argparse commands and the tool functions."""
        argparse, functions = ArgparseScan(self._references), FunctionScan(self._references)
        for module in self._package.modules:
            yield from (_Named(each, _program_of(each)) for each in argparse.scan(module))
            yield from (_Named(each, _program_of(each)) for each in functions.scan(module))
        self.warnings += argparse.warnings

    def distinct(self, found: Iterable[_Named]) -> Iterator[Command]:
        """Give every command a unique name: prefix shared names with the name of the program."""
        fit = [each._replace(command=each.command._replace(name=_fit(each.command.name))) for each in found]
        shared = Counter(each.command.name for each in fit)
        seen: set[str] = set()
        for command, program in fit:
            name = command.name if shared[command.name] == 1 else f"{_fit(program)}.{command.name}"
            if name in seen:
                reason = f"there are two commands called `{name}`; the second is left out"
                self.warnings.append(ScanWarning(command.target, 0, reason))
                continue
            seen.add(name)
            yield command._replace(name=name)

    def _program(self, top: FoundCommand) -> Iterator[_Named]:
        module, own = self._references.split(top.id)
        target = f"{module}:{own.partition('#')[0]}"
        if "#" in own or "." in own:
            return
        program = top.name or own
        if not top.is_group:
            named = module.partition(".")[0] if program in _NAMELESS else program
            yield _Named(_command(top, (), named, target), module.rpartition(".")[2])
            return
        alone = self._only_command(top)
        if alone is not None:
            name, child = alone
            yield _Named(_command(child, (), name, target), program)
            return
        for words, each in self._below(top, (), (top.id,)):
            yield _Named(_command(each, words, ".".join(map(_part, words)), target), program)

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
                reason = f"the group `{own}` is inside itself, by way of others; it is left out"
                self.warnings.append(ScanWarning(file, 0, reason))


def _command(found: FoundCommand, words: tuple[str, ...], name: str, target: str) -> Command:
    return Command(name, Start.CALL, target, words, found.description, found.parameters)


def _program_of(command: Command) -> str:
    return command.target.partition(":")[0].rpartition(".")[2] or command.target


def _part(word: str) -> str:
    return _UNFIT.sub("_", word)


def _fit(name: str) -> str:
    """Replace characters that tool names cannot have."""
    return ".".join(_part(part) or "_" for part in name.split("."))
