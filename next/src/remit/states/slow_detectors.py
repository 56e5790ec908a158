"""Detectors that run a program or ask a server, which needs the user's trust."""

import http.client
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from remit.config import Detector
from remit.decision import Workspace
from remit.files import Machine
from remit.states.detectors import Reading

_KEPT = (  # variables passed to a program; others may be secrets
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"),
    *("SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "PATHEXT"),
)
_SET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "REMIT_DEPTH": "1",  # a gateway refuses to start under it
}
_LAST_WAIT = 1.0  # seconds for a killed program
_GIT_STATUS = (  # disables everything that a repository's settings could make git run
    "git",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "submodule.recurse=false"),
    *("status", "--porcelain", "--ignore-submodules=all"),
)


def detect(detector: Detector, bases: Sequence[str], workspace: Workspace, machine: Machine) -> Reading:
    """Detect a state in the directory of its file."""
    if detector.kind == "http":
        return _http(detector)
    if detector.kind == "git":
        return _git_status(detector, workspace, machine)
    directory = bases[0] if os.path.isdir(bases[0]) else workspace.dir
    result = run(detector.value, directory, machine, timeout=detector.timeout)
    name = os.path.basename(detector.value[0])
    if result.problem is not None:
        return Reading(None, f"{name} {result.problem}")
    return Reading(result.exit_code == 0, f"{name} ended with {result.exit_code}")


def _git_status(detector: Detector, workspace: Workspace, machine: Machine) -> Reading:
    """Run `git status` until its first output."""
    if not os.path.lexists(os.path.join(workspace.checkout, ".git")):
        return Reading(False, "there is no repository")
    result = run(_GIT_STATUS, workspace.checkout, machine, timeout=detector.timeout, until_output=True)
    if result.problem is not None:
        return Reading(None, f"git {result.problem}")
    if not result.has_output and result.exit_code != 0:
        return Reading(None, f"git ended with {result.exit_code}")
    is_wanted = result.has_output is (detector.value[0] == "dirty")
    reason = "there are uncommitted changes" if result.has_output else "everything is committed"
    return Reading(is_wanted, reason)


class ProgramResult(NamedTuple):
    """The exit code of a program, or why it did not finish."""

    exit_code: int | None = None
    has_output: bool = False
    problem: str | None = None


def run(
    argv: Sequence[str], directory: str, machine: Machine, *, timeout: float, until_output: bool = False
) -> ProgramResult:
    """Run a program without a shell until it exits, or until its first output if `until_output` is set."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the user trusts exactly this command
            list(argv),
            cwd=directory,
            env=_environment(machine.variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if until_output else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        return ProgramResult(problem=f"cannot be started: {(reason or 'not a program').lower()}")
    deadline = time.monotonic() + timeout
    listener = None if process.stdout is None else _Listener(process.stdout)
    try:
        if listener is not None:
            listener.join(timeout)
            if listener.has_output:
                return ProgramResult(has_output=True)
        return ProgramResult(process.wait(max(0.0, deadline - time.monotonic())))
    except subprocess.TimeoutExpired:
        return ProgramResult(problem=f"did not end within {timeout:g} s")
    finally:
        _kill(process)
        with suppress(subprocess.TimeoutExpired):  # another user's program cannot be killed
            process.wait(_LAST_WAIT)


class _Listener(threading.Thread):
    """Waits for the first output in a thread that can be abandoned: a child may keep the pipe open."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.has_output = False
        self.start()

    def run(self) -> None:
        with self._stream:
            self.has_output = bool(self._stream.read(1))


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: variables[name] for name in _KEPT if name in variables} | _SET


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a program and everything it started."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # the program leads its own process group


def _http(detector: Detector) -> Reading:
    """Request a URL in a thread that can be abandoned, because name resolution cannot be interrupted."""
    request = _Request(detector.value[0], detector.timeout)
    request.start()
    request.join(detector.timeout)
    if request.is_alive():
        request.stop()
        return Reading(None, f"{request.host} did not answer within {detector.timeout:g} s")
    if request.status is None:
        return Reading(None, f"{request.host} cannot be reached")
    return Reading(request.status in range(200, 300), f"{request.host} answers {request.status}")


class _Request(threading.Thread):
    """Asks for the status of a URL, without following redirects."""

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__(daemon=True)
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.status: int | None = None
        self._path = parts.path or "/"
        self._connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(
                self.host, parts.port, timeout=timeout, context=ssl.create_default_context()
            )
            if parts.scheme == "https"
            else http.client.HTTPConnection(self.host, parts.port, timeout=timeout)
        )

    def run(self) -> None:
        with suppress(OSError, http.client.HTTPException, ValueError):
            try:
                self._connection.request("GET", self._path, headers={"Accept": "*/*", "User-Agent": "remit"})
                self.status = self._connection.getresponse().status
            finally:
                self._connection.close()

    def stop(self) -> None:
        """Close the connection, which ends the thread."""
        with suppress(OSError):
            self._connection.close()
