"""Messages over the standard streams of a process: one on a line."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from typing import Any

import anyio

from remit.upstream.messaging.agreement import HandshakeResult
from remit.upstream.messaging.messages import (
    MAX_MESSAGE,
    TOO_LONG,
    UNREADABLE,
    LostError,
    Message,
    ProtocolError,
    decode,
    encode,
    unreadable_answer,
)
from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.transports.message_transport import MessageReceiver
from remit.upstream.transports.process import ServerProcess

MAX_NOISE = 2**20  # bytes in a row that are no messages; servers print to stdout what belongs to stderr
AT_ONCE = 16  # messages that are taken before others have their turn
NOISE = "writes something else than messages"


class StdioTransport:
    """The wire to a process."""

    keeps_state = True
    is_old = False
    hangs_up = False

    def __init__(self, server: ServerProcess, receiver: MessageReceiver) -> None:
        self._server = server
        self._receiver = receiver
        self._writing = anyio.Lock(fast_acquire=True)
        self._noise = 0

    async def exchange(self, call: PendingRequest, message: Message) -> None:
        """Send a request, and wait until its answer has come."""
        await self.send(message)
        await call.arrived.wait()

    async def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            LostError: nobody reads it any more.
        """
        line = encode(message) + b"\n"
        try:
            async with self._writing:
                await self._server.write(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise LostError from None

    def agreed(self, agreement: HandshakeResult) -> None:
        """Nothing: here all eras sound the same."""

    def learn(self, tools: Iterable[Any]) -> None:
        """Nothing: here nothing is said twice."""

    async def close(self) -> None:
        """Nothing: the process is ended by who started it."""

    async def listen(self) -> None:
        """Take what the process writes until it ends."""
        fault: Exception = LostError()
        try:
            taken = 0
            async for line in self._lines():
                self._take(line)
                taken += 1
                if taken % AT_ONCE == 0:
                    await anyio.sleep(0)  # who talks much is not to keep others waiting
        except ProtocolError as error:
            fault = error
        self._receiver.lost(fault)

    def _take(self, line: bytes) -> None:
        if line.lstrip()[:1] in (b"{", b"["):
            try:
                message = decode(line)
            except ValueError:
                is_answer, number = unreadable_answer(line)
                if is_answer:
                    self._receiver.unreadable(number, ProtocolError(UNREADABLE))
                    return
            else:
                self._noise = 0
                self._receiver.take(message, len(line))
                return
        self._noise += len(line)
        if self._noise > MAX_NOISE:
            raise ProtocolError(NOISE)

    async def _lines(self) -> AsyncGenerator[bytes]:
        pieces: list[bytes] = []
        size = 0
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            while True:
                first, *others = (await self._server.read()).split(b"\n")
                pieces.append(first)
                size += len(first)
                for other in others:
                    line = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                    pieces = [other]
                    if size > MAX_MESSAGE:
                        break
                    size = len(other)
                    if line and not line.isspace():
                        yield line
                if size > MAX_MESSAGE:
                    raise ProtocolError(TOO_LONG)
