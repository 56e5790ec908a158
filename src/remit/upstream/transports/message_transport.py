"""What carries messages to a server and back, and who takes them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from anyio.abc import TaskGroup

from remit.upstream.messaging.agreement import HandshakeResult
from remit.upstream.messaging.messages import Message
from remit.upstream.messaging.pending_requests import PendingRequest


class MessageReceiver(Protocol):
    """Takes what comes from a server, without waiting for anything."""

    def take(self, message: Any, size: int, call: PendingRequest | None = None) -> None:
        """Take a message that came, on the stream of a call where it belongs to one."""
        ...

    def unreadable(self, number: int | None, fault: Exception) -> None:
        """Take note of an answer that cannot be read; whose it was may not be known."""
        ...

    def lost(self, fault: Exception) -> None:
        """Take note that nothing more will come."""
        ...


class MessageTransport(Protocol):
    """Carries messages to one server and back."""

    @property
    def keeps_state(self) -> bool:
        """Whether the server may tie something to this connection."""
        ...

    @property
    def is_old(self) -> bool:
        """Whether it ended with the old era."""
        ...

    @property
    def hangs_up(self) -> bool:
        """Whether a request that is given up ends by itself on the wire."""
        ...

    async def exchange(self, call: PendingRequest, message: Message) -> None:
        """Send a request, and return when its answer is there.

        Raises:
            LostError: the connection is gone.
            ProtocolError: what comes is no answer.
            RefusedError: HTTP has it refused.
            UnreachableError: the server cannot be reached.
        """
        ...

    async def send(self, message: Message) -> None:
        """Send what is not answered; errors are as above."""
        ...

    def agreed(self, agreement: HandshakeResult) -> None:
        """Take note of what both sides agreed on."""
        ...

    def learn(self, tools: Iterable[Any]) -> None:
        """Take note of tools that were listed."""
        ...

    async def close(self) -> None:
        """Tell the server that this is the end, where there is a way."""
        ...


TransportFactory = Callable[
    [MessageReceiver, TaskGroup], Awaitable[MessageTransport]
]  # puts a receiver to the wire, with tasks for it
