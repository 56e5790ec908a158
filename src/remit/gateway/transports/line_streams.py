"""Streams of messages on file descriptors, one message per line.

The event loop reads and writes pipes and sockets, which clients use; a thread reads anything else, such as a
terminal or a file.
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
from remit.protocol.json_rpc import ErrorCode, JsonRpcError
from remit.text.json_values import as_object

MAX_LINE = 32 * 2**20
MAX_UNREAD = 4 * 2**20  # unread bytes after which a client's requests have to wait
DRAIN_SECONDS = 1.5  # to answer pending requests after the client closes its stream

_CHUNK = 2**18

Message = Mapping[str, Any]
TakeMessage = Callable[[Message], None]


class LineWriter:
    """Writes messages to the client."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._unread = bytearray()
        self._is_waiting = False
        self._room = asyncio.Event()
        self._room.set()
        self._unanswered: set[str | int] = set()
        self._is_answered = asyncio.Event()
        self.is_broken = False  # the client no longer reads

    def write(self, line: bytes) -> None:
        """Write as much as the pipe accepts now, and the rest later."""
        if not self._unread:
            line = line[self._write(line) :]
        if not line or self.is_broken:
            return
        self._unread += line
        if not self._is_waiting:
            self._is_waiting = True
            self._loop.add_writer(self._descriptor, self._write_more)
        if len(self._unread) > MAX_UNREAD:
            self._room.clear()

    @property
    def has_room(self) -> bool:
        """Whether the client reads fast enough."""
        return self._room.is_set()

    async def wait_for_room(self) -> None:
        """Wait until the client has read enough."""
        if not self._room.is_set():
            await self._room.wait()

    def expect(self, identity: str | int) -> None:
        """Record that a request needs an answer."""
        self._unanswered.add(identity)

    def settle(self, identity: str | int) -> None:
        """Record that a request was answered."""
        self._unanswered.discard(identity)
        if not self._unanswered:
            self._is_answered.set()

    async def wait_until_answered(self) -> None:
        """Wait until every request is answered, or the client stops reading."""
        if self._unanswered and not self.is_broken:
            self._is_answered.clear()
            await self._is_answered.wait()

    async def flush(self) -> None:
        """Wait until everything is written."""
        while self._unread and not self.is_broken:
            self._room.clear()
            await self._room.wait()

    def close(self) -> None:
        """Stop using the descriptor."""
        if self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._descriptor)

    def _write_more(self) -> None:
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
    """Reads messages from the client, and answers invalid ones with an error."""

    def __init__(self, descriptor: int, writer: LineWriter) -> None:
        self._descriptor = descriptor
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._messages: deque[Message] = deque()
        self._take: TakeMessage | None = None
        self._halted = self._loop.create_future()  # the stream has ended, or the client does not read
        self._line = bytearray()  # an incomplete line
        self._is_skipping = False  # in a line that is too long
        self._is_reading = False
        self._has_ended = False
        self._thread = (
            None if is_pipe(descriptor) else _ReaderThread(descriptor, self._loop, self._take_chunk)
        )

    async def feed(self, take: TakeMessage) -> None:
        """Hand over each message until the end of the stream, then wait briefly for pending answers.

        The event loop's own callback hands it over, without waking a task first. While the client does not
        read its answers, its requests wait.
        """
        self._take = take
        try:
            while True:
                await self._writer.wait_for_room()
                self._hand_over()
                if not self._messages and (self._has_ended or self._writer.is_broken):
                    break
                self._halted = self._loop.create_future()
                self._start()
                await self._halted
        finally:
            self._take = None
            self.close()
        with anyio.move_on_after(DRAIN_SECONDS):
            await self._writer.wait_until_answered()

    def close(self) -> None:
        """Stop using the descriptor."""
        if self._is_reading and self._thread is None:
            self._loop.remove_reader(self._descriptor)
        self._is_reading = False

    def _start(self) -> None:
        if self._thread is not None:
            self._thread.read_more()
        elif not self._is_reading:
            self._loop.add_reader(self._descriptor, self._read)
        self._is_reading = True

    def _read(self) -> None:
        try:
            self._take_chunk(os.read(self._descriptor, _CHUNK))
        except BlockingIOError:
            return
        except OSError:
            self._take_chunk(b"")

    def _take_chunk(self, chunk: bytes) -> None:
        if chunk:
            self._split_lines(chunk)
        else:
            self._has_ended = True
        try:
            self._hand_over()
        except Exception as error:  # raised where `feed` waits
            self._halt(error)
        if self._has_ended or self._writer.is_broken or not self._writer.has_room:
            self._halt(None)
        elif self._take is not None:
            self._start()

    def _hand_over(self) -> None:
        while self._messages and self._take is not None and self._writer.has_room:
            self._take(self._messages.popleft())

    def _halt(self, error: Exception | None) -> None:
        self.close()
        if self._halted.done():
            return
        if error is None:
            self._halted.set_result(None)
        else:
            self._halted.set_exception(error)

    def _split_lines(self, chunk: bytes) -> None:
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            if not self._is_skipping:
                self._parse(bytes(self._line + piece) if self._line else piece)
            self._is_skipping = False
            self._line.clear()
        if not self._is_skipping:
            self._line += rest
        if len(self._line) > MAX_LINE:
            self._line.clear()
            self._is_skipping = True
            self._refuse(None, ErrorCode.INVALID_REQUEST, f"the message is longer than {MAX_LINE} bytes")

    def _parse(self, line: bytes) -> None:
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
            self._refuse(None, ErrorCode.INVALID_REQUEST, "send one message per line, not a list")
        elif not _is_message(message):
            known = identity if isinstance(identity, str | int) else None
            self._refuse(known, ErrorCode.INVALID_REQUEST, "this is not a JSON-RPC 2.0 message")
        else:
            if method is not None and identity is not None:
                self._writer.expect(identity)
            self._messages.append(message)

    def _refuse(self, identity: str | int | None, code: int, words: str) -> None:
        self._writer.write(error_line(identity, JsonRpcError(code, words)))


class _ReaderThread(threading.Thread):
    """Reads a descriptor that the event loop cannot wait for, one chunk per request."""

    def __init__(
        self, descriptor: int, loop: asyncio.AbstractEventLoop, on_chunk: Callable[[bytes], None]
    ) -> None:
        super().__init__(daemon=True)
        self._descriptor = descriptor
        self._loop = loop
        self._on_chunk = on_chunk
        self._permits = threading.Semaphore(0)
        self._is_requested = False

    def read_more(self) -> None:
        """Read a chunk, unless one is being read."""
        if not self.is_alive():
            self.start()
        if not self._is_requested:
            self._is_requested = True
            self._permits.release()

    def run(self) -> None:
        chunk = b"?"
        while chunk:
            self._permits.acquire()
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            with suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(self._hand_over, chunk)

    def _hand_over(self, chunk: bytes) -> None:
        self._is_requested = False
        self._on_chunk(chunk)


def _is_message(message: Message) -> bool:
    identity, params = message.get("id"), message.get("params")
    return (
        message.get("jsonrpc") == "2.0"
        and (identity is None or (isinstance(identity, str | int) and not isinstance(identity, bool)))
        and (params is None or isinstance(params, dict))
        and (isinstance(message.get("method"), str) or "result" in message or "error" in message)
    )


def is_pipe(descriptor: int) -> bool:
    """Check whether the event loop can wait for a descriptor."""
    mode = os.fstat(descriptor).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
