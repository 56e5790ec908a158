"""Roles: what a person may do in a project."""

from enum import StrEnum


class Role(StrEnum):
    """A role in a project; each includes those before it."""

    READER = "reader"  # list and search tools
    USER = "user"  # call them
    APPROVER = "approver"  # answer the approvals of the project
    ADMIN = "admin"  # change its policy

    @property
    def rank(self) -> int:
        """Its place in the order, from the weakest."""
        return _RANKS[self]

    def includes(self, other: "Role") -> bool:
        """Check whether it may do all that another may."""
        return self.rank >= other.rank


_RANKS = {role: rank for rank, role in enumerate(Role)}
