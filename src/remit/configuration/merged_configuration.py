"""The merged configuration of a workspace."""

import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from remit.configuration.config_model import (
    UNLIMITED,
    AccessLists,
    AccessRule,
    CallLimits,
    ConfigurationFile,
    IdentityProvider,
    Namespace,
    Room,
    StateEntry,
    ToolEntry,
)
from remit.configuration.detector_kinds import Detector
from remit.decision.gates import NextStep
from remit.decision.state_snapshot import Implications

VARIABLES = "[env]"  # subject under which the list of variables is trusted, which no state can have


class DeclaredState(NamedTuple):
    """An active state, with the file that declares it."""

    entry: StateEntry
    file: ConfigurationFile
    needs_trust: bool = False
    is_trusted: bool = True

    @property
    def may_run(self) -> bool:
        """Whether its detector may run."""
        return self.is_trusted or not self.needs_trust


class TrustRequest(NamedTuple):
    """A part of a configuration that needs the user's trust, and why."""

    entry: StateEntry | ToolEntry
    file: ConfigurationFile
    reasons: tuple[str, ...]
    digest: str
    trusted_digest: str | None = None
    subject: str = ""  # the key under which the store keeps it

    @property
    def name(self) -> str:
        """The name of the state, or the pattern of tools."""
        return self.entry.name if isinstance(self.entry, StateEntry) else self.entry.pattern

    @property
    def detector(self) -> Detector | None:
        """The detector of a state."""
        return self.entry.detector if isinstance(self.entry, StateEntry) else None

    @property
    def is_state(self) -> bool:
        """Whether it is a state, not a rule for tools."""
        return isinstance(self.entry, StateEntry)

    @property
    def is_trusted(self) -> bool:
        """Whether its current form is trusted."""
        return self.trusted_digest == self.digest

    @property
    def is_changed(self) -> bool:
        """Whether it has changed since it was trusted."""
        return self.trusted_digest is not None and not self.is_trusted

    @property
    def title(self) -> str:
        """The name with its kind."""
        if not self.is_state:
            return f"rule {self.name}"
        return "variables" if self.name == VARIABLES else f"state {self.name}"


class ToolRule(NamedTuple):
    """A rule for tools, with the file and the line that set it."""

    entry: ToolEntry
    file: ConfigurationFile
    line: int = 0  # of its condition, or of the table if it has several; 0: unknown


class Transition(NamedTuple):
    """A tool whose success sets or clears a workflow state."""

    pattern: str
    state: str
    truth: bool


class Conflict(NamedTuple):
    """A declared state that does not apply as declared."""

    file: ConfigurationFile
    name: str
    reason: str


class Configuration(NamedTuple):
    """The merged content of all files."""

    states: Mapping[str, DeclaredState]
    waiting: frozenset[str]  # declared states that stay unknown until trusted
    implications: Implications
    rules: tuple[ToolRule, ...]
    trust_requests: tuple[TrustRequest, ...]
    conflicts: tuple[Conflict, ...]
    foreign: frozenset[str] = frozenset()  # states that the project does not own
    env: tuple[str, ...] = ()
    strategy: str | None = None
    token_budget: int | None = None
    result_budget: int | None = None
    promote: str | None = None
    pinned: tuple[str, ...] = ()
    own_tools: tuple[str, ...] | None = None
    memory: str | None = None
    notifies: bool = True  # the desktop shows that a call waits for approval
    memory_projects: tuple[str, ...] = ()  # memories that every project may use
    servers: tuple[tuple[ConfigurationFile, AccessLists], ...] = ()
    agents: tuple[tuple[ConfigurationFile, AccessLists], ...] = ()
    rooms: tuple[tuple[ConfigurationFile, Room], ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    filters: tuple[str, ...] = ()  # files of the user and the administrator
    identity: IdentityProvider | None = None  # whose access tokens a gateway accepts
    access: tuple[AccessRule, ...] = ()
    limits: CallLimits = UNLIMITED  # per principal
    is_complete: bool = True  # whether the files of the user and the administrator could be read

    @property
    def has_conditions(self) -> bool:
        """Whether any tool has a condition."""
        return any(rule.entry.has_condition for rule in self.rules)

    @property
    def transitions(self) -> Iterator[Transition]:
        """Yield how the success of tools sets and clears workflow states."""
        for state in self.states.values():
            for patterns, truth in ((state.entry.on, True), (state.entry.off, False)):
                yield from (Transition(pattern, state.entry.name, truth) for pattern in patterns)


def state_unlock(state: DeclaredState) -> str | None:
    """Explain how to make a state true; None if unknown."""
    entry = state.entry
    if not state.may_run:
        return f"look at it with `remit trust {shlex.quote(entry.name)}`, and trust it"
    if entry.kind == "workflow":
        return _by_hand(entry)
    return None if entry.detector is None else entry.detector.traits.unlock(entry.name, entry.detector)


def model_step(entry: StateEntry) -> NextStep | None:
    """Return how a model itself makes a state true; None if it cannot."""
    if entry.agents and entry.kind == "workflow":
        return NextStep(f"run `{_command(entry)}`")
    return NextStep(f"set state `{entry.name}` by a successful call", entry.on) if entry.on else None


def _by_hand(entry: StateEntry) -> str:
    tools = f", or let {' or '.join(entry.on)} succeed" if entry.on else ""
    return f"run `{_command(entry)}`{tools}"


def _command(entry: StateEntry) -> str:
    return f"remit states set {entry.name}"
