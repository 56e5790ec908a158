"""The commands of a program: their names, their parameters and how to start them."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple


class Form(StrEnum):
    """How a parameter is written on a command line."""

    ARGUMENT = "argument"  # by position
    OPTION = "option"  # a flag with a value
    FLAG = "flag"  # a flag without a value
    COUNT = "count"  # a repeated flag
    KEYWORD = "keyword"  # not on a command line: passed to a function by name


class Parameter(NamedTuple):
    """One parameter of a command."""

    name: str
    form: Form
    flag: str = ""  # `--title`
    off: str = ""  # `--no-title`, if there is one
    type: str = "string"  # a JSON type
    choices: tuple[str | int | float | bool | None, ...] = ()
    is_required: bool = False
    is_many: bool = False
    is_spread: bool = False  # one flag before all values instead of one before each
    help: str = ""


class Label(NamedTuple):
    """The conditions and safety settings that a command's code declares."""

    states: tuple[str, ...] = ()
    when: str | None = None
    pages: tuple[str, ...] | None = None
    routes: tuple[str, ...] | None = None
    components: tuple[str, ...] | None = None
    elements: tuple[str, ...] | None = None
    danger: str | None = None
    approval: bool | None = None
    ai_enabled: bool | None = None


class Start(StrEnum):
    """How to start a command."""

    CALL = "call"  # call an object with a command line
    MODULE = "module"  # run a module with a command line
    FUNCTION = "function"  # call a function with the arguments as JSON
    UNKNOWN = "unknown"  # the code does not show how


class Command(NamedTuple):
    """One command of a program."""

    name: str  # `requirement.list`
    start: Start
    target: str  # `package.module:object`, or a module
    words: tuple[str, ...] = ()  # the subcommands before its parameters
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    label: Label = Label()


class Names(NamedTuple):
    """The commands of one package, by name."""

    package: str
    commands: tuple[Command, ...]
    groups: Mapping[str, str] = {}  # descriptions by group name


class ScanWarning(NamedTuple):
    """A warning about code that the scan could not follow."""

    file: str
    line: int
    reason: str

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Branch(NamedTuple):
    """A node in the tree of names."""

    name: str  # the full name
    command: Command | None
    branches: "Mapping[str, Branch]"


def tree(commands: Iterable[Command]) -> Mapping[str, Branch]:
    """Arrange commands in a tree by the parts of their names."""
    root: dict[str, Branch] = {}
    for command in sorted(commands, key=lambda each: each.name):
        _grow(root, command, command.name.split("."), ())
    return root


def _grow(
    branches: "Mapping[str, Branch]", command: Command, parts: Sequence[str], above: tuple[str, ...]
) -> None:
    assert isinstance(branches, dict)  # noqa: S101 - built here
    first, *others = parts
    known = branches.get(first)
    if known is None:
        known = branches[first] = Branch(".".join((*above, first)), None, {})
    if others:
        _grow(known.branches, command, others, (*above, first))
    else:
        branches[first] = known._replace(command=command)
