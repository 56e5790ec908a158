"""The interface of transports."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from anyio.abc import TaskGroup

from remit.protocol.era import Era
from remit.upstream.eras.upstream_era import HandshakeResult
from remit.upstream.messaging.messages import Message
from remit.upstream.messaging.pending_requests import PendingRequest

if TYPE_CHECKING:  # it imports this module
    from remit.upstream.messaging.demultiplexer import Demultiplexer


class MessageTransport(Protocol):
    """Carries messages to one server and back."""

    @property
    def keeps_state(self) -> bool:
        """Whether the server may tie state to this connection."""
        ...

    @property
    def only_era(self) -> Era | None:
        """The only era that has this transport; None: every era."""
        ...

    @property
    def disconnects(self) -> bool:
        """Whether abandoning a request closes its stream."""
        ...

    async def exchange(self, request: PendingRequest, message: Message) -> None:
        """Send a request, and return when its answer has arrived, or its time limit is over.

        Raises:
            LostError: the connection is gone.
            ProtocolError: the response is not a valid answer.
            RefusedError: the server refuses with an HTTP status.
            UnreachableError: the server cannot be reached.
        """
        ...

    async def send(self, message: Message) -> None:
        """Send a message that needs no answer; raises what `exchange` raises."""
        ...

    def use_handshake(self, handshake: HandshakeResult) -> None:
        """Apply the result of the handshake."""
        ...

    def learn(self, tools: Iterable[Any]) -> None:
        """Remember listed tools."""
        ...

    async def close(self) -> None:
        """End the session on the server, if there is one."""
        ...


# Its tasks end with the connection.
TransportFactory = Callable[["Demultiplexer", TaskGroup], Awaitable[MessageTransport]]
