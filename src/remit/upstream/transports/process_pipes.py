"""The standard streams of a server process, read and written by the event loop without a transport between.

asyncio's own streams take two more rounds of the event loop per call, and anyio's a third.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

_CHUNK = 2**18


class PipeReader(ByteReceiveStream):
    """Reads from a pipe, ahead by one chunk."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._chunk = b""
        self._has_ended = False
        self._is_followed = False
        self._is_closed = False
        self._arrived = asyncio.Event()

    async def receive(self, max_bytes: int = _CHUNK) -> bytes:
        """Return what has arrived, once something has.

        Raises:
            anyio.EndOfStream: nothing more will arrive.
        """
        while not self._chunk:
            if self._has_ended or self._is_closed:
                raise anyio.EndOfStream
            self._arrived.clear()
            self._follow()
            await self._arrived.wait()
        chunk, self._chunk = self._chunk[:max_bytes], self._chunk[max_bytes:]
        return chunk

    async def aclose(self) -> None:
        """Close the pipe."""
        if not self._is_closed:
            self._unfollow()
            self._is_closed = True
            self._arrived.set()
            os.close(self._descriptor)

    def _follow(self) -> None:
        if not self._is_followed:
            self._is_followed = True
            self._loop.add_reader(self._descriptor, self._read)

    def _unfollow(self) -> None:
        if self._is_followed:
            self._is_followed = False
            self._loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        if self._chunk:  # nobody took it yet
            self._unfollow()
            return
        try:
            self._chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._chunk = b""
        if not self._chunk:
            self._has_ended = True
            self._unfollow()
        self._arrived.set()


class PipeWriter(ByteSendStream):
    """Writes to a pipe."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._has_room = asyncio.Event()
        self._is_closed = False

    async def send(self, item: bytes) -> None:
        """Write all of it, at once where there is room.

        Raises:
            anyio.ClosedResourceError: it was closed.
            OSError: nobody reads.
        """
        rest = memoryview(item)
        while rest:
            if self._is_closed:
                raise anyio.ClosedResourceError
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                await self._wait_for_room()

    async def aclose(self) -> None:
        """Close the pipe."""
        if not self._is_closed:
            self._is_closed = True
            self._has_room.set()
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)

    async def _wait_for_room(self) -> None:
        self._has_room.clear()
        self._loop.add_writer(self._descriptor, self._has_room.set)
        try:
            await self._has_room.wait()
        finally:
            if not self._is_closed:
                self._loop.remove_writer(self._descriptor)


class ProcessPipes(NamedTuple):
    """A process, and the streams to talk to it."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream


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
        return ProcessPipes(process, process.stdin, process.stdout)
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
