"""The standard streams as the protocol's transport, without a thread in the way.

The wire is read and written directly where both ends are pipes or sockets, which is how clients start
servers; anything else (a terminal, a file) goes through the SDK's own transport. While it is served, file
descriptor 1 points to stderr: whatever else is printed in this process cannot end up between two messages.
"""

import asyncio
import os
import stat
import sys
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import pydantic_core
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from remit.apps.gateway.encoding import answer_line

LONGEST_LINE = 32 * 2**20
MOST_UNREAD = 4 * 2**20  # bytes that a client may leave unread before it gets no further hearing
MOST_UNSERVED = 1000  # messages that are read ahead
LAST_WORDS = 1.5  # seconds that requests have to be answered when the client sends no more

_CHUNK = 2**18


class Outlet:
    """The stream of messages to the client."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._unread = bytearray()
        self._is_waiting = False
        self._room = asyncio.Event()
        self._room.set()
        self._unanswered: set[str | int] = set()
        self._is_answered = asyncio.Event()
        self.is_broken = False  # nobody reads any more

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message, whole; waits while the client leaves too much unread.

        Raises:
            BrokenResourceError: nobody reads any more.
        """
        message = item.message
        if isinstance(message, JSONRPCResponse):
            self.write(answer_line(message.id, message.result))
        else:
            self.write(_line(message))
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self.settle(message.id)
        if self.is_broken:
            raise anyio.BrokenResourceError
        await self.room()

    def write(self, line: bytes) -> None:
        """Write at once what the pipe takes, and the rest when it takes more."""
        if not self._unread:
            line = line[self._write(line) :]
        if not line or self.is_broken:
            return
        self._unread += line
        if not self._is_waiting:
            self._is_waiting = True
            self._loop.add_writer(self._descriptor, self._go_on)
        if len(self._unread) > MOST_UNREAD:
            self._room.clear()

    @property
    def has_room(self) -> bool:
        """Whether the client reads what it is told."""
        return self._room.is_set()

    async def room(self) -> None:
        """Wait until the client has read enough."""
        if not self._room.is_set():
            await self._room.wait()

    def expect(self, identity: str | int) -> None:
        """Remember that a request wants an answer."""
        self._unanswered.add(identity)

    def settle(self, identity: str | int) -> None:
        """Forget a request that has its answer."""
        self._unanswered.discard(identity)
        if not self._unanswered:
            self._is_answered.set()

    async def answered(self) -> None:
        """Wait until every request has its answer, or nobody is there to read it."""
        if self._unanswered and not self.is_broken:
            self._is_answered.clear()
            await self._is_answered.wait()

    async def aclose(self) -> None:
        """Write no more than what was said."""

    async def flush(self) -> None:
        """Wait until everything is written."""
        while self._unread and not self.is_broken:
            self._room.clear()
            await self._room.wait()

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._descriptor)

    async def __aenter__(self) -> "Outlet":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _go_on(self) -> None:
        del self._unread[: self._write(self._unread)]
        if self.is_broken:
            self._unread.clear()
        if not self._unread:
            self.close()
            self._room.set()

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.is_broken = True
            self._is_answered.set()
            return 0


class Inlet:
    """The stream of messages from the client; what is no message is answered with the fault."""

    def __init__(self, descriptor: int, outlet: Outlet) -> None:
        self._descriptor = descriptor
        self._outlet = outlet
        self._loop = asyncio.get_running_loop()
        self._messages: deque[SessionMessage] = deque()
        self._news = asyncio.Event()
        self._line = bytearray()  # what came of a line that is not complete
        self._is_skipping = False  # the rest of a line that is too long
        self._is_reading = False
        self._has_ended = False

    async def receive(self) -> SessionMessage:
        """Give the next message.

        Raises:
            EndOfStream: the client sends no more, and what it asked is answered or has had its time.
        """
        await self._outlet.room()
        while not self._messages:
            if self._has_ended:
                with anyio.move_on_after(LAST_WORDS):
                    await self._outlet.answered()
                raise anyio.EndOfStream
            self._news.clear()
            if not self._is_reading:
                self._is_reading = True
                self._loop.add_reader(self._descriptor, self._read)
            await self._news.wait()
        return self._messages.popleft()

    async def aclose(self) -> None:
        """Read no more."""
        self.close()

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._descriptor)

    def __aiter__(self) -> "Inlet":
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Inlet":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._take(chunk)
        else:
            self._has_ended = True
        if self._has_ended or not self._outlet.has_room or len(self._messages) > MOST_UNSERVED:
            self.close()
        if self._has_ended or self._messages:
            self._news.set()

    def _take(self, chunk: bytes) -> None:
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            if not self._is_skipping:
                self._understand(bytes(self._line + piece) if self._line else piece)
            self._is_skipping = False
            self._line.clear()
        if not self._is_skipping:
            self._line += rest
        if len(self._line) > LONGEST_LINE:
            self._line.clear()
            self._is_skipping = True
            self._refuse(None, INVALID_REQUEST, f"a message may have {LONGEST_LINE} bytes, and this has more")

    def _understand(self, line: bytes) -> None:
        if not line or line.isspace():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            self._refuse(*_fault(line))
            return
        if isinstance(message, JSONRPCRequest):
            self._outlet.expect(message.id)
        self._messages.append(SessionMessage(message))

    def _refuse(self, identity: str | int | None, code: int, words: str) -> None:
        fault = ErrorData(code=code, message=words)
        self._outlet.write(_line(JSONRPCError(jsonrpc="2.0", id=identity, error=fault)))


def _line(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _fault(line: bytes) -> tuple[str | int | None, int, str]:
    """Say what is wrong with a line that is no message, and whom to tell."""
    try:
        value: Any = pydantic_core.from_json(line)
    except ValueError:
        return None, PARSE_ERROR, "this is not JSON"
    if isinstance(value, list):
        return None, INVALID_REQUEST, "messages come one on a line, and not in a list"
    identity = value.get("id") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    known = identity if isinstance(identity, str | int) and not isinstance(identity, bool) else None
    return known, INVALID_REQUEST, "this is no message of JSON-RPC 2.0"


@asynccontextmanager
async def standard_streams() -> AsyncGenerator[tuple[Any, Any]]:
    """Give a stream to read messages from and one to write them to."""
    if sys.platform == "win32" or not (_is_pipe(0) and _is_pipe(1)):
        async with stdio_server() as streams:
            yield streams
        return
    with _taken(0, os.open(os.devnull, os.O_RDONLY)) as source, _taken(1, os.dup(2)) as target:
        outlet = Outlet(target)
        inlet = Inlet(source, outlet)
        try:
            yield inlet, outlet
        finally:
            inlet.close()
            with anyio.move_on_after(LAST_WORDS, shield=True):
                await outlet.flush()
            outlet.close()


def _is_pipe(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@contextmanager
def _taken(descriptor: int, stand_in: int) -> Generator[int]:
    """Take a descriptor for ourselves, and put another in its place for as long."""
    own = os.dup(descriptor)  # which no child inherits
    os.dup2(stand_in, descriptor)
    os.close(stand_in)
    was_blocking = os.get_blocking(own)
    os.set_blocking(own, False)
    try:
        yield own
    finally:
        with suppress(OSError):
            os.set_blocking(own, was_blocking)
            os.dup2(own, descriptor)
            os.close(own)
