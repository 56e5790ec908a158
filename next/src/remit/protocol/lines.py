"""Messages on file descriptors, one on each line.

The event loop reads and writes pipes and sockets; a thread reads anything else, such as a terminal or a file.
asyncio's own streams take two more rounds of the event loop for each call, and anyio's a third.
"""

import asyncio
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from remit.protocol.messages import MAX_MESSAGE, TOO_LONG, LostError, Message, ProtocolError, decode, encode
from remit.protocol.peer import Peer, Pending

MAX_UNREAD = 4 * 2**20  # bytes after which a client that does not read is not read from
MAX_UNREAD_REQUESTS = 64 * 2**20  # bytes after which a server that does not read is given up
BATCH = 16  # messages that are taken before other tasks run: a talkative side must not block others

_CHUNK = 2**16  # what a pipe holds
_LAST_WORDS = 0.1  # seconds to read what the other side wrote before it stopped reading


class LineTransport:
    """Reads messages from one descriptor and writes them to another, or the same; it closes neither."""

    keeps_state = True
    only_era = None
    closes_streams = False

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._peer: Peer | None = None
        self._line = bytearray()  # an incomplete one
        self._is_skipping = False  # in a line that is too long
        self._lines: deque[bytes] = deque()  # that wait for their turn
        self._is_reading = self._has_ended = False
        self._unread: deque[memoryview] = deque()
        self._unread_size = 0
        self._flushed = asyncio.Event()
        self._flushed.set()
        self._is_broken = False  # nobody reads what is written
        self._blocking = [fd for fd in {read_fd, write_fd} if is_pipe(fd) and os.get_blocking(fd)]
        for descriptor in self._blocking:
            os.set_blocking(descriptor, False)
        self._thread = None if is_pipe(read_fd) else _ReaderThread(read_fd, self._loop, self._take_chunk)

    def attach(self, peer: Peer) -> None:
        """Set the peer that gets the messages."""
        self._peer = peer

    async def run(self) -> None:
        """Hand over messages until the stream ends."""
        self._go_on()
        try:
            await self._over
        finally:
            self._stop_reading()

    def request(self, message: Message, pending: Pending) -> None:
        """Write a request."""
        self.send(message)
        if self._is_broken:
            pending.fail(LostError())
        elif self._unread_size > MAX_UNREAD_REQUESTS and not self._is_strict:
            self._end(ProtocolError("does not read what Remit sends"))

    def send(self, message: Message) -> None:
        """Write a message whole, as much as fits now and the rest later."""
        if self._is_broken:
            return
        line = memoryview(encode(message) + b"\n")
        if not self._unread:
            line = line[self._write(line) :]
            if not line or self._is_broken:
                return
            self._loop.add_writer(self._write_fd, self._write_more)
            self._flushed.clear()
        self._unread.append(line)
        self._unread_size += len(line)

    @property
    def unsent(self) -> int:
        """How many messages the other side has not read."""
        return len(self._unread)

    async def flush(self) -> None:
        """Wait until everything is written, or nobody reads it."""
        await self._flushed.wait()

    def settle(self, handshake: object) -> None:
        """Do nothing: all eras use this transport in the same way."""

    def learn(self, tools: Iterable[Any]) -> None:
        """Do nothing: there are no headers."""

    async def close(self) -> None:
        """Stop using the descriptors."""
        self._end()
        self._break()
        for descriptor in self._blocking:
            with suppress(OSError):  # it may be closed
                os.set_blocking(descriptor, True)
        self._blocking.clear()

    def _write_more(self) -> None:
        while self._unread:
            line = self._unread[0]
            written = self._write(line)
            if self._is_broken:
                return
            self._unread_size -= written
            if written < len(line):
                self._unread[0] = line[written:]
                return
            self._unread.popleft()
        self._stop_writing()

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._write_fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._break()
            self._loop.call_later(_LAST_WORDS, self._end)
            return len(data)

    def _break(self) -> None:
        self._is_broken = True
        self._stop_writing()

    def _stop_writing(self) -> None:
        if not self._flushed.is_set():
            self._loop.remove_writer(self._write_fd)
            self._unread.clear()
            self._unread_size = 0
            self._flushed.set()
            if not self._is_reading:
                self._go_on()

    @property
    def _is_strict(self) -> bool:
        return self._peer is not None and self._peer.limits.is_strict

    def _end(self, error: Exception | None = None) -> None:
        self._stop_reading()
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:  # raised where `run` waits
            self._over.set_exception(error)

    def _read_on(self) -> None:
        if self._thread is not None:
            self._thread.read_more()
        elif not self._is_reading:
            self._loop.add_reader(self._read_fd, self._read)
        self._is_reading = True

    def _stop_reading(self) -> None:
        if self._is_reading and self._thread is None:
            self._loop.remove_reader(self._read_fd)
        self._is_reading = False

    def _read(self) -> None:
        try:
            self._take_chunk(os.read(self._read_fd, _CHUNK))
        except BlockingIOError:
            return
        except OSError:
            self._take_chunk(b"")

    def _take_chunk(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._line += first
        for other in others:
            if self._line and not self._is_skipping and not self._line.isspace():
                self._lines.append(bytes(self._line))
            self._line[:] = other
            self._is_skipping = False
        self._has_ended = not chunk
        self._go_on()

    def _go_on(self) -> None:
        """Take some of the lines that have arrived, let others run, and read on."""
        if self._over.done() or self._peer is None:
            return
        try:
            self._take_lines(self._peer)
        except Exception as error:
            self._end(error)

    def _take_lines(self, peer: Peer) -> None:
        if len(self._line) > MAX_MESSAGE:
            self._line.clear()
            if not self._is_skipping:
                self._is_skipping = True
                peer.reject(f"the message is longer than {MAX_MESSAGE} bytes", ProtocolError(TOO_LONG))
        for _ in range(min(BATCH, len(self._lines))):
            if not self._is_read_from:
                break
            self._take(self._lines.popleft(), peer)
        if peer.fault is not None or (self._has_ended and not self._lines):
            self._end()
        elif not self._is_read_from:
            self._stop_reading()  # until all is written
        elif self._lines:
            self._stop_reading()
            self._loop.call_soon(self._go_on)
        else:
            self._read_on()

    @property
    def _is_read_from(self) -> bool:
        return self._unread_size <= MAX_UNREAD or not self._is_strict

    def _take(self, line: bytes, peer: Peer) -> None:
        if peer.limits.is_strict or line.lstrip()[:1] in (b"{", b"["):
            try:
                message = decode(line)
            except ValueError:
                pass
            else:
                peer.take(message, len(line))
                return
        peer.take_unreadable(line)


class _ReaderThread(threading.Thread):
    """Reads a descriptor that the event loop cannot wait for, one chunk per request."""

    def __init__(
        self, descriptor: int, loop: asyncio.AbstractEventLoop, take: Callable[[bytes], None]
    ) -> None:
        super().__init__(daemon=True)
        self._descriptor = descriptor
        self._loop = loop
        self._take = take
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
        self._take(chunk)


def is_pipe(descriptor: int) -> bool:
    """Check whether the event loop can wait for a descriptor."""
    mode = os.fstat(descriptor).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
