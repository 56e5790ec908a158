"""The rules that make up a policy, each with the place in a file that sets it."""

from enum import IntEnum, StrEnum
from typing import NamedTuple

from remit.decision.danger import Danger, Rating
from remit.decision.globs import Glob


class Mode(StrEnum):
    """How much an agent may do, in the words of the clients."""

    PLAN = "plan"  # nothing above `low`
    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    DONT_ASK = "dontAsk"  # what would be asked is hidden
    BYPASS = "bypass"  # all but what is critical


class RuleStrength(IntEnum):
    """How much a file may say, the weakest first."""

    NARROWING = 0  # a project's: it may only take away
    TRUSTED = 1  # a project's part that the user trusts
    MACHINE = 2
    MANAGED = 3


class ConfigLocation(NamedTuple):
    """Where a file says something."""

    path: str
    key: str  # empty: the file as a whole
    line: int = 0  # 0: not known


class ListTarget(StrEnum):
    """Whom a list is for."""

    ALL = "all"
    SERVER = "server"
    AGENT = "agent"


class ToolList(NamedTuple):
    """Tools that may be used, or may not, whoever or whatever a pattern covers."""

    target: ListTarget
    owner: Glob
    patterns: tuple[tuple[str, tuple[Glob, ...]], ...]  # as written, with what each means
    allows: bool
    origin: ConfigLocation


class SafetyRule(NamedTuple):
    """What a file says of the tools that a pattern covers."""

    globs: tuple[Glob, ...]
    strength: RuleStrength
    danger: tuple[Danger, ConfigLocation] | None = None
    approval: tuple[bool, ConfigLocation] | None = None
    ai_enabled: tuple[bool, ConfigLocation] | None = None

    @property
    def weight(self) -> int:
        """How many letters the pattern has."""
        return max(sum(map(len, form.parts)) for form in self.globs)


class AnnotationTrust(NamedTuple):
    """Whether what a server says of its tools is believed."""

    server: Glob
    is_trusted: bool
    strength: RuleStrength


class ModeSetting(NamedTuple):
    """A mode that a file sets."""

    mode: Mode
    origin: ConfigLocation


class Refusal(NamedTuple):
    """Why a tool may not be used, and where that is said."""

    reason: str
    origin: ConfigLocation
    unlock: str  # to be done there


class ToolDanger(NamedTuple):
    """How dangerous a tool is, and whether a person is to be asked about it."""

    rating: Rating
    origin: ConfigLocation | None = None  # the file that says so, where one does
    approval: ConfigLocation | None = None  # the file that wants it to be asked about
    is_managed: bool = False  # an administrator wants it: no mode lifts that


class ModeEffect(NamedTuple):
    """What the mode makes of a tool."""

    hidden_by: Mode | None
    asks: bool
