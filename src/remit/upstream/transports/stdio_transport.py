"""The stdio transport: one message per line on a process's standard streams."""

from collections import deque
from collections.abc import Iterable
from typing import Any

import anyio

from remit.upstream.eras.upstream_era import HandshakeResult
from remit.upstream.messaging.demultiplexer import Demultiplexer
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
from remit.upstream.transports.process import ServerProcess

MAX_NOISE = 2**20  # bytes in a row that are not messages; some servers print logs to stdout
BATCH = 16  # messages to process before other tasks run
NOISE = "writes output that is not MCP"
_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


class StdioTransport:
    """Talks to a process."""

    keeps_state = True
    only_era = None
    disconnects = False

    def __init__(self, process: ServerProcess, receiver: Demultiplexer) -> None:
        self._process = process
        self._receiver = receiver
        self._noise = 0
        self._pieces: list[bytes] = []  # of an incomplete line
        self._size = 0  # of the pieces
        self._lines: deque[bytes] = deque()  # that wait for their turn

    async def exchange(self, request: PendingRequest, message: Message) -> None:
        """Send a request, and wait for its answer."""
        try:
            rest = self._process.write_now(encode(message) + b"\n")
            if rest is None:
                request.start_clock()  # only now: the server works already
            else:
                with request.within_limit():
                    await rest
        except _BROKEN:
            raise LostError from None
        await request.arrived

    async def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            LostError: the process no longer reads.
        """
        try:
            await self._process.write(encode(message) + b"\n")
        except _BROKEN:
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
            while await self._process.feed(self._take_chunk):
                while not self._take_batch():
                    await anyio.sleep(0)
        except ProtocolError as error:
            fault = error
        self._receiver.lost(fault)

    def _take_chunk(self, chunk: bytes) -> bool:
        """Take the messages that a chunk completes; return False if there are more than a batch."""
        first, *others = chunk.split(b"\n")
        self._pieces.append(first)
        self._size += len(first)
        if self._size > MAX_MESSAGE:
            raise ProtocolError(TOO_LONG)
        for other in others:
            line = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces, self._size = [other], len(other)
            if line and not line.isspace():
                self._lines.append(line)
        return self._take_batch()

    def _take_batch(self) -> bool:
        """Take some messages, and return whether none is left: a talkative server must not block others."""
        for _ in range(min(BATCH, len(self._lines))):
            self._take(self._lines.popleft())
        return not self._lines

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
