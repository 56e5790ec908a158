"""The kinds of detectors, with everything that the rest of Remit needs to know about each kind.

A new kind is a member with an entry in `TRAITS`, a parser in `detector_tables`, and a module in
`states.detectors`. Hook processes import this module, so it imports little.
"""

import operator
import re
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

Scalar = str | int | float | bool

_TIMEOUT = 2.0
_OPERATORS: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_LARGEST = 1_000_000_000


class Comparison(NamedTuple):
    """A comparison of a count with a number."""

    sign: str
    number: int

    def holds(self, count: int) -> bool:
        """Return whether a count satisfies the comparison."""
        return _OPERATORS[self.sign](count, self.number)


SOME = Comparison(">=", 1)


def comparison(text: str | int) -> Comparison | None:
    """Parse a comparison; a number alone means equality. Returns None if it is invalid."""
    found = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)?\s*([0-9]{1,10})\s*", str(text))
    if found is None or int(found[2]) > _LARGEST:
        return None
    return Comparison(found[1] or "==", int(found[2]))


class DetectorKind(StrEnum):
    """How a state is detected, which is also the key that declares the detector."""

    FILE = "file"
    DIRECTORY = "directory"
    GLOB = "glob"
    GIT = "git"
    ENV = "env"
    VALUE = "value"
    COMMAND = "command"
    HTTP = "http"
    ENTITIES = "entities"
    PUSH = "push"


class GitFact(StrEnum):
    """Facts about a git checkout that states can use."""

    REPOSITORY = "repository"
    BRANCH = "branch"
    DETACHED = "detached"
    MERGING = "merging"
    REBASING = "rebasing"
    DIRTY = "dirty"
    CLEAN = "clean"


_ASKS_GIT = frozenset({GitFact.DIRTY, GitFact.CLEAN})  # these run git


class Detector(NamedTuple):
    """How to detect a state; only the fields for its kind are set."""

    kind: DetectorKind
    paths: tuple[str, ...] = ()  # files or directories, any of which is enough
    glob: str = ""
    amount: Comparison | None = None  # the expected count
    fact: GitFact | None = None
    branch: str = ""  # a pattern
    variable: str = ""
    equals: Scalar | None = None  # None: any value
    keys: tuple[str, ...] = ()  # the keys of a value in a file
    argv: tuple[str, ...] = ()
    exits: tuple[int, ...] = (0,)
    url: str = ""
    statuses: tuple[int, ...] = ()  # empty: any 2xx
    database: str = ""
    table: str = ""
    timeout: float = 0.0  # seconds
    lifetime: float = 0.0  # seconds to cache a result

    @property
    def traits(self) -> "DetectorTraits":
        """The traits of its kind."""
        return TRAITS[self.kind]

    @property
    def reads_git_files(self) -> bool:
        """Whether it reads git's own files, which is cheap and does not run git."""
        return self.kind is DetectorKind.GIT and self.fact not in _ASKS_GIT

    @property
    def action(self) -> "DetectorAction | None":
        """The program it runs or the server it connects to, if any."""
        return None if self.reads_git_files else self.traits.action

    @property
    def runs(self) -> bool:
        """Whether it runs a program or connects to a server."""
        return self.action is not None

    @property
    def counts(self) -> bool:
        """Whether it provides a count for conditions."""
        return self.amount is not None

    @property
    def is_pushed(self) -> bool:
        """Whether the host application pushes the value."""
        return self.kind is DetectorKind.PUSH


class DetectorAction(NamedTuple):
    """What a detector does besides reading files, which needs the user's trust."""

    verb: str
    reason: str  # why it needs trust
    is_program: bool = True  # it may run code from the workspace, even if the user's own file names it
    command: str = ""  # what it runs, if the detector has neither `argv` nor `url`


def _no_unlock(_name: str, _detector: Detector) -> str | None:
    return None


class DetectorTraits(NamedTuple):
    """What distinguishes a kind of detector from the others."""

    module: str = ""  # in `states.detectors`; empty if the store has the value
    keys: tuple[str, ...] = ()  # its own options, besides the times
    timeout: float = 0.0  # default seconds; 0: it has no such option
    lifetime: float = 0.0  # default seconds to cache a result; 0: it has no such option
    is_of_file: bool = False  # a result holds until its file changes
    action: DetectorAction | None = None
    unlock: Callable[[str, Detector], str | None] = _no_unlock  # explains how to make it true

    @property
    def options(self) -> tuple[str, ...]:
        """The keys that may stand next to the detector's own."""
        times = (("timeout", self.timeout), ("lifetime", self.lifetime))
        return (*self.keys, *(name for name, default in times if default))


def _unlock_path(_name: str, detector: Detector) -> str:
    return f"create {detector.paths[0]}"


def _unlock_glob(_name: str, detector: Detector) -> str:
    return f"create a file that matches {detector.glob}"


def _unlock_variable(_name: str, detector: Detector) -> str:
    return f"set the variable {detector.variable}"


def _unlock_value(_name: str, detector: Detector) -> str:
    return f"set {'.'.join(detector.keys)} in {detector.paths[0]}"


def _unlock_push(name: str, _detector: Detector) -> str:
    return f"have the application push `{name}`"


def _unlock_git(_name: str, detector: Detector) -> str | None:
    match detector.fact:
        case GitFact.REPOSITORY:
            return "run `git init`"
        case GitFact.BRANCH:
            return f"check out {detector.branch}"
        case GitFact.CLEAN:
            return "commit what is changed"
        case _:
            return None


TRAITS: dict[DetectorKind, DetectorTraits] = {
    DetectorKind.FILE: DetectorTraits("file_exists", unlock=_unlock_path),
    DetectorKind.DIRECTORY: DetectorTraits("file_exists", unlock=_unlock_path),
    DetectorKind.GLOB: DetectorTraits(
        "glob_count",
        keys=("count",),
        timeout=_TIMEOUT,
        lifetime=2.0,
        unlock=_unlock_glob,
    ),
    DetectorKind.GIT: DetectorTraits(
        "git_changes",  # facts from git's own files need no module
        timeout=_TIMEOUT,
        lifetime=2.0,
        action=DetectorAction(
            "runs", "it starts git, which runs what the repository's settings name", command="git status"
        ),
        unlock=_unlock_git,
    ),
    DetectorKind.ENV: DetectorTraits("env_variable", unlock=_unlock_variable),
    DetectorKind.VALUE: DetectorTraits("file_value", is_of_file=True, unlock=_unlock_value),
    DetectorKind.COMMAND: DetectorTraits(
        "command_exit",
        keys=("exit",),
        timeout=_TIMEOUT,
        lifetime=30.0,
        action=DetectorAction("runs", "it runs a program"),
    ),
    DetectorKind.HTTP: DetectorTraits(
        "http_status",
        keys=("status",),
        timeout=_TIMEOUT,
        lifetime=30.0,
        action=DetectorAction("reaches", "it reaches a server", is_program=False),
    ),
    DetectorKind.ENTITIES: DetectorTraits(
        "entity_count", keys=("count",), timeout=_TIMEOUT, lifetime=2.0, is_of_file=True
    ),
    DetectorKind.PUSH: DetectorTraits(lifetime=60.0, unlock=_unlock_push),
}
