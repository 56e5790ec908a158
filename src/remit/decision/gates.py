"""The gates of a decision, in order, and what each depends on.

Hook processes import this module, so it imports little.
"""

from enum import StrEnum
from typing import NamedTuple


class Basis(StrEnum):
    """What a gate depends on; a cached decision is valid until this changes."""

    CATALOG = "catalog"  # stored rows and permission rules of clients, and the user's trust
    CONFIGURATION = "configuration"  # Remit's own files, and which parts are trusted
    STATES = "states"


ASK_THE_USER = "Ask the user: only a person can change this."


class NextStep(NamedTuple):
    """An unlock that is meant for a model: all others are for people."""

    text: str
    tools: tuple[str, ...] = ()  # patterns of the tools to call, of which one must be visible


class Gate(StrEnum):
    """The gates, in the order in which they run."""

    bases: frozenset[Basis]
    frees_name: bool  # tools it hides are never served here, so others may use their names

    SCOPE = "scope", {Basis.CATALOG}, True
    CONFIG = "config", {Basis.CATALOG}, True
    PRECEDENCE = "precedence", {Basis.CATALOG}, True
    AGENT = "agent", {Basis.CATALOG}, False
    POLICY = "policy", {Basis.CATALOG, Basis.CONFIGURATION}, False
    DEFINITION = "definition", {Basis.CATALOG, Basis.CONFIGURATION}, False
    STATE = "state", {Basis.CONFIGURATION, Basis.STATES}, False
    DANGER = "danger", {Basis.CATALOG, Basis.CONFIGURATION}, False

    def __new__(cls, name: str, bases: set[Basis], frees_name: bool) -> "Gate":
        """Create a member whose value is its name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.bases = frozenset(bases)
        member.frees_name = frees_name
        return member

    @property
    def cause(self) -> str:
        """How a sentence names it; `by definition` would mean something else."""
        return "because of its definition" if self is Gate.DEFINITION else f"by {self}"

    @property
    def is_ours(self) -> bool:
        """Whether it follows Remit's own files, of which a client without Remit knows nothing."""
        return Basis.CONFIGURATION in self.bases

    @property
    def depends_on_states(self) -> bool:
        """Whether its result may change at any moment."""
        return Basis.STATES in self.bases
