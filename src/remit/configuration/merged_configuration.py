"""The configuration of a workspace after all its files are merged."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from remit.configuration.config_model import (
    AccessLists,
    ConfigurationFile,
    Detector,
    Room,
    StateEntry,
    ToolEntry,
)
from remit.decision.snapshot import Implications

VARIABLES = "[env]"  # stands for the list of variables where a state's name would: no state is called so


class DeclaredState(NamedTuple):
    """A state in force, with where it was declared."""

    entry: StateEntry
    file: ConfigurationFile
    needs_trust: bool = False
    is_trusted: bool = True

    @property
    def may_run(self) -> bool:
        """Whether its detector may be used."""
        return self.is_trusted or not self.needs_trust


class TrustRequest(NamedTuple):
    """A part of a configuration that only holds with the user's trust, and why."""

    entry: StateEntry | ToolEntry
    file: ConfigurationFile
    reasons: tuple[str, ...]
    digest: str
    trusted_digest: str | None = None
    subject: str = ""  # what it is kept under

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.entry.name if isinstance(self.entry, StateEntry) else self.entry.pattern

    @property
    def detector(self) -> Detector | None:
        """How a state is found out."""
        return self.entry.detector if isinstance(self.entry, StateEntry) else None

    @property
    def is_state(self) -> bool:
        """Whether it is a state, and not what is said of tools."""
        return isinstance(self.entry, StateEntry)

    @property
    def is_trusted(self) -> bool:
        """Whether it is as it was when it was trusted."""
        return self.trusted_digest == self.digest

    @property
    def is_changed(self) -> bool:
        """Whether something else was trusted than what stands there now."""
        return self.trusted_digest is not None and not self.is_trusted

    @property
    def title(self) -> str:
        """What a person would call it."""
        if not self.is_state:
            return f"rule {self.name}"
        return "variables" if self.name == VARIABLES else f"state {self.name}"


class ToolRule(NamedTuple):
    """What a file says of tools."""

    entry: ToolEntry
    file: ConfigurationFile


class Transition(NamedTuple):
    """A tool whose success sets or clears a workflow state."""

    pattern: str
    state: str
    truth: bool


class Conflict(NamedTuple):
    """A state that a file declares, and that is not in force as declared."""

    file: ConfigurationFile
    name: str
    reason: str


class Configuration(NamedTuple):
    """All that the files say together."""

    states: Mapping[str, DeclaredState]
    waiting: frozenset[str]  # states that are declared, and unknown until trusted
    implications: Implications
    rules: tuple[ToolRule, ...]
    trust_requests: tuple[TrustRequest, ...]
    conflicts: tuple[Conflict, ...]
    foreign: frozenset[str] = frozenset()  # states that are not the project's
    env: tuple[str, ...] = ()
    strategy: str | None = None
    token_budget: int | None = None
    pinned: tuple[str, ...] = ()
    own_tools: tuple[str, ...] | None = None
    memory: str | None = None
    servers: tuple[tuple[ConfigurationFile, AccessLists], ...] = ()
    agents: tuple[tuple[ConfigurationFile, AccessLists], ...] = ()
    rooms: tuple[tuple[ConfigurationFile, Room], ...] = ()

    @property
    def has_conditions(self) -> bool:
        """Whether any tool asks for anything that may hold or not."""
        return any(rule.entry.has_condition for rule in self.rules)

    @property
    def transitions(self) -> Iterator[Transition]:
        """List what tools do to workflow states when they succeed."""
        for state in self.states.values():
            for patterns, truth in ((state.entry.on, True), (state.entry.off, False)):
                yield from (Transition(pattern, state.entry.name, truth) for pattern in patterns)
