"""What is agreed on with a server when it is greeted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.protocol.constants import NEWER


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakeResult:
    """What a server is, in its own words."""

    version: str  # of the protocol
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    server: Mapping[str, Any] = field(default_factory=dict[str, Any])  # what it calls itself
    instructions: str | None = None

    @property
    def is_modern(self) -> bool:
        """Whether each request stands for itself, without a session."""
        return self.version in NEWER
