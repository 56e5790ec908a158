"""Runs server processes: their streams, the tail of stderr, and the end of the whole process group.

The SDK's transport kills a server's children only when the server itself hangs, and lets stderr through to
the terminal.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio

from remit.upstream.launch.bubblewrap import SandboxedCommand, started_with
from remit.upstream.transports.process_pipes import ProcessPipes, StreamReader, TakeChunk, open_process
from remit.upstream.transports.watchdog import Watchdog

MAX_TAIL = 4_096  # bytes of stderr to keep
GRACE = 0.5  # seconds to exit after stdin closes, and again after SIGTERM
_POLL = 0.01


class OutputTail:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._is_cut = False

    def add(self, chunk: bytes) -> bool:
        """Keep a chunk, and drop the oldest ones; return True for more."""
        self._chunks.append(chunk[-MAX_TAIL:])
        self._size += len(self._chunks[-1])
        self._is_cut |= self._size > MAX_TAIL or len(chunk) > MAX_TAIL
        while self._size - len(self._chunks[0]) >= MAX_TAIL:
            self._size -= len(self._chunks.popleft())
        return True

    @property
    def text(self) -> str:
        """Whole lines only: redaction does not recognize half a secret."""
        text = b"".join(self._chunks)[-MAX_TAIL:].decode("utf-8", "replace")
        return text.partition("\n")[2] if self._is_cut else text


class ServerProcess:
    """A process that speaks the protocol on its standard streams."""

    def __init__(self, pipes: ProcessPipes) -> None:
        self._process, self._stdin, self._stdout = pipes
        self._reading = anyio.CancelScope(shield=True)  # stderr is read until the very end
        self._stderr_ended = anyio.Event()
        self._is_ended = False
        self.tail = OutputTail()
        self.was_forced = False  # it did not exit on its own

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.returncode

    async def feed(self, take: TakeChunk) -> bool:
        """Hand over the chunks of stdout until `take` returns False; return False at its end."""
        return await self._stdout.feed(take)

    async def write(self, text: bytes) -> None:
        """Write to stdin.

        Raises:
            OSError, anyio.BrokenResourceError, anyio.ClosedResourceError: the process no longer reads.
        """
        await self._stdin.send(text)

    def write_now(self, text: bytes) -> Awaitable[None] | None:
        """Write to stdin, and return what to wait for if there is no room for all of it.

        Raises:
            OSError, anyio.BrokenResourceError, anyio.ClosedResourceError: the process no longer reads.
        """
        return self._stdin.send_now(text)

    async def drain_stderr(self) -> None:
        """Drain stderr, so the process never blocks on it, and keep its end."""
        with self._reading:
            assert self._process.stderr is not None  # noqa: S101 - it is opened as a pipe
            await StreamReader(self._process.stderr).feed(self.tail.add)
        self._stderr_ended.set()

    async def end(self) -> None:
        """End the process and its children: close stdin first, then use signals."""
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._stdin.aclose()
        await self._wait(GRACE)
        if self._is_running() and self._signal(signal.SIGTERM):
            self.was_forced = True
            await self._wait(GRACE)
            self.kill()
            await self._wait(GRACE)
        with anyio.move_on_after(GRACE):
            await self._stdout.feed(lambda _: True)  # an undrained pipe stays open
            await self._stderr_ended.wait()
        self._is_ended = True
        self._reading.cancel()
        await self._close()

    def kill(self) -> None:
        """Kill the process and its children at once, from any thread, unless `end` is done."""
        if not self._is_ended:  # else the PID may belong to another process
            self._signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)

    async def _wait(self, seconds: float) -> None:
        """Wait until the process has exited, and on POSIX its whole group."""
        with anyio.move_on_after(seconds):
            while self._is_running():
                await anyio.sleep(_POLL)

    def _is_running(self) -> bool:
        return self._process.returncode is None or (self._signal(0) and has_living(self._process.pid))

    def _signal(self, number: int) -> bool:
        """Send a signal to the process group; return False if it is gone."""
        if sys.platform == "win32":
            if self._process.returncode is None and number:
                self._process.kill()
            return self._process.returncode is None
        try:
            os.killpg(self._process.pid, number)  # its PID is the ID of its own group
        except ProcessLookupError:
            return False
        except PermissionError:  # a zombie, or a program that changed its user
            return self._process.returncode is None
        return True

    async def _close(self) -> None:
        for stream in (self._stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await stream.aclose()


def has_living(group: int) -> bool:
    """Tell whether a process group has more than zombies; True where that cannot be known.

    A sandbox leaves its first process to the machine's init, which may collect it late.
    """
    try:
        found = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return True
    return not found or any(_is_living_member(name, group) for name in found)


def _is_living_member(pid: str, group: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, _parent, its_group = file.read().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):  # it ended meanwhile
        return False
    return int(its_group) == group and state not in ("Z", "X")


@dataclass
class ProcessRecord:
    """The process of a connection, which explains a failure after the connection is gone."""

    process: ServerProcess | None = None


@asynccontextmanager
async def start_process(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    sandbox: SandboxedCommand | None = None,
    watchdog: Watchdog | None = None,
) -> AsyncGenerator[ServerProcess]:
    """Start a process, or the command of a sandbox instead; end it and its children when the block ends.

    Raises:
        OSError: it cannot be started.
    """
    if sandbox is not None:
        pipes = await _open_sandbox(sandbox)
    else:
        pipes = await open_process(words, env=env, cwd=cwd)
    if watchdog is not None:
        watchdog.add(pipes.process.pid)
    started = ServerProcess(pipes)
    async with anyio.create_task_group() as tasks:
        try:
            tasks.start_soon(started.drain_stderr)
            yield started
        finally:
            with anyio.CancelScope(shield=True):
                await started.end()
            if watchdog is not None:
                watchdog.remove(pipes.process.pid)
            tasks.cancel_scope.cancel()


async def _open_sandbox(command: SandboxedCommand) -> ProcessPipes:
    """Start `bwrap`; its options, with the command's variables, come from files without a name.

    `bwrap` itself gets no variables: a loader's would run code outside the sandbox.
    """
    with started_with(command) as (start, descriptors):
        return await open_process(start, env={}, cwd="/", pass_fds=descriptors)
