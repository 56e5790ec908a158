"""The gates of a decision, in their order, and what each depends on.

A hook process imports this module.
"""

from enum import StrEnum


class Basis(StrEnum):
    """What a gate depends on; a cached decision holds while none of it changes."""

    CATALOG = "catalog"  # the stored rows of tools, servers and agents, with the user's trust
    CONFIGURATION = "configuration"  # Remit's own files, and which parts of them are trusted
    STATES = "states"


class Gate(StrEnum):
    """The gates, in the order in which they are asked."""

    bases: frozenset[Basis]
    frees_name: bool  # what it hides is never served here, so another tool may have its name

    SCOPE = "scope", {Basis.CATALOG}, True
    CONFIG = "config", {Basis.CATALOG}, True
    PRECEDENCE = "precedence", {Basis.CATALOG}, True
    AGENT = "agent", {Basis.CATALOG}, False
    POLICY = "policy", {Basis.CATALOG, Basis.CONFIGURATION}, False
    STATE = "state", {Basis.CONFIGURATION, Basis.STATES}, False
    DANGER = "danger", {Basis.CATALOG, Basis.CONFIGURATION}, False

    def __new__(cls, name: str, bases: set[Basis], frees_name: bool) -> "Gate":
        """Make a member whose value is its name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.bases = frozenset(bases)
        member.frees_name = frees_name
        return member

    @property
    def depends_on_states(self) -> bool:
        """Whether its answer may change from one moment to the next."""
        return Basis.STATES in self.bases
