"""Runs server processes: their streams, the end of stderr, and the end of the whole process group.

No process outlives Remit, however either of them ends.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio

from remit.upstream.failures import Remains

MAX_TAIL = 4_096  # bytes of stderr to keep
GRACE = 0.5  # seconds to exit after stdin closes, and again after SIGTERM
_POLL = 0.01
_CHUNK = 2**16

# Each line lists the process groups that run. When the pipe closes, which the system does for a killed
# process, too, the groups of the last line are killed. It works on every POSIX system, and reaches servers'
# children.
_WATCHDOG = """
PATH=/usr/bin:/bin
trap '' HUP INT TERM
groups=
while read -r line; do groups=$line; done
[ -n "$groups" ] || exit 0
kill -s TERM -- $groups 2>/dev/null
sleep 1
kill -s KILL -- $groups 2>/dev/null
"""


class OutputTail:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        self._last = b""
        self._is_cut = False

    def add(self, chunk: bytes) -> None:
        """Keep a chunk, and drop what is older."""
        whole = self._last + chunk
        self._is_cut |= len(whole) > MAX_TAIL
        self._last = whole[-MAX_TAIL:]

    @property
    def text(self) -> str:
        """Whole lines only: redaction does not recognize half a secret."""
        text = self._last.decode("utf-8", "replace")
        return text.partition("\n")[2] if self._is_cut else text


class ServerProcess:
    """A process that speaks the protocol on its standard streams, in a group of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - opened as pipes
        self._process = process
        self._streams = process.stdin, process.stdout, process.stderr
        self.write_fd, self.read_fd, self._stderr = (stream.fileno() for stream in self._streams)
        self._stderr_ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._was_forced = False
        self.tail = OutputTail()
        if sys.platform == "win32":  # its event loop cannot wait for pipes
            threading.Thread(target=self._drain_in_thread, daemon=True).start()
        else:
            os.set_blocking(self._stderr, False)
            self._loop.add_reader(self._stderr, self._read_stderr)

    @property
    def pid(self) -> int:
        """The ID of the process, and on POSIX of its group."""
        return self._process.pid

    @property
    def remains(self) -> Remains:
        """What it wrote last, and how it exited, unless it still runs or Remit ended it."""
        return Remains(self.tail.text, None if self._was_forced else self._process.poll())

    async def end(self) -> None:
        """End the process and its children: close stdin first, then use signals."""
        with suppress(OSError):  # what Remit wrote last may not fit
            self._streams[0].close()
        await self._wait(GRACE)
        if self._is_running():
            self._was_forced = True
            self._signal(signal.SIGTERM)
            await self._wait(GRACE)
            if self._is_running():
                self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
                await self._wait(GRACE)
        with anyio.move_on_after(GRACE):
            await self._stderr_ended.wait()
        if sys.platform != "win32":
            self._loop.remove_reader(self._stderr)
        self._process.poll()
        for stream in self._streams[1:]:
            stream.close()

    def _read_stderr(self) -> None:
        try:
            chunk = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self.tail.add(chunk)
        else:
            self._loop.remove_reader(self._stderr)
            self._stderr_ended.set()

    def _drain_in_thread(self) -> None:
        with suppress(OSError):
            while chunk := os.read(self._stderr, _CHUNK):
                self.tail.add(chunk)
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._stderr_ended.set)

    async def _wait(self, seconds: float) -> None:
        """Wait until the process has exited, and on POSIX its whole group."""
        with anyio.move_on_after(seconds):
            while self._is_running():
                await anyio.sleep(_POLL)

    def _is_running(self) -> bool:
        return self._process.poll() is None or (self._signal(0) and has_living(self.pid))

    def _signal(self, number: int) -> bool:
        """Send a signal to the process group; return False if it is gone."""
        if sys.platform == "win32":
            if number:
                self._process.kill()
            return False
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:  # a zombie, or a program that changed its user
            return self._process.poll() is None
        return True


def has_living(group: int) -> bool:
    """Tell whether a process group has more than zombies; True where that cannot be known.

    A sandbox leaves its first process to the machine's init, which may collect it late.
    """
    try:
        pids = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return True
    return not pids or any(_is_living_member(pid, group) for pid in pids)


def _is_living_member(pid: str, group: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, _parent, its_group = file.read().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):  # it ended meanwhile
        return False
    return int(its_group) == group and state not in ("Z", "X")


class Watchdog:
    """Kills the process groups that run when Remit ends, even when Remit itself is killed."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._pipe: int | None = None
        self._shell: subprocess.Popen[bytes] | None = None
        self._starting = asyncio.Lock()

    async def take_turn(self) -> None:
        """Let other tasks run between two starts, each of which takes 10 ms on a busy machine."""
        async with self._starting:
            await asyncio.sleep(0)

    def add(self, group: int) -> None:
        """Watch a process group."""
        self._groups.add(group)
        self._send()

    def remove(self, group: int) -> None:
        """Forget a process group, whose ID may soon be reused."""
        self._groups.discard(group)
        self._send()

    def close(self) -> None:
        """Stop the shell, which kills the groups that still run."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if self._shell is not None:
            self._shell.wait()
            self._shell = None

    def _send(self) -> None:
        if sys.platform == "win32":
            return
        with suppress(OSError):  # something else killed the shell
            if self._pipe is None:
                self._pipe = self._start()
            os.write(self._pipe, (" ".join(f"-{group}" for group in sorted(self._groups)) + "\n").encode())

    def _start(self) -> int:
        reading, writing = os.pipe()
        try:
            self._shell = subprocess.Popen(  # noqa: S603 - the script is ours
                ["/bin/sh", "-c", _WATCHDOG],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        finally:
            os.close(reading)
        return writing


@asynccontextmanager
async def start_process(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    options: bytes | None = None,
    watchdog: Watchdog | None = None,
) -> AsyncGenerator[ServerProcess]:
    """Start a process; end it and its children when the block ends.

    The options of a sandbox come from a file without a name, so that no list of processes shows variables.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    if watchdog is not None:
        await watchdog.take_turn()
    with _nameless_file(options) as descriptor:
        given = [] if descriptor is None else ["--args", str(descriptor)]
        process = subprocess.Popen(  # noqa: S603 - permitted; to start it takes a millisecond
            [words[0], *given, *words[1:]],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=() if descriptor is None else (descriptor,),
        )
    server = ServerProcess(process)
    try:
        if watchdog is not None:
            watchdog.add(server.pid)
        yield server
    finally:
        await _finish(server.end(), lambda: watchdog and watchdog.remove(server.pid))


async def _finish(work: Coroutine[None, None, None], at_end: Callable[[], object]) -> None:
    """Do work to its end even if the task is cancelled meanwhile, as no scope of anyio would prevent."""
    task = asyncio.create_task(work)
    is_cancelled = False
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                is_cancelled = True
    at_end()
    if is_cancelled:
        raise asyncio.CancelledError


@contextmanager
def _nameless_file(content: bytes | None) -> Generator[int | None]:
    if content is None or sys.platform != "linux":
        yield None
        return
    descriptor = os.memfd_create("options")
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
