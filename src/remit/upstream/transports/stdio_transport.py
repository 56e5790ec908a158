"""The stdio transport: one message per line on a process's standard streams."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from typing import Any

import anyio

from remit.upstream.eras.upstream_era import HandshakeResult
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

MAX_NOISE = 2**20  # bytes in a row that are not messages; some servers print logs to stdout
BATCH = 16  # messages to process before other tasks run
NOISE = "writes output that is not MCP"


class StdioTransport:
    """Talks to a process."""

    keeps_state = True
    only_era = None
    disconnects = False

    def __init__(self, process: ServerProcess, receiver: MessageReceiver) -> None:
        self._process = process
        self._receiver = receiver
        self._writing = anyio.Lock(fast_acquire=True)
        self._noise = 0

    async def exchange(self, request: PendingRequest, message: Message) -> None:
        """Send a request, and wait for its answer."""
        await self.send(message)
        await request.arrived.wait()

    async def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            LostError: the process no longer reads.
        """
        line = encode(message) + b"\n"
        try:
            async with self._writing:
                await self._process.write(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise LostError from None

    def use_handshake(self, handshake: HandshakeResult) -> None:
        """Do nothing: all eras use this transport in the same way."""

    def learn(self, tools: Iterable[Any]) -> None:
        """Do nothing: there are no headers."""

    async def close(self) -> None:
        """Do nothing: `start_process` ends the process."""

    async def listen(self) -> None:
        """Receive messages until the process ends."""
        fault: Exception = LostError()
        try:
            taken = 0
            async for line in self._lines():
                self._take(line)
                taken += 1
                if taken % BATCH == 0:
                    await anyio.sleep(0)  # a talkative server must not block others
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
                first, *others = (await self._process.read()).split(b"\n")
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
