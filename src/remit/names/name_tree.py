"""The names of a program's commands, with their parameters and how they are started."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple


class Form(StrEnum):
    """How a parameter is written on a command line."""

    ARGUMENT = "argument"  # by its place
    OPTION = "option"  # by its flag, with a value
    FLAG = "flag"  # by its flag alone
    COUNT = "count"  # by its flag, as many times
    KEYWORD = "keyword"  # not at all: a function takes it by name


class Parameter(NamedTuple):
    """One parameter of a command."""

    name: str
    form: Form
    flag: str = ""  # `--title`
    off: str = ""  # of a flag: what says no, where something does
    type: str = "string"  # of JSON
    choices: tuple[str | int | float | bool | None, ...] = ()
    is_required: bool = False
    is_many: bool = False
    is_spread: bool = False  # one flag before all values, and not one before each
    help: str = ""


class Label(NamedTuple):
    """Who may use a command, and when, as its code declares it."""

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
    """How a command is started."""

    CALL = "call"  # an object of a module is called, with the words of the command line
    MODULE = "module"  # a module is run as a program, with the words of the command line
    FUNCTION = "function"  # a function of a module is called, with the arguments themselves
    UNKNOWN = "unknown"  # the code does not say


class Command(NamedTuple):
    """One command of a program."""

    name: str  # `requirement.list`
    start: Start
    target: str  # `package.module:object`, or a module
    words: tuple[str, ...] = ()  # what comes before its parameters
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    label: Label = Label()


class Names(NamedTuple):
    """The commands of one package, by name."""

    package: str
    commands: tuple[Command, ...]
    groups: Mapping[str, str] = {}  # what the groups are for


class ScanWarning(NamedTuple):
    """Code that could not be read."""

    file: str
    line: int
    reason: str

    @property
    def place(self) -> str:
        """Where it is."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Branch(NamedTuple):
    """A part of the tree of names."""

    name: str  # in full
    command: Command | None
    branches: "Mapping[str, Branch]"


def tree(commands: Iterable[Command]) -> Mapping[str, Branch]:
    """Put commands into the tree that their names make."""
    root: dict[str, Branch] = {}
    for command in sorted(commands, key=lambda each: each.name):
        _grow(root, command, command.name.split("."), ())
    return root


def _grow(
    branches: "Mapping[str, Branch]", command: Command, parts: Sequence[str], above: tuple[str, ...]
) -> None:
    assert isinstance(branches, dict)  # noqa: S101 - made here
    first, *others = parts
    known = branches.get(first)
    if known is None:
        known = branches[first] = Branch(".".join((*above, first)), None, {})
    if others:
        _grow(known.branches, command, others, (*above, first))
    else:
        branches[first] = known._replace(command=command)
