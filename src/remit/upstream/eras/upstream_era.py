"""The part of calling servers that differs between protocol eras."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from remit.protocol.era import Era
from remit.protocol.json_rpc import Answer, Params
from remit.upstream.ports import RequestContext

if TYPE_CHECKING:  # these modules import this one
    from remit.upstream.connection import Connection
    from remit.upstream.messaging.change_streams import ChangeStreams
    from remit.upstream.messaging.demultiplexer import OnNotification
    from remit.upstream.upstream_session import UpstreamSession

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


class Requester(Protocol):
    """Sends messages during the handshake."""

    async def send_request(self, method: str, params: Params) -> Answer:
        """Send a request without the envelope of an era."""
        ...

    async def notify(self, method: str) -> None:
        """Send a notification."""
        ...


class UpstreamEra(Protocol):
    """Calls servers of one era after the handshake."""

    @property
    def keeps_state(self) -> bool:
        """Whether a server may keep state between two requests of a connection."""
        ...

    @property
    def binds_capabilities(self) -> bool:
        """Whether the handshake declares the client's capabilities for the whole session."""
        ...

    @property
    def cancels_by_disconnecting(self) -> bool:
        """Whether closing the response stream of a request cancels it."""
        ...

    async def opened(self, requester: Requester) -> None:
        """Finish the handshake."""
        ...

    def envelope(self, handshake: HandshakeResult, client: Params, caller: RequestContext | None) -> Answer:
        """Return the `_meta` members that each request carries."""
        ...

    def follow_changes(
        self, connection: "Connection", on_notification: "OnNotification"
    ) -> "ChangeStreams | None":
        """Open a stream for changes of the server's lists, if the era needs one."""
        ...

    async def forward(
        self,
        session: "UpstreamSession",
        method: str,
        params: Params,
        caller: RequestContext,
        time_limit: float,
    ) -> Answer:
        """Forward a request through an open session."""
        ...

    async def set_subscription(self, session: "UpstreamSession", method: str, params: Params) -> Answer:
        """Subscribe to a resource, or unsubscribe."""
        ...


def text_or_none(value: object) -> str | None:
    """Return a raw JSON value if it is a string, else None."""
    return value if isinstance(value, str) else None
