"""Messages on descriptors, one on a line.

Pipes and sockets, by which clients start servers, are read and written by the event loop itself; anything
else (a terminal, a file) is read by a thread.
"""

import asyncio
import json
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio

from remit.gateway.transports.list_encoding import error_line
from remit.protocol.json_rpc import ErrorCode, as_object

LONGEST_LINE = 32 * 2**20
MOST_UNREAD = 4 * 2**20  # bytes that a client may leave unread before it gets no further hearing
MOST_UNSERVED = 1000  # messages that are read ahead
LAST_WORDS = 1.5  # seconds that requests have to be answered when the client sends no more

_CHUNK = 2**18

Message = Mapping[str, Any]


class LineWriter:
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


class LineReader:
    """The stream of messages from the client; what is no message is answered with the fault."""

    def __init__(self, descriptor: int, outlet: LineWriter) -> None:
        self._descriptor = descriptor
        self._outlet = outlet
        self._loop = asyncio.get_running_loop()
        self._messages: deque[Message] = deque()
        self._news = asyncio.Event()
        self._line = bytearray()  # what came of a line that is not complete
        self._is_skipping = False  # the rest of a line that is too long
        self._is_reading = False
        self._has_ended = False
        self._thread = None if is_pipe(descriptor) else _Reading(descriptor, self._loop, self._got)

    def __aiter__(self) -> "LineReader":
        return self

    async def __anext__(self) -> Message:
        """Give the next message; the end comes when all that was asked is answered or has had its time."""
        await self._outlet.room()
        while not self._messages:
            if self._has_ended or self._outlet.is_broken:
                with anyio.move_on_after(LAST_WORDS):
                    await self._outlet.answered()
                raise StopAsyncIteration
            self._news.clear()
            self._start()
            await self._news.wait()
        return self._messages.popleft()

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._is_reading and self._thread is None:
            self._loop.remove_reader(self._descriptor)
        self._is_reading = False

    def _start(self) -> None:
        if self._thread is not None:
            self._thread.go_on()
        elif not self._is_reading:
            self._loop.add_reader(self._descriptor, self._read)
        self._is_reading = True

    def _read(self) -> None:
        try:
            self._got(os.read(self._descriptor, _CHUNK))
        except BlockingIOError:
            return
        except OSError:
            self._got(b"")

    def _got(self, chunk: bytes) -> None:
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
            self._refuse(
                None, ErrorCode.INVALID_REQUEST, f"a message may have {LONGEST_LINE} bytes, and this has more"
            )

    def _understand(self, line: bytes) -> None:
        if not line or line.isspace():
            return
        try:
            value = json.loads(line.decode())
        except (ValueError, RecursionError):
            self._refuse(None, ErrorCode.PARSE_ERROR, "this is not JSON")
            return
        message = as_object(value)
        identity, method = message.get("id"), message.get("method")
        if isinstance(value, list):
            self._refuse(None, ErrorCode.INVALID_REQUEST, "messages come one on a line, and not in a list")
        elif not _is_message(message):
            known = identity if isinstance(identity, str | int) else None
            self._refuse(known, ErrorCode.INVALID_REQUEST, "this is no message of JSON-RPC 2.0")
        else:
            if method is not None and identity is not None:
                self._outlet.expect(identity)
            self._messages.append(message)

    def _refuse(self, identity: str | int | None, code: int, words: str) -> None:
        self._outlet.write(error_line(identity, code, words))


class _Reading(threading.Thread):
    """Reads what the event loop cannot wait for, a piece at a time and when asked."""

    def __init__(
        self, descriptor: int, loop: asyncio.AbstractEventLoop, got: Callable[[bytes], None]
    ) -> None:
        super().__init__(daemon=True)
        self._descriptor = descriptor
        self._loop = loop
        self._got = got
        self._may = threading.Semaphore(0)
        self._is_asked = False

    def go_on(self) -> None:
        """Read a piece, unless one is being read."""
        if not self.is_alive():
            self.start()
        if not self._is_asked:
            self._is_asked = True
            self._may.release()

    def run(self) -> None:
        chunk = b"?"
        while chunk:
            self._may.acquire()
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            with suppress(RuntimeError):  # nobody waits for it any more
                self._loop.call_soon_threadsafe(self._hand_over, chunk)

    def _hand_over(self, chunk: bytes) -> None:
        self._is_asked = False
        self._got(chunk)


def _is_message(message: Message) -> bool:
    identity, params = message.get("id"), message.get("params")
    return (
        message.get("jsonrpc") == "2.0"
        and (identity is None or (isinstance(identity, str | int) and not isinstance(identity, bool)))
        and (params is None or isinstance(params, dict))
        and (isinstance(message.get("method"), str) or "result" in message or "error" in message)
    )


def is_pipe(descriptor: int) -> bool:
    """Whether the event loop can wait for a descriptor."""
    mode = os.fstat(descriptor).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
