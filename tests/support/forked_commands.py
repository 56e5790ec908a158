"""Runs the command `remit` in forks of one process that has it loaded: a real process each, in milliseconds.

Every command has its own directory, variables and streams, and a deadline. What an audited one does to the
outside is noted as Python's audit events tell it: programs, connections, and names it changes.

Run as a program, this module is the process that forks; nothing of it imports pytest.
"""

import atexit
import gc
import json
import math
import os
import pkgutil
import pty
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

LAUNCH = Path(__file__).with_name("forked_launch.py")
_SDK_SERVERS = Path(__file__).with_name("servers")
REMIT = "remit"
CRASHED = 70  # the exit code of a command that raised
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# A fork alone runs nothing new: hooks fork, and what their children do is noted, too.
_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.forkpty")
_CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind", "socket.getaddrinfo")
_CHANGES = {  # and how many of the arguments are paths
    **{f"os.{name}": 1 for name in ("mkdir", "rmdir", "remove", "truncate", "chmod", "chown", "utime")},
    **{f"os.{name}": 2 for name in ("rename", "link", "symlink")},
}


class Done(NamedTuple):
    """What came of a command."""

    words: Sequence[str]
    code: int  # negative: the signal that ended it
    stdout: str
    stderr: str
    seconds: float  # of processor time
    megabytes: int  # beyond what the loaded command takes
    is_late: bool
    acts: Sequence[Sequence[str]]  # kind (`start`, `connect`, `write`), audit event, its subject; if audited

    def __str__(self) -> str:
        told = f"remit {' '.join(self.words)}\nexit code {self.code}, {self.seconds:.1f} s, {self.acts}"
        return f"{told}\n{self.stdout[-2_000:]}\n{self.stderr[-4_000:]}"


class ForkServer:
    """The process that forks."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process, self._folder = process, folder

    def command(self, program: str, *words: str) -> list[str]:
        """Return a command that runs `remit`, or a Python file, in a fork: for what runs beside a test."""
        return [sys.executable, "-IS", str(LAUNCH), str(self._folder / "socket"), program, *words]

    def end(self) -> None:
        """End the process that forks, and whatever it still runs."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()

    def run(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        stdin: bytes = b"",
        deadline: float = 60.0,
        on_terminal: bool = False,
        is_audited: bool = False,
    ) -> Done:
        """Run the command with these words."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process that forks has no streams")
        (self._folder / "stdin").write_bytes(stdin)
        asked = {
            "words": words,
            "cwd": str(cwd),
            "environment": dict(environment),
            "folder": str(self._folder),
            "deadline": deadline,
            "on_terminal": on_terminal,
            "is_audited": is_audited,
        }
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        read = {name: (self._folder / name).read_bytes() for name in ("stdout", "stderr", "acts")}
        return Done(
            words=words,
            stdout=read["stdout"].decode(errors="surrogateescape"),
            stderr=read["stderr"].decode(errors="surrogateescape"),
            acts=[json.loads(line) for line in read["acts"].splitlines()],
            **told,
        )


@cache
def fork_server() -> ForkServer:
    """Start the process that forks, which serves all tests of this process."""
    folder = tempfile.TemporaryDirectory()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder.name}/socket")
    listener.listen(64)
    with listener:
        process = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno())],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
    server = ForkServer(process, Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(server.end)
    return server


def serve(listener: socket.socket) -> None:
    """Run what is asked for until stdin ends; nothing waits for a command, because one may start another."""
    gc.disable()
    _load()
    gc.collect()
    gc.freeze()  # a fork that looks for garbage would copy everything
    gc.enable()
    output = os.dup(1)
    os.dup2(2, 1)  # only answers go to the reader
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    forks = list[_Fork]()
    while True:
        watched = {descriptor: fork for fork in forks for descriptor in fork.watched}
        ready, _, _ = select.select([0, listener.fileno(), *watched], [], [], _time_left(forks))
        for descriptor in ready:
            if descriptor in watched:
                watched[descriptor].hear(descriptor)
        forks = [fork for fork in forks if fork.is_running()]
        ours = [listener.fileno(), output, *(descriptor for fork in forks for descriptor in fork.watched)]
        if listener.fileno() in ready:
            forks.append(_launch(listener, ours))
        if 0 in ready:
            if not (line := _read_line(lambda: os.read(0, 65_536))):
                break
            forks.append(_start(json.loads(line), output, loaded, ours))
    for fork in forks:
        os.kill(fork.pid, signal.SIGKILL)


def _read_line(read: Callable[[], bytes]) -> bytes:
    line = read()
    while line and not line.endswith(b"\n"):
        line += read()
    return line


class _Fork:
    """A command that runs; what its source has is taken by `take`, and its end is told to `told`."""

    def __init__(
        self,
        pid: int,
        *,
        told: Callable[["_Fork", int, resource.struct_rusage], None],
        source: int | None = None,
        take: Callable[[int, bytes], None] | None = None,
        deadline: float = math.inf,
    ) -> None:
        self.pid, self.is_late = pid, False
        self.until = time.monotonic() + deadline
        self._told, self._source, self._take = told, source, take
        self._ended = os.pidfd_open(pid)
        self.watched = [self._ended] if source is None else [self._ended, source]

    def hear(self, descriptor: int) -> None:
        """Take what a watched descriptor has; after the end, all that is left."""
        if descriptor == self._source and descriptor in self.watched:
            self._read()
        if descriptor != self._ended:
            return
        while self._source in self.watched and select.select([self._source], [], [], 0)[0]:
            self._read()
        _, status, used = os.wait4(self.pid, 0)
        self._told(self, os.waitstatus_to_exitcode(status), used)
        _close({self._ended, *([] if self._source is None else [self._source])})
        self.watched = []

    def is_running(self) -> bool:
        """Tell whether its end is still to come, which is brought about once it is late."""
        if self.watched and not self.is_late and time.monotonic() >= self.until:
            self.is_late = True
            os.kill(self.pid, signal.SIGKILL)
        return bool(self.watched)

    def _read(self) -> None:
        if self._source is None or self._take is None:
            return
        try:
            data = os.read(self._source, 65_536)
        except OSError:  # nobody holds the other side of the terminal any more
            data = b""
        if not data:
            self.watched.remove(self._source)
        self._take(self.pid, data)


def _time_left(forks: Iterable[_Fork]) -> float | None:
    until = min((fork.until for fork in forks if not fork.is_late), default=math.inf)
    return None if until == math.inf else max(0.0, until - time.monotonic())


def _launch(listener: socket.socket, ours: Iterable[int]) -> _Fork:
    """Run the program that `forked_launch.py` asks for, and end it when that is gone."""
    connection, _ = listener.accept()
    length, streams, _, _ = socket.recv_fds(connection, 4, 3)
    asked = _handed_over(connection.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL))
    if Path(asked["words"][0]).parent == _SDK_SERVERS:
        _load_sdk()
    pid = os.fork()
    if pid == 0:
        _close([*ours, connection.detach()])
        os.setsid()
        _become(asked, streams)
    _close(streams)
    source = connection.detach()

    def tell(_: _Fork, code: int, __: resource.struct_rusage) -> None:
        with suppress(OSError):  # whoever launched it may be gone
            os.write(source, bytes([code if code >= 0 else 128 - code]))

    return _Fork(pid, told=tell, source=source, take=_pass_signals)


def _handed_over(asked: bytes) -> Mapping[str, Any]:
    cwd, count, *rest = os.fsdecode(asked).split("\0")
    variables = dict(variable.split("=", 1) for variable in rest[int(count) :])
    return {"cwd": cwd, "words": rest[: int(count)], "environment": variables}


def _pass_signals(pid: int, numbers: bytes) -> None:
    for number in numbers or [signal.SIGKILL]:
        os.kill(pid, number)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _load_sdk() -> None:
    """Load what the SDK's servers in `support/servers` import, which takes longer than all of Remit."""
    for name in ("mcp.server.lowlevel", "mcp.server.mcpserver", "uvicorn"):
        import_module(name)


def _load() -> None:
    import remit

    # The onnx runtime starts threads, and what forks may have none. Integrations need their frameworks.
    names = [module.name for module in pkgutil.walk_packages(remit.__path__, "remit.")]
    for name in names:
        if not name.endswith(("__main__", "onnx_embedder")) and ".integrations." not in name:
            import_module(name)
    import_module("person_launch").play_person()
    import_module("warm_commands").warm_up()


def _start(asked: Mapping[str, Any], output: int, loaded: int, ours: Iterable[int]) -> _Fork:
    """Run a command, and write an answer when it has ended."""
    folder = Path(asked["folder"])
    for name in ("stdout", "stderr", "acts"):
        (folder / name).write_bytes(b"")
    terminal, theirs = pty.openpty() if asked["on_terminal"] else (None, None)
    pid = os.fork()
    if pid == 0:
        _close([*ours, *([] if terminal is None else [terminal])])
        inputs = os.open(folder / "stdin", os.O_RDONLY)
        outputs = os.open(folder / "stdout", os.O_WRONLY) if theirs is None else theirs
        errors = os.open(folder / "stderr", os.O_WRONLY)
        acts = os.open(folder / "acts", os.O_WRONLY | os.O_APPEND) if asked["is_audited"] else None
        _become({**asked, "words": [REMIT, *asked["words"]]}, (inputs, outputs, errors), acts)
    if theirs is not None:
        os.close(theirs)

    def tell(fork: _Fork, code: int, used: resource.struct_rusage) -> None:
        told = {
            "code": code,
            "seconds": used.ru_utime + used.ru_stime,
            "megabytes": max(0, used.ru_maxrss - loaded) // 1024,
            "is_late": fork.is_late,
        }
        os.write(output, json.dumps(told).encode() + b"\n")

    def show(_: int, data: bytes) -> None:
        with (folder / "stdout").open("ab") as opened:
            opened.write(data)

    return _Fork(pid, told=tell, source=terminal, take=show, deadline=asked["deadline"])


def _become(asked: Mapping[str, Any], streams: Sequence[int], acts: int | None = None) -> NoReturn:
    """Be the command."""
    code = CRASHED
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _close(streams)
        os.environ.clear()
        os.environ.update(asked["environment"])
        tempfile.tempdir = None  # found again, by its own variables
        os.chdir(asked["cwd"])
        sys.argv = [*asked["words"]]
        sys.stdin = TextIOWrapper(os.fdopen(0, "rb"), encoding="utf-8")
        sys.stdout = TextIOWrapper(os.fdopen(1, "wb"), encoding="utf-8", line_buffering=os.isatty(1))
        sys.stderr = TextIOWrapper(os.fdopen(2, "wb"), encoding="utf-8", write_through=True)
        if acts is not None:
            sys.addaudithook(lambda event, values: _note(acts, event, values))
        _run(asked["words"][0])
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _run(program: str) -> None:
    if program == REMIT:
        from remit.__main__ import main

        main()
    else:
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")


def _note(acts: int, event: str, values: tuple[Any, ...]) -> None:
    if (told := _act(event, values)) is not None:
        os.write(acts, json.dumps([told[0], event, *map(_text, told[1])]).encode() + b"\n")


def _act(event: str, values: tuple[Any, ...]) -> tuple[str, Sequence[object]] | None:
    if event == "open":
        path, _, flags = values
        is_writing = isinstance(flags, int) and flags & _WRITING
        return ("write", [path]) if is_writing and not isinstance(path, int) else None
    if event in _STARTS:
        return "start", values[:2]
    if event in _CONNECTIONS:
        return "connect", values[1:]
    if event in _CHANGES:
        return "write", values[: _CHANGES[event]]
    return None


def _text(value: object) -> str:
    if isinstance(value, int | tuple | list):  # a descriptor, an address, a command
        return str(value)  # pyright: ignore[reportUnknownArgumentType] - of anything
    return os.path.abspath(os.fsdecode(value) if isinstance(value, bytes) else str(value))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
