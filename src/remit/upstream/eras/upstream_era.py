"""What both ways of calling servers, one for each protocol era, share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.protocol.era import Era

UNKNOWN_VERSION = "supports no protocol version that Remit supports"
SUBSCRIBE, UNSUBSCRIBE, SET_LEVEL = "resources/subscribe", "resources/unsubscribe", "logging/setLevel"
QUICK_SECONDS = 30.0  # for requests that need no work


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakeResult:
    """The server's answer to the handshake."""

    era: Era
    version: str
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    server: Mapping[str, Any] = field(default_factory=dict[str, Any])  # its `serverInfo`
    instructions: str | None = None


def text_or_none(value: object) -> str | None:
    """Return a raw JSON value if it is a string, else None."""
    return value if isinstance(value, str) else None
