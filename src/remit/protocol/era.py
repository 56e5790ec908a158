"""The eras of the Model Context Protocol: groups of revisions that share one handshake and one envelope.

A new revision that changes either is one more member here, one adapter in `upstream/eras/`, named in its
`negotiation.py`, and one in `gateway/requests/downstream_eras.py`.
"""

from enum import Enum


class Era(Enum):
    """An era, with its protocol versions from oldest to latest."""

    SESSION = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # `initialize` opens a session
    STATELESS = ("2026-07-28",)  # each request is self-contained

    @property
    def versions(self) -> tuple[str, ...]:
        """The protocol versions of this era."""
        return self.value

    @property
    def latest(self) -> str:
        """The version to offer first."""
        return self.value[-1]

    def common(self, versions: object) -> str | None:
        """Return the latest version that a peer's list also includes."""
        if not isinstance(versions, list):
            return None
        return next((version for version in reversed(self.value) if version in versions), None)

    @classmethod
    def of(cls, version: object) -> "Era | None":
        """Find the era of a protocol version; None if it is unknown."""
        return next((era for era in cls if version in era.value), None)
