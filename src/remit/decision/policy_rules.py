"""The rules that make up a policy, each with its place in a file."""

from enum import IntEnum, StrEnum
from typing import NamedTuple

from remit.decision.danger import Danger, Rating
from remit.decision.globs import Glob


class Mode(StrEnum):
    """How much an agent may do, named as in the clients."""

    PLAN = "plan"  # nothing above `low`
    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    DONT_ASK = "dontAsk"  # tools that would ask are hidden
    BYPASS = "bypass"  # everything except `critical`


class RuleStrength(IntEnum):
    """How strong the rules of a file are, weakest first."""

    NARROWING = 0  # a project's file, which may only restrict
    TRUSTED = 1  # a part of a project's file that the user trusts
    MACHINE = 2
    MANAGED = 3


class ConfigLocation(NamedTuple):
    """A place in a configuration file."""

    path: str
    key: str  # empty: the whole file
    line: int = 0  # 0: unknown


class ListTarget(StrEnum):
    """What a list applies to."""

    ALL = "all"
    SERVER = "server"
    AGENT = "agent"


class ToolList(NamedTuple):
    """An allow or block list, for all tools, or for the servers or agents that match `owner`."""

    target: ListTarget
    owner: Glob
    patterns: tuple[tuple[str, tuple[Glob, ...]], ...]  # each as written, with its parsed forms
    allows: bool
    origin: ConfigLocation


class SafetyRule(NamedTuple):
    """The danger, approval and `ai_enabled` settings of a pattern of tools."""

    globs: tuple[Glob, ...]
    strength: RuleStrength
    danger: tuple[Danger, ConfigLocation] | None = None
    approval: tuple[bool, ConfigLocation] | None = None
    ai_enabled: tuple[bool, ConfigLocation] | None = None

    @property
    def weight(self) -> int:
        """The number of letters in the pattern, which measures how specific it is."""
        return max(sum(map(len, form.parts)) for form in self.globs)


class AnnotationTrust(NamedTuple):
    """Whether the annotations of a server's tools are trusted."""

    server: Glob
    is_trusted: bool
    strength: RuleStrength
    is_for_projects: bool = False  # also trusted for the project's own servers of this name


class ModeSetting(NamedTuple):
    """A mode that a file sets."""

    mode: Mode
    origin: ConfigLocation


class Refusal(NamedTuple):
    """Why a tool may not be used, and the rule that refuses it."""

    reason: str
    origin: ConfigLocation
    unlock: str  # how to change the rule


class ToolDanger(NamedTuple):
    """How dangerous a tool is, and whether its calls need approval."""

    rating: Rating
    origin: ConfigLocation | None = None  # the rule that sets the rating; None: derived
    approval: ConfigLocation | None = None  # the rule that requires approval
    is_managed: bool = False  # an administrator requires approval, which no mode lifts


class ModeEffect(NamedTuple):
    """The effect of a mode on a tool."""

    hidden_by: Mode | None
    asks: bool
