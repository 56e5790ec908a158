"""Runs a program for its exit code, without a shell, with few variables, and with a time limit."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from remit.configuration.detector_kinds import Detector
from remit.decision.projects import Workspace
from remit.files.bounded_reader import Machine
from remit.settings import DEPTH, NESTED
from remit.states.observations import Observation

_KEPT = (  # variables passed to the program; others may be secrets
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "PATHEXT",
)
_PARTING = 1.0  # seconds to wait after killing it
_OWN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


class ProgramResult(NamedTuple):
    """The exit code of a program, or why it did not finish."""

    exit_code: int | None = None
    has_output: bool = False
    trouble: str | None = None


def detect(detector: Detector, bases: Sequence[str], workspace: Workspace, machine: Machine) -> Observation:
    """Run a program in the directory of its configuration file, and check the exit code."""
    place = bases[0] if os.path.isdir(bases[0]) else workspace.dir
    ended = run(detector.argv, place, machine, timeout=detector.timeout)
    name = os.path.basename(detector.argv[0])
    if ended.trouble is not None:
        return Observation(None, f"{name} {ended.trouble}")
    return Observation(ended.exit_code in detector.exits, f"{name} ended with {ended.exit_code}")


def run(
    argv: Sequence[str], place: str, machine: Machine, *, timeout: float, until_output: bool = False
) -> ProgramResult:
    """Run a program until it exits, or until its first output if `until_output` is set."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the user trusts exactly this command
            list(argv),
            cwd=place,
            env=_environment(machine.variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if until_output else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        return ProgramResult(trouble=f"cannot be started: {(reason or 'not a program').lower()}")
    deadline = time.monotonic() + timeout
    listening = None if process.stdout is None else _Listening(process.stdout)
    try:
        if listening is not None:
            listening.join(timeout)
            if listening.has_heard:
                return ProgramResult(has_output=True)
        return ProgramResult(process.wait(max(0.0, deadline - time.monotonic())))
    except subprocess.TimeoutExpired:
        return ProgramResult(trouble=f"did not end within {timeout:g} s")
    finally:
        _kill(process)
        with suppress(subprocess.TimeoutExpired):  # another user's program cannot be killed
            process.wait(_PARTING)


class _Listening(threading.Thread):
    """Waits for the first output in a thread that can be abandoned: a child may keep the pipe open."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.has_heard = False
        self.start()

    def run(self) -> None:
        with self._stream:
            self.has_heard = bool(self._stream.read(1))


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return (
        {name: variables[name] for name in _KEPT if name in variables}
        | _OWN
        | {DEPTH: variables.get(DEPTH) or NESTED}
    )


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a program and everything it started."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # the program leads its own process group
