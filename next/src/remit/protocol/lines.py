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
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from remit.protocol.messages import MAX_MESSAGE, LostError, Message, decode, encode
from remit.protocol.peer import Peer, Pending

MAX_UNREAD = 4 * 2**20  # bytes that the other side has not read, after which senders wait
BATCH = 16  # messages that are taken before other tasks run: a talkative one must not block others

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
        self._pieces: list[bytes] = []  # of an incomplete line
        self._size = 0  # of the pieces
        self._is_skipping = False  # in a line that is too long
        self._lines: deque[bytes] = deque()  # that wait for their turn
        self._is_reading = False
        self._has_ended = False
        self._unread: deque[memoryview] = deque()
        self._unread_size = 0
        self._room = asyncio.Event()
        self._room.set()
        self._is_broken = False  # the other side no longer reads
        self._blocking = [fd for fd in {read_fd, write_fd} if is_pipe(fd) and os.get_blocking(fd)]
        for descriptor in self._blocking:
            os.set_blocking(descriptor, False)
        self._thread = None if is_pipe(read_fd) else _ReaderThread(read_fd, self._loop, self._take_chunk)

    async def run(self, peer: Peer) -> bool:
        """Hand over messages until the stream ends; return whether the other side still reads."""
        self._peer = peer
        self._start_reading()
        try:
            await self._over
        finally:
            self._stop_reading()
            self._peer = None
        return not self._is_broken

    def request(self, message: Message, pending: Pending) -> Awaitable[None] | None:  # noqa: ARG002
        """Send a request."""
        line = encode(message) + b"\n"
        if not self._room.is_set():
            return self._write_later(line)
        if not self._write(line):
            raise LostError
        return None

    def send(self, message: Message) -> None:
        """Write a message whole, as much as fits now and the rest later."""
        self._write(encode(message) + b"\n")

    async def room(self) -> None:
        """Wait until the other side has read enough."""
        await self._room.wait()

    @property
    def unsent(self) -> int:
        """How many messages the other side has not read."""
        return len(self._unread)

    def settle(self, handshake: object) -> None:
        """Do nothing: all eras use this transport in the same way."""

    def learn(self, tools: Iterable[Any]) -> None:
        """Do nothing: there are no headers."""

    async def flush(self) -> None:
        """Wait until everything is written, or nobody reads it."""
        while self._unread:
            self._room.clear()
            await self._room.wait()

    async def close(self) -> None:
        """Stop using the descriptors."""
        self._end()
        self._break()
        for descriptor in self._blocking:
            with suppress(OSError):  # it may be closed
                os.set_blocking(descriptor, True)
        self._blocking.clear()

    def _write(self, line: bytes) -> bool:
        """Write a line, or queue it; return False if the other side no longer reads."""
        if self._is_broken:
            return False
        if self._unread:
            self._unread.append(memoryview(line))
            self._unread_size += len(line)
        else:
            written = self._write_now(line)
            if written < len(line) and not self._is_broken:
                self._unread.append(memoryview(line)[written:])
                self._unread_size = len(line) - written
                self._loop.add_writer(self._write_fd, self._write_more)
        if self._unread_size > MAX_UNREAD:
            self._room.clear()
        return not self._is_broken

    async def _write_later(self, line: bytes) -> None:
        while not self._room.is_set():
            await self._room.wait()
        if not self._write(line):
            raise LostError

    def _write_more(self) -> None:
        while self._unread:
            piece = self._unread[0]
            written = self._write_now(piece)
            if self._is_broken:
                return
            self._unread_size -= written
            if written < len(piece):
                self._unread[0] = piece[written:]
                return
            self._unread.popleft()
        self._loop.remove_writer(self._write_fd)
        self._make_room()

    def _write_now(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self._write_fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._break()
            self._loop.call_later(_LAST_WORDS, self._end)
            return 0

    def _break(self) -> None:
        """Write nothing anymore."""
        if self._unread:
            self._loop.remove_writer(self._write_fd)
            self._unread.clear()
            self._unread_size = 0
        self._is_broken = True
        self._make_room()

    def _make_room(self) -> None:
        self._room.set()
        if not self._is_reading:
            self._go_on()

    def _end(self, error: Exception | None = None) -> None:
        if not self._over.done():
            if error is None:
                self._over.set_result(None)
            else:
                self._over.set_exception(error)
        self._stop_reading()

    def _start_reading(self) -> None:
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
            chunk = os.read(self._read_fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._take_chunk(chunk)

    def _take_chunk(self, chunk: bytes) -> None:
        if self._peer is None:
            return
        if not chunk:
            self._has_ended = True
        try:
            self._split(chunk, self._peer)
        except Exception as error:  # raised where `run` waits
            self._end(error)
        self._go_on()

    def _split(self, chunk: bytes, peer: Peer) -> None:
        first, *others = chunk.split(b"\n")
        self._add(first, peer)
        for other in others:
            line = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            if line and not line.isspace():
                self._lines.append(line)
            self._pieces, self._size, self._is_skipping = [], 0, False
            self._add(other, peer)

    def _add(self, piece: bytes, peer: Peer) -> None:
        if self._is_skipping or not piece:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > MAX_MESSAGE:
            self._pieces, self._size, self._is_skipping = [], 0, True
            peer.take_too_long(MAX_MESSAGE)

    def _go_on(self) -> None:
        """Take some of the lines that have arrived, let others run, and read on."""
        try:
            if self._peer is not None and not self._over.done():
                self._take_lines(self._peer)
        except Exception as error:  # raised where `run` waits
            self._end(error)

    def _take_lines(self, peer: Peer) -> None:
        is_strict, lines = peer.limits.is_strict, self._lines
        for _ in range(min(BATCH, len(lines))):
            if is_strict and not self._room.is_set():
                break
            self._take(lines.popleft(), peer)
            if peer.fault is not None:
                self._end()
                return
        if is_strict and not self._room.is_set():
            self._stop_reading()  # until there is room
        elif lines:
            self._stop_reading()
            self._loop.call_soon(self._go_on)
        elif self._has_ended:
            self._end()
        else:
            self._start_reading()

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


def is_pipe(descriptor: int) -> bool:
    """Check whether the event loop can wait for a descriptor."""
    mode = os.fstat(descriptor).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
