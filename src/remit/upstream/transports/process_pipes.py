"""The standard streams of a server process, read and written by the event loop without a transport between.

asyncio's own streams take two more rounds of the event loop per call, and anyio's a third.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

_CHUNK = 2**18

TakeChunk = Callable[[bytes], bool]


class PipeReader:
    """Reads from a pipe; the event loop's own callback hands a chunk over, without waking a task first."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._halted: asyncio.Future[bool] | None = None  # while it reads
        self._is_closed = False

    async def feed(self, take: TakeChunk) -> bool:
        """Hand over each chunk until `take` returns False or raises; return False at the end."""
        if self._is_closed:
            return False
        halted = self._halted = self._loop.create_future()
        self._loop.add_reader(self._descriptor, self._read, take, halted)
        try:
            return await halted
        finally:
            self._unfollow()

    async def aclose(self) -> None:
        """Close the pipe."""
        if not self._is_closed:
            if self._halted is not None and not self._halted.done():
                self._halted.set_result(False)
            self._unfollow()
            self._is_closed = True
            os.close(self._descriptor)

    def _unfollow(self) -> None:
        if self._halted is not None:
            self._halted = None
            self._loop.remove_reader(self._descriptor)

    def _read(self, take: TakeChunk, halted: asyncio.Future[bool]) -> None:
        if halted.done():  # cancelled in this round of the event loop
            return
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        try:
            goes_on = bool(chunk) and take(chunk)
        except Exception as error:  # raised where `feed` waits
            halted.set_exception(error)
        else:
            if goes_on:
                return
            halted.set_result(bool(chunk))
        self._unfollow()


class StreamReader:
    """Reads from a stream of anyio, in the same way."""

    def __init__(self, stream: ByteReceiveStream) -> None:
        self._stream = stream

    async def feed(self, take: TakeChunk) -> bool:
        """Hand over each chunk until `take` returns False or raises; return False at the end."""
        while True:
            try:
                chunk = await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                return False
            if not take(chunk):
                return True

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


class PipeWriter:
    """Writes to a pipe, at once where there is room."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._rest = memoryview(b"")
        self._written: asyncio.Event | None = None  # while the event loop writes the rest
        self._fault: Exception | None = None

    async def send(self, item: bytes) -> None:
        """Write all of it, and nothing of another between, even if the sender is cancelled meanwhile.

        Raises:
            anyio.ClosedResourceError: it was closed.
            OSError: nobody reads.
        """
        rest = self.send_now(item)
        if rest is not None:
            await rest

    def send_now(self, item: bytes) -> Awaitable[None] | None:
        """Do the same; return None if all of it is written, or what to wait for."""
        if self._written is not None:
            return self._send_later(item, self._written)
        if self._fault is None:
            self._rest = memoryview(item)
            self._write()
        if self._fault is not None:
            raise self._fault
        if not self._rest:
            return None
        self._written = asyncio.Event()
        self._loop.add_writer(self._descriptor, self._write)
        return self._finish(self._written)

    async def aclose(self) -> None:
        """Close the pipe."""
        if not isinstance(self._fault, anyio.ClosedResourceError):
            self._end(anyio.ClosedResourceError())
            os.close(self._descriptor)

    async def _send_later(self, item: bytes, written: asyncio.Event) -> None:
        await written.wait()
        await self.send(item)

    async def _finish(self, written: asyncio.Event) -> None:
        await written.wait()
        if self._fault is not None:
            raise self._fault

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._descriptor, self._rest) :]
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error)
        if not self._rest:
            self._end(None)

    def _end(self, fault: Exception | None) -> None:
        self._fault = fault or self._fault
        self._rest = memoryview(b"")
        if self._written is not None:
            self._loop.remove_writer(self._descriptor)
            self._written.set()
            self._written = None


class StreamWriter:
    """Writes to a stream of anyio, in the same way."""

    def __init__(self, stream: ByteSendStream) -> None:
        self._stream = stream
        self._writing = anyio.Lock(fast_acquire=True)

    async def send(self, item: bytes) -> None:
        """Write all of it, and nothing of another between.

        Raises:
            anyio.BrokenResourceError, anyio.ClosedResourceError: nobody reads.
        """
        async with self._writing:
            await self._stream.send(item)

    def send_now(self, item: bytes) -> Awaitable[None]:
        """Return what to wait for: the stream of anyio has no other way."""
        return self.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


class ProcessPipes(NamedTuple):
    """A process, and the streams to talk to it."""

    process: Process
    stdin: PipeWriter | StreamWriter
    stdout: PipeReader | StreamReader


async def open_process(
    words: Sequence[str], *, env: Mapping[str, str], cwd: str, pass_fds: Sequence[int] = ()
) -> ProcessPipes:
    """Start a process in a group of its own.

    Raises:
        OSError: it cannot be started.
    """
    start = partial(
        anyio.open_process, list(words), env=dict(env), cwd=cwd, start_new_session=True, pass_fds=pass_fds
    )
    if sys.platform == "win32":  # its event loop cannot wait for pipes
        process = await start()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - opened as pipes
        return ProcessPipes(process, StreamWriter(process.stdin), StreamReader(process.stdout))
    stdin, servers_stdin = socket.socketpair()  # a socket tells when its reader is gone
    stdout, servers_stdout = os.pipe()
    with servers_stdin, _closed_at_end(servers_stdout):
        try:
            process = await start(stdin=servers_stdin.fileno(), stdout=servers_stdout)
        except BaseException:
            stdin.close()
            os.close(stdout)
            raise
    return ProcessPipes(process, PipeWriter(stdin.detach()), PipeReader(stdout))


@contextmanager
def _closed_at_end(descriptor: int) -> Generator[None]:
    try:
        yield
    finally:
        os.close(descriptor)
