"""A server as a process of its own: its streams, the last it wrote to stderr, and a sure end of all it began.

The SDK's own transport ends a server's children only when the server itself does not end, and lets stderr
through to the terminal.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteReceiveStream, Process

from remit.upstream.transports.watchdog import Watchdog

MAX_TAIL = 4_096  # bytes of stderr that are kept
GRACE = 0.5  # seconds that a server has to end by itself, and again after it was told to
_POLL = 0.01


class OutputTail:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._is_cut = False

    def add(self, chunk: bytes) -> None:
        """Keep a chunk, and let go of what is too old."""
        self._chunks.append(chunk[-MAX_TAIL:])
        self._size += len(self._chunks[-1])
        self._is_cut |= self._size > MAX_TAIL or len(chunk) > MAX_TAIL
        while self._size - len(self._chunks[0]) >= MAX_TAIL:
            self._size -= len(self._chunks.popleft())

    @property
    def text(self) -> str:
        """What was kept, as whole lines of text: half a secret could not be told from other words."""
        text = b"".join(self._chunks)[-MAX_TAIL:].decode("utf-8", "replace")
        return text.partition("\n")[2] if self._is_cut else text


class ServerProcess:
    """A process that speaks the protocol on its standard streams."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._hearing = anyio.CancelScope(shield=True)  # what it says while it is ended is heard, too
        self._is_silent = anyio.Event()
        self._is_ended = False
        self.tail = OutputTail()
        self.was_forced = False  # it did not end by itself

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.returncode

    async def read(self) -> bytes:
        """Wait for the next that it writes.

        Raises:
            anyio.EndOfStream: it writes nothing more.
        """
        assert self._process.stdout is not None  # noqa: S101 - it is opened as a pipe
        return await self._process.stdout.receive()

    async def write(self, text: bytes) -> None:
        """Write to it.

        Raises:
            OSError, anyio.BrokenResourceError, anyio.ClosedResourceError: it does not read any more.
        """
        assert self._process.stdin is not None  # noqa: S101 - the same
        await self._process.stdin.send(text)

    async def keep_stderr(self) -> None:
        """Read what the process writes to stderr, so that it never has to wait, and keep the end of it."""
        with self._hearing:
            async for chunk in _chunks(self._process.stderr):
                self.tail.add(chunk)
        self._is_silent.set()

    async def end(self) -> None:
        """End the process and all it started: first by closing its input, then by force."""
        if self._process.stdin is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._process.stdin.aclose()
        await self._wait(GRACE)
        if self._signal(signal.SIGTERM):
            self.was_forced = True
            await self._wait(GRACE)
            self.kill()
            with anyio.move_on_after(GRACE):
                await self._process.wait()
        with anyio.move_on_after(GRACE):
            async for _ in _chunks(self._process.stdout):  # a pipe that is not read to its end stays open
                pass
            await self._is_silent.wait()
        self._is_ended = True
        self._hearing.cancel()
        await self._close()

    def kill(self) -> None:
        """End the process and all it started at once, from any thread; nothing when it has been ended."""
        if not self._is_ended:  # else its number may be another's by now
            self._signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)

    async def _wait(self, seconds: float) -> None:
        """Wait until the process has ended, and on POSIX its whole group."""
        with anyio.move_on_after(seconds):
            while self._process.returncode is None or self._signal(0):
                await anyio.sleep(_POLL)

    def _signal(self, number: int) -> bool:
        """Send a signal to the process's group; False when nothing is left of it."""
        if sys.platform == "win32":
            if self._process.returncode is None and number:
                self._process.kill()
            return self._process.returncode is None
        try:
            os.killpg(self._process.pid, number)  # it leads a group of its own, whose number is its own
        except ProcessLookupError:
            return False
        except PermissionError:  # a zombie, or a program that changed its user: nothing more can be done
            return self._process.returncode is None
        return True

    async def _close(self) -> None:
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await stream.aclose()


@asynccontextmanager
async def start_process(
    words: Sequence[str], *, env: Mapping[str, str], cwd: str, watch: Watchdog | None = None
) -> AsyncGenerator[ServerProcess]:
    """Start a server, and end it with all it started when the block is left.

    Raises:
        OSError: it cannot be started.
    """
    process = await anyio.open_process(list(words), env=dict(env), cwd=cwd, start_new_session=True)
    if watch is not None:
        watch.add(process.pid)
    server = ServerProcess(process)
    async with anyio.create_task_group() as tasks:
        try:
            tasks.start_soon(server.keep_stderr)
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await server.end()
            if watch is not None:
                watch.remove(process.pid)
            tasks.cancel_scope.cancel()


async def _chunks(stream: ByteReceiveStream | None) -> AsyncGenerator[bytes]:
    assert stream is not None  # noqa: S101 - it is opened as a pipe
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        while True:
            yield await stream.receive()
